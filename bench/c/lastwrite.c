// lastwrite(N): N threads write different values to one variable, which main reads when all have ended. Each order of
// the writes is a trace of its own; modulo observers only the last write counts.
#include "threads.h"
#ifndef N
#define N 7
#endif

volatile int x;

static void *writer(void *number) {
  x = NUMBER(number) + 1;
  return 0;
}

int main(void) {
  pthread_t threads[N];
  start_threads(threads, N, writer);
  join_threads(threads, N);
  return x == 0;
}
