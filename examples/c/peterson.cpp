// Peterson's mutual exclusion of two threads: announce yourself, let the other go first, wait. Under sequential
// consistency, which the default order of atomics gives, the critical sections never overlap. A thread that has looked twice
// in vain gives up, so that the example is small.
// expect: pass
#include <atomic>
#include <cassert>
#include <thread>

static std::atomic<bool> wants[2];
static std::atomic<int> turn, inside;

static bool may_enter(int other) {
  for (int look = 0; look < 2; look++)
    if (!wants[other] || turn != other) return true;
  return false;
}

static void visit(int me) {
  int other = 1 - me;
  wants[me] = true;
  turn = other;
  if (may_enter(other)) {
    assert(inside++ == 0 && "two in the critical section");
    inside--;
  }
  wants[me] = false;
}

int main() {
  std::thread first(visit, 0), second(visit, 1);
  first.join();
  second.join();
}
