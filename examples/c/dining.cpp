// Three philosophers who all take the fork on their left first: if all do so at once, all wait for ever.
// expect: failure deadlock
#include <mutex>
#include <thread>

static std::mutex forks[3];

static void dine(int seat) {
  std::lock_guard<std::mutex> left(forks[seat]);
  std::lock_guard<std::mutex> right(forks[(seat + 1) % 3]);
}

int main() {
  std::thread philosophers[3];
  for (int seat = 0; seat < 3; seat++) philosophers[seat] = std::thread(dine, seat);
  for (std::thread &philosopher : philosophers) philosopher.join();
}
