// A sequence lock: the writer makes a count odd while it writes; who reads looks at the count before and after, and
// tries again if it changed. Readers give up after two attempts, so that the example is small.
// expect: pass
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
    if (sequence != before) continue;
    assert(l == h && "half of a write was read");
    return;
  }
}

int main() {
  std::thread writer(write, 7), reader(read);
  writer.join();
  reader.join();
}
