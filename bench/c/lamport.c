// lamport(N): N threads pass once through Lamport's second fast mutual exclusion. Waiting is an assumption, as in the
// published benchmark.
#include <assert.h>
#include "threads.h"
#ifndef N
#define N 2
#endif

void __VERIFIER_assume(int holds);

volatile int x, y, inside;
volatile int busy[N + 1];

static void enter(int id) {
  for (;;) {
    busy[id] = 1;
    x = id;
    if (y != 0) {
      busy[id] = 0;
      __VERIFIER_assume(y == 0);
      continue;
    }
    y = id;
    if (x != id) {
      busy[id] = 0;
      for (int k = 1; k <= N; k++) __VERIFIER_assume(busy[k] == 0);
      if (y != id) {
        __VERIFIER_assume(y == 0);
        continue;
      }
    }
    return;
  }
}

static void *worker(void *number) {
  int id = NUMBER(number) + 1;
  enter(id);
  inside = id;
  assert(inside == id);
  y = 0;
  busy[id] = 0;
  return 0;
}

int main(void) {
  pthread_t threads[N];
  start_threads(threads, N, worker);
  join_threads(threads, N);
  return 0;
}
