// lastzero(N): N threads write array[j] = array[j - 1] + 1, and thread 0 looks for a zero from the end.
#include "threads.h"
#ifndef N
#define N 5
#endif

volatile int array[N + 1];

static void *work(void *number) {
  int j = NUMBER(number);
  if (j > 0) {
    array[j] = array[j - 1] + 1;
    return 0;
  }
  for (j = N; array[j] != 0; j--) {}
  return 0;
}

int main(void) {
  pthread_t threads[N + 1];
  start_threads(threads, N + 1, work);
  join_threads(threads, N + 1);
  return 0;
}
