// sigma_false(N) of SV-COMP without its assertion: main moves an index on, then creates one more thread, which marks the
// cell that the index names by then.
#include <pthread.h>
#ifndef N
#define N 4
#endif

volatile int cell[N], position = -1;

static void *mark(void *unused) {
  (void)unused;
  cell[position] = 1;
  return 0;
}

int main(void) {
  pthread_t threads[N];
  for (int t = 0; t < N; t++) {
    position = position + 1;
    pthread_create(&threads[t], 0, mark, 0);
  }
  for (int t = 0; t < N; t++) pthread_join(threads[t], 0);
  return 0;
}
