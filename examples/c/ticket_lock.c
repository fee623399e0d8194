// A ticket lock: draw a number, wait until it is called. Threads get in one after the other, in the order of their
// numbers. The loop that waits is seen to be one: who has looked in vain takes no step until something has changed.
// expect: pass
// executions: 162 or 144
// (with clang what a look in vain has left in a variable that nobody reads again is wiped, so the loop is seen a round earlier)
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_uint drawn, called;
static int count;

static void lock(void) {
  unsigned mine = atomic_fetch_add(&drawn, 1);
  while (atomic_load(&called) != mine) {
  }
}

static void unlock(void) { atomic_fetch_add(&called, 1); }

static void *counter(void *unused) {
  lock();
  count++;
  unlock();
  return 0;
}

int main(void) {
  pthread_t threads[3];
  for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, counter, 0);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
  assert(count == 3);
  return 0;
}
