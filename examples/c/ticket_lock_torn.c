// A ticket lock whose numbers are drawn by a read and a write instead of in one step: two threads may draw the same. Either
// both are called, and the count is a data race (with -- --races=sc: an increment gets lost); or one comes to wait when the
// other is done, for a number that is never called again: a livelock.
// expect: failure data-race
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_uint drawn, called;
static int count;

static void lock(void) {
  unsigned mine = atomic_load(&drawn);
  atomic_store(&drawn, mine + 1);
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
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, counter, 0);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
  assert(count == 2);
  return 0;
}
