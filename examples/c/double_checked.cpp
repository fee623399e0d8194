// Double-checked locking in C++: the pointer is atomic, so whoever sees it sees what it points to.
// expect: pass
#include <atomic>
#include <cassert>
#include <mutex>
#include <thread>

struct Config {
  int port = 0;
};

static std::atomic<Config *> instance{nullptr};
static std::mutex mutex;

static Config *get() {
  Config *config = instance.load(std::memory_order_acquire);
  if (config) return config;
  std::lock_guard<std::mutex> guard(mutex);
  config = instance.load(std::memory_order_relaxed);
  if (!config) {
    config = new Config;
    config->port = 8080;
    instance.store(config, std::memory_order_release);
  }
  return config;
}

int main() {
  auto use = [] { assert(get()->port == 8080); };
  std::thread first(use), second(use);
  first.join();
  second.join();
  delete instance.load();
}
