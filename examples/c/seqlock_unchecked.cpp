// A sequence lock whose readers forget to look at the count again: they may see half of a write. See seqlock.cpp.
// expect: failure assertion
#include <atomic>
#include <cassert>
#include <thread>

static std::atomic<unsigned> sequence;
static std::atomic<int> low, high;

static void write(int value) {
  sequence++;
  low = value;
  high = value;
  sequence++;
}

static void read() {
  for (int attempt = 0; attempt < 2; attempt++) {
    unsigned before = sequence;
    if (before % 2) continue;
    int l = low, h = high;
    assert(l == h && "half of a write was read");
    return;
  }
}

int main() {
  std::thread writer(write, 7), reader(read);
  writer.join();
  reader.join();
}
