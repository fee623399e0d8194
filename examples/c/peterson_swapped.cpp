// Peterson's mutual exclusion with its first two statements exchanged: both may pass. See peterson.cpp.
// expect: failure assertion
#include <atomic>
#include <cassert>
#include <thread>

static std::atomic<bool> wants[2];
static std::atomic<int> turn, inside;

static void visit(int me) {
  int other = 1 - me;
  turn = other;
  wants[me] = true;
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
