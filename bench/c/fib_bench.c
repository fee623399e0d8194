// fib_bench(N): two threads add each other's variable to their own, N times. Main reads both: with -DJOINED after the
// threads have ended, else meanwhile.
#include <assert.h>
#include "threads.h"
#ifndef N
#define N 5
#endif

volatile int fibonacci[2] = {1, 1};

static void *adder(void *number) {
  int mine = NUMBER(number);
  for (int k = 0; k < N; k++) fibonacci[mine] += fibonacci[1 - mine];
  return 0;
}

// The largest value that either can have.
static int limit(void) {
  int current = 1, previous = 0;
  for (int k = 0; k < 2 * N + 2; k++) {
    int next = previous + current;
    previous = current;
    current = next;
  }
  return previous;
}

int main(void) {
  pthread_t threads[2];
  int most = limit();
  start_threads(threads, 2, adder);
#ifdef JOINED
  join_threads(threads, 2);
#endif
  int first = fibonacci[0];
  int second = fibonacci[1];
  assert(first <= most && second <= most);
  return 0;
}
