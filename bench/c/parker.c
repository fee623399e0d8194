// parker(N): a thread that parks up to N times, until it is told to go on, and one that tells it between two unparks:
// a race in the Java runtime's LockSupport.park. Who wants the lock says so and looks whether the other does. Waiting
// is an assumption, as in the published benchmark.
#include <assert.h>
#include "threads.h"
#ifndef N
#define N 8
#endif

void __VERIFIER_assume(int holds);

enum { PARKER, UNPARKER };

volatile int permit, asleep, told, finished;
volatile int wants[2];

static void lock(int id) {
  wants[id] = 1;
  __VERIFIER_assume(!wants[1 - id]);
}

static int try_lock(int id) {
  wants[id] = 1;
  if (!wants[1 - id]) return 1;
  wants[id] = 0;
  return 0;
}

static void unlock(int id) { wants[id] = 0; }

static void park(void) {
  if (permit > 0) {
    permit = 0;
    return;
  }
  if (!try_lock(PARKER)) return;
  if (permit == 0) {
    asleep = 1;
    unlock(PARKER);
    if (finished) assert(!asleep);
    __VERIFIER_assume(!asleep);
    lock(PARKER);
  }
  permit = 0;
  unlock(PARKER);
}

static void unpark(void) {
  lock(UNPARKER);
  int before = permit;
  permit = 1;
  unlock(UNPARKER);
  if (before == 0) asleep = 0;
}

static void *thread(void *number) {
  if (NUMBER(number) == PARKER) {
    for (int round = 0; round < N && !told; round++) park();
  } else {
    unpark();
    told = 1;
    unpark();
    finished = 1;
  }
  return 0;
}

int main(void) {
  pthread_t threads[2];
  start_threads(threads, 2, thread);
  join_threads(threads, 2);
  return 0;
}
