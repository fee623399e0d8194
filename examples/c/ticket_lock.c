// A ticket lock: draw a number, wait until it is called. Who has looked twice in vain gives up, so that the example is
// small; whoever gets in is alone.
// expect: pass
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

static atomic_uint drawn, called;
static int count;

static bool lock(void) {
  unsigned mine = atomic_fetch_add(&drawn, 1);
  for (int look = 0; look < 2; look++)
    if (atomic_load(&called) == mine) return true;
  return false;
}

static void unlock(void) { atomic_fetch_add(&called, 1); }

static void *counter(void *unused) {
  if (!lock()) return 0;
  count++;
  unlock();
  return 0;
}

int main(void) {
  pthread_t threads[3];
  for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, counter, 0);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
  assert(count == (int)called);
  return 0;
}
