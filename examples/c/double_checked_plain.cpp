// Double-checked locking with an ordinary pointer: the first look at it races with the write of it.
// expect: failure data-race
#include <cassert>
#include <mutex>
#include <thread>

struct Config {
  int port = 0;
};

static Config *instance;
static std::mutex mutex;

static Config *get() {
  if (instance) return instance;
  std::lock_guard<std::mutex> guard(mutex);
  if (!instance) {
    Config *config = new Config;
    config->port = 8080;
    instance = config;
  }
  return instance;
}

int main() {
  auto use = [] { assert(get()->port == 8080); };
  std::thread first(use), second(use);
  first.join();
  second.join();
  delete instance;
}
