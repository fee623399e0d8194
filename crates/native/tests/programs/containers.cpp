// Parts of the C++ library that are given in an instrumented form, and those that are linked: they do what they should.
#include <cassert>
#include <future>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <unordered_map>

static void trees() {
  std::map<int, std::string> map;
  std::set<int> gone;
  unsigned state = 12345;
  for (int round = 0; round < 300; round++) {
    state = state * 1103515245 + 12345;
    int key = (state >> 16) % 100;
    if (state & 0x8000) {
      map[key] = std::to_string(key);
      gone.erase(key);
    } else {
      map.erase(key);
      gone.insert(key);
    }
    int last = -1;
    size_t forwards = 0, backwards = 0;
    for (auto &[found, value] : map) {
      assert(found > last && value == std::to_string(found) && !gone.count(found));
      last = found;
      forwards++;
    }
    for (auto at = map.rbegin(); at != map.rend(); ++at) backwards++;
    assert(forwards == map.size() && backwards == map.size());
  }
}

static void lists() {
  std::list<int> a{1, 2, 3}, b{4, 5};
  a.splice(a.begin(), b);
  assert(a.front() == 4 && b.empty());
  a.reverse();
  assert(a.front() == 3);
  a.swap(b);
  assert(a.empty() && b.size() == 5);
  b.sort();
  assert(b.front() == 1 && b.back() == 5);
  b.pop_front();
  assert(b.front() == 2);
}

static void tables() {
  std::unordered_map<int, int> table;
  for (int i = 0; i < 200; i++) table[i * 7] = i;
  for (int i = 0; i < 200; i++) assert(table.at(i * 7) == i);
}

static void threads() {
  std::future<int> future = std::async(std::launch::async, [] { return 41; });
  assert(future.get() == 41);
  std::shared_ptr<int> shared = std::make_shared<int>(4);
  std::thread thread([shared] { assert(*shared == 4); });
  thread.join();
  assert(shared.use_count() == 1);
}

static void texts() {
  try {
    throw std::runtime_error("thrown");
  } catch (const std::exception &caught) {
    assert(std::string(caught.what()) == "thrown");
  }
  std::ostringstream stream;
  stream << 1 << "a" << 2.5;
  assert(stream.str() == "1a2.5");
  std::cout << "done" << std::endl;
}

int main() {
  trees();
  lists();
  tables();
  threads();
  texts();
}
