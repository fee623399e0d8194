// floating_read(N): N threads write different values, and one more reads at some point.
#include "threads.h"
#ifndef N
#define N 7
#endif

volatile int x;

static void *work(void *number) {
  int value = NUMBER(number);
  if (value == N) value = x;
  else x = value + 1;
  return 0;
}

int main(void) {
  pthread_t threads[N + 1];
  start_threads(threads, N + 1, work);
  join_threads(threads, N + 1);
  return 0;
}
