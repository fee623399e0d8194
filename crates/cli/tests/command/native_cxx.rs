//! What only C++ has: exceptions, waits for so long, objects that have to be destroyed.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use crate::Place;

/// A program, the compilers' options, the exit status, and what stdout or stderr has.
type Row = (&'static str, &'static str, &'static [&'static str], i32, &'static str);

const ROWS: [Row; 28] = [
    (
        "scoped-lock",
        "#include <cassert>
#include <mutex>
#include <thread>
std::mutex a, b;
int x;
int main() {
  std::thread t([] { std::scoped_lock l(a, b); x++; }), u([] { std::scoped_lock l(b, a); x++; });
  t.join();
  u.join();
  assert(x == 2);
}",
        &["-std=c++17"],
        0,
        "pass",
    ),
    (
        "lock-of-several",
        "#include <cassert>
#include <mutex>
#include <thread>
std::mutex a, b, c;
int x;
int main() {
  std::thread t([] {
    std::unique_lock<std::mutex> k(a, std::defer_lock), l(b, std::defer_lock);
    std::lock(k, l);
    x++;
  });
  std::thread u([] { std::lock(c, b, a); x++; a.unlock(); b.unlock(); c.unlock(); });
  t.join();
  u.join();
  assert(x == 2);
}",
        &["-std=c++11"],
        0,
        "pass",
    ),
    (
        "lock-of-several-recursive",
        "#include <cassert>
#include <mutex>
#include <thread>
std::recursive_mutex a;
std::mutex b;
int x;
int main() {
  std::thread t([] { std::scoped_lock k(a); std::scoped_lock l(a, b); x++; });
  std::thread u([] { std::scoped_lock l(b, a); x++; });
  t.join();
  u.join();
  assert(x == 2);
}",
        &["-std=c++17"],
        0,
        "executions: 2 complete",
    ),
    (
        "lock-of-several-never-given-back",
        "#include <mutex>
#include <thread>
std::mutex a, b;
int main() {
  std::thread t([] { std::lock(a, b); a.unlock(); b.unlock(); }), u([] { b.lock(); });
  t.join();
  u.join();
}",
        &["-std=c++11"],
        1,
        "pthread_mutex_lock(b)",
    ),
    (
        "once-throws",
        "#include <cassert>
#include <mutex>
#include <thread>
std::once_flag flag;
int tries;
static void first() { if (tries++ == 0) throw 7; }
static void work() { try { std::call_once(flag, first); } catch (int) { } }
int main() { std::thread a(work), b(work); a.join(); b.join(); assert(tries == 2); }",
        &[],
        0,
        "pass",
    ),
    (
        "thread-throws",
        "#include <pthread.h>
#include <stdexcept>
static void *run(void *unused) { throw std::runtime_error(\"out\"); return unused; }
int main() { pthread_t t; pthread_create(&t, 0, run, 0); pthread_join(t, 0); }",
        &[],
        1,
        "run ends with an exception",
    ),
    ("main-throws", "int main() { throw 1; }", &[], 1, "main ends with an exception"),
    (
        "wait-for",
        "#include <cassert>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
std::mutex m;
std::condition_variable c;
bool ready, in_time;
int main() {
  std::thread t([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::lock_guard<std::mutex> l(m);
    ready = true;
    c.notify_one();
  });
  {
    std::unique_lock<std::mutex> l(m);
    in_time = c.wait_for(l, std::chrono::seconds(1), [] { return ready; });
    assert(in_time == ready);
  }
  t.join();
#ifdef BUG
  assert(in_time);
#endif
}",
        &[],
        0,
        "executions: 4 complete",
    ),
    ("wait-for", "", &["-DBUG"], 1, "assertion failed: in_time"),
    (
        "future",
        "#include <cassert>
#include <chrono>
#include <future>
#include <mutex>
#include <thread>
std::timed_mutex m;
int main() {
  std::promise<int> promise;
  auto future = promise.get_future();
  std::thread t([&] { std::lock_guard<std::timed_mutex> l(m); promise.set_value(1); });
  bool in_time = future.wait_for(std::chrono::seconds(1)) == std::future_status::ready;
  bool locked = m.try_lock_for(std::chrono::seconds(1));
  if (locked) m.unlock();
  t.join();
#ifdef LATE
  assert(in_time);
#endif
#ifdef LOCKED
  assert(locked);
#endif
  (void)in_time;
}",
        &[],
        0,
        "pass",
    ),
    ("future", "", &["-DLATE"], 1, "assertion failed: in_time"),
    ("future", "", &["-DLOCKED"], 1, "assertion failed: locked"),
    (
        "clock",
        "#include <chrono>
#include <condition_variable>
#include <mutex>
std::mutex m;
std::condition_variable c;
int main() {
  std::unique_lock<std::mutex> l(m);
  c.wait_for(l, std::chrono::seconds(1));
  auto now = std::chrono::steady_clock::now();
  c.wait_until(l, now);
}",
        &[],
        0,
        "pass: no execution",
    ),
    (
        "exit",
        "#include <pthread.h>
struct Owner { ~Owner() {} };
static void *run(void *unused) { Owner owner; pthread_exit(unused); }
int main() { pthread_t t; pthread_create(&t, 0, run, 0); pthread_join(t, 0); }",
        &[],
        2,
        "pthread_exit at program.cpp:3 is not supported in C++",
    ),
    (
        "wide-atomics",
        "#include <atomic>
struct Pair { long a, b; };
std::atomic<Pair> pair;
int main() { return (int)pair.load().a; }",
        &[],
        0,
        "pass: no execution",
    ),
    (
        "own-new",
        "#include <cassert>
#include <cstdlib>
#include <new>
int news, deletes;
void *operator new(std::size_t size) { news++; return std::malloc(size); }
void operator delete(void *block) noexcept { deletes++; std::free(block); }
int main() { int *one = new int(1); int *row = new int[3]; delete one; delete[] row; assert(news == 2 && deletes == 2); }",
        &[],
        0,
        "pass",
    ),
    (
        "input",
        "#include <cassert>
#include <iostream>
int main() { int x = 5; std::cin >> x; assert(!std::cin); }",
        &[],
        0,
        "pass",
    ),
    (
        "deleted-twice",
        "struct Node { int value; };
int main() { Node *node = new Node; delete node; delete node; }",
        &[],
        1,
        "main calls delete with a block of 4 bytes that was allocated at program.cpp:2, which was freed at program.cpp:2 already",
    ),
    (
        "cout",
        "#include <iostream>
#include <string>
#include <thread>
static void work(int number) { std::cout << \"thread \" << std::string(3, 'x') << number << std::endl; }
int main() { std::thread a(work, 1), b(work, 2); a.join(); b.join(); }",
        &[],
        0,
        "executions: 1 complete",
    ),
    (
        "line-of-library",
        "#include <memory>
#include <thread>
static std::shared_ptr<int> shared;
int main() {
  shared = std::make_shared<int>(1);
  std::thread t([] { std::shared_ptr<int> copy = shared; });
  shared.reset();
  t.join();
}",
        &["--races=sc"],
        1,
        "  at program.cpp:6:",
    ),
    (
        "jthread",
        "#include <stop_token>
#include <thread>
int main() {
  std::jthread t([](std::stop_token stop) { while (!stop.stop_requested()) std::this_thread::yield(); });
}",
        &["-std=c++20"],
        0,
        "pass",
    ),
    (
        "latch",
        "#include <cassert>
#include <latch>
#include <thread>
static int x;
int main() {
  std::latch latch(1);
  std::thread t([&] { latch.wait(); assert(x == 1); });
  x = 1;
  latch.count_down();
  t.join();
}",
        &["-std=c++20"],
        0,
        "executions: 9 complete",
    ),
    (
        "barrier-of-cxx",
        "#include <barrier>
#include <cassert>
#include <thread>
static int x[2];
int main() {
  std::barrier barrier(2);
  auto work = [&](int i) { x[i] = 1; barrier.arrive_and_wait(); assert(x[1 - i] == 1); };
  std::thread a(work, 0), b(work, 1);
  a.join();
  b.join();
}",
        &["-std=c++20"],
        0,
        "pass",
    ),
    (
        "semaphore-of-cxx",
        "#include <cassert>
#include <semaphore>
#include <thread>
static std::counting_semaphore<2> places(2);
static std::atomic<int> inside;
static void work() { places.acquire(); assert(++inside <= 2); inside--; places.release(); }
int main() { std::thread a(work), b(work); work(); a.join(); b.join(); }",
        &["-std=c++20"],
        0,
        "executions: 510 complete",
    ),
    (
        "atomic-wait",
        "#include <atomic>
#include <cassert>
#include <thread>
static std::atomic<int> ready;
static int x;
int main() {
  std::thread t([] { x = 5; ready = 1; ready.notify_one(); });
  ready.wait(0);
  assert(x == 5);
  t.join();
}",
        &["-std=c++20"],
        0,
        "executions: 7 complete",
    ),
    (
        "atomic-without-notification",
        "#include <atomic>
#include <thread>
static std::atomic<int> ready;
int main() { std::thread t([] { ready = 1; }); ready.wait(0); t.join(); }",
        &["-std=c++20"],
        1,
        "for a notification of ready",
    ),
    (
        "one-of-two-is-notified",
        "#include <atomic>
#include <thread>
static std::atomic<int> ready;
int main() {
  std::thread a([] { ready.wait(0); }), b([] { ready.wait(0); });
  ready = 1;
  ready.notify_one();
  a.join();
  b.join();
}",
        &["-std=c++20"],
        1,
        "for a notification of ready",
    ),
    (
        "system-call",
        "#include <sys/syscall.h>
#include <unistd.h>
int main() { return (int)syscall(SYS_getpid); }",
        &[],
        2,
        "makes a system call at program.cpp:3",
    ),
];

#[test]
fn what_only_cxx_has() {
    for compiler in ["clang-19", "gcc"] {
        if std::process::Command::new(compiler).arg("--version").output().is_err() {
            continue;
        }
        let mut text = "";
        for (name, own, flags, status, part) in ROWS {
            text = if own.is_empty() { text } else { own };
            let place = Place::new(&format!("native-cxx-{name}"), "program.cpp", text);
            let cc = format!("--cc={compiler}");
            let outcome = place.run(&[&["check", "program.cpp", "--", &cc], flags].concat());
            let said = format!("{}{}", outcome.stdout, outcome.stderr);
            assert_eq!(outcome.status, status, "{compiler} {name} {flags:?}: {said}");
            assert!(said.contains(part), "{compiler} {name} {flags:?}: no {part:?} in\n{said}");
        }
    }
}
