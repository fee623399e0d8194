// opt_lock(N): two threads with up to N optimistic attempts each: write one's number, write y, and leave if the number
// still stands, after a look at y.
#include "threads.h"
#ifndef N
#define N 3
#endif

volatile int x, y;

static void *attempts(void *number) {
  int id = NUMBER(number);
  for (int k = 0; k < N; k++) {
    x = id;
    y = 1;
    if (x == id) {
      int seen = y;
      (void)seen;
      break;
    }
  }
  return 0;
}

int main(void) {
  pthread_t threads[2];
  start_threads(threads, 2, attempts);
  join_threads(threads, 2);
  return 0;
}
