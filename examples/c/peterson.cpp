// Peterson's mutual exclusion of two threads: announce yourself, let the other go first, wait. Under sequential
// consistency, which the default order of atomics gives, the critical sections never overlap. The loop that waits is seen to
// be one: who has looked in vain takes no step until something has changed.
// expect: pass
// executions: 64
#include <atomic>
#include <cassert>
#include <thread>

static std::atomic<bool> wants[2];
static std::atomic<int> turn;
static int inside;

static void visit(int me) {
  int other = 1 - me;
  wants[me] = true;
  turn = other;
  while (wants[other] && turn == other) {
  }
  assert(inside++ == 0 && "two in the critical section");
  inside--;
  wants[me] = false;
}

int main() {
  std::thread first(visit, 0), second(visit, 1);
  first.join();
  second.join();
}
