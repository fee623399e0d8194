// Three philosophers who take the fork with the lower number first: no circle of waiting can arise.
// expect: pass
#include <algorithm>
#include <mutex>
#include <thread>

static std::mutex forks[3];

static void dine(int seat) {
  int other = (seat + 1) % 3;
  std::lock_guard<std::mutex> first(forks[std::min(seat, other)]);
  std::lock_guard<std::mutex> second(forks[std::max(seat, other)]);
}

int main() {
  std::thread philosophers[3];
  for (int seat = 0; seat < 3; seat++) philosophers[seat] = std::thread(dine, seat);
  for (std::thread &philosopher : philosophers) philosopher.join();
}
