// indexer(N): N threads put four messages each into a table of 128 slots, by compare-and-swap; who finds a slot taken
// takes the next. Up to eleven threads nobody does.
#include <stdatomic.h>
#include "threads.h"
#ifndef N
#define N 12
#endif
#define SLOTS 128
#define MESSAGES 4

atomic_int table[SLOTS];

static void *inserter(void *number) {
  for (int m = 0; m < MESSAGES; m++) {
    int message = m * 11 + NUMBER(number);
    int slot = message * 7 % SLOTS;
    int empty = 0;
    while (!atomic_compare_exchange_strong(&table[slot], &empty, message)) {
      empty = 0;
      slot = (slot + 1) % SLOTS;
    }
  }
  return 0;
}

int main(void) {
  pthread_t threads[N];
  start_threads(threads, N, inserter);
  join_threads(threads, N);
  return 0;
}
