/* Strings are compiled with the program instead of taken from the C++ library, so that what they do is instrumented. The
   rest of the library's templates stay there. */
#ifdef __cplusplus
#include <cstddef>
#ifdef __GLIBCXX__
/* `std::lock` of several mutexes is one step: it waits until all are free, and takes them. Of other things it tries, gives back and
   tries again, for ever if others do the same. Whoever gets them all can do so at once, and whoever never does waits in the end for
   one of them, with nothing in hand: at once for the first, or for the one that was missing then. So after two attempts that failed
   nothing is left to be seen. These are more specialised than the library's own. */
extern "C" int mazurka_lock_all(void **, unsigned long);
namespace std {
class mutex;
class timed_mutex;
class recursive_mutex;
class recursive_timed_mutex;
struct adopt_lock_t;
template <typename Mazurka_M>
class unique_lock;
}  // namespace std
extern "C" void mazurka_assume(int);
namespace mazurka {
struct Lockable {
  void *object;
  void (*lock)(void *);
  bool (*try_lock)(void *);
  void (*unlock)(void *);
  template <typename Mazurka_L>
  explicit Lockable(Mazurka_L &l)
      : object(&l),
        lock([](void *object) { static_cast<Mazurka_L *>(object)->lock(); }),
        try_lock([](void *object) -> bool { return static_cast<Mazurka_L *>(object)->try_lock(); }),
        unlock([](void *object) { static_cast<Mazurka_L *>(object)->unlock(); }) {}
};
/* What an attempt has locked, beginning with the one at `first`. It is given back if the attempt fails or throws. */
struct Attempt {
  Lockable *all;
  int count, first, held;
  ~Attempt() {
    for (; held > 0; held--) {
      Lockable &last = all[(first + held - 1) % count];
      last.unlock(last.object);
    }
  }
  /* The one that could not be locked; none if all are. */
  int make() {
    all[first].lock(all[first].object);
    for (held = 1; held < count; held++) {
      Lockable &next = all[(first + held) % count];
      if (!next.try_lock(next.object)) return (first + held) % count;
    }
    held = 0;
    return -1;
  }
};
/* What the runtime knows a lock by, if it is a mutex. */
template <typename Mazurka_L>
struct Mutex {
  static void *of(Mazurka_L &) { return 0; }
  static void taken(Mazurka_L &) {}
};
template <typename Mazurka_L>
struct Plain {
  static void *of(Mazurka_L &l) { return l.native_handle(); }
  static void taken(Mazurka_L &) {}
};
template <>
struct Mutex<std::mutex> : Plain<std::mutex> {};
template <>
struct Mutex<std::timed_mutex> : Plain<std::timed_mutex> {};
template <>
struct Mutex<std::recursive_mutex> : Plain<std::recursive_mutex> {};
template <>
struct Mutex<std::recursive_timed_mutex> : Plain<std::recursive_timed_mutex> {};
template <typename Mazurka_M>
struct Mutex<std::unique_lock<Mazurka_M>> {
  template <typename Mazurka_L>
  static void *of(Mazurka_L &l) {
    return l.mutex() && !l.owns_lock() ? Mutex<Mazurka_M>::of(*l.mutex()) : 0;
  }
  template <typename Mazurka_L, typename Adopt = std::adopt_lock_t>
  static void taken(Mazurka_L &l) {
    l = Mazurka_L(*l.mutex(), Adopt());
  }
};
/* Locks all at once, if all are mutexes. */
inline bool lock_at_once(void **all, int count) {
  for (int i = 0; i < count; i++)
    if (!all[i]) return false;
  return mazurka_lock_all(all, (unsigned long)count);
}
inline void lock_all(Lockable *all, int count) {
  int missing = Attempt{all, count, 0, 0}.make();
  if (missing >= 0) {
    missing = Attempt{all, count, missing, 0}.make();
    mazurka_assume(missing < 0);
  }
}
}  // namespace mazurka
namespace std {
template <typename Mazurka_A, typename Mazurka_B>
void lock(Mazurka_A &a, Mazurka_B &b) {
  void *mutexes[] = {mazurka::Mutex<Mazurka_A>::of(a), mazurka::Mutex<Mazurka_B>::of(b)};
  if (mazurka::lock_at_once(mutexes, 2)) {
    mazurka::Mutex<Mazurka_A>::taken(a), mazurka::Mutex<Mazurka_B>::taken(b);
    return;
  }
  mazurka::Lockable all[] = {mazurka::Lockable(a), mazurka::Lockable(b)};
  mazurka::lock_all(all, 2);
}
template <typename Mazurka_A, typename Mazurka_B, typename Mazurka_C>
void lock(Mazurka_A &a, Mazurka_B &b, Mazurka_C &c) {
  void *mutexes[] = {mazurka::Mutex<Mazurka_A>::of(a), mazurka::Mutex<Mazurka_B>::of(b), mazurka::Mutex<Mazurka_C>::of(c)};
  if (mazurka::lock_at_once(mutexes, 3)) {
    mazurka::Mutex<Mazurka_A>::taken(a), mazurka::Mutex<Mazurka_B>::taken(b), mazurka::Mutex<Mazurka_C>::taken(c);
    return;
  }
  mazurka::Lockable all[] = {mazurka::Lockable(a), mazurka::Lockable(b), mazurka::Lockable(c)};
  mazurka::lock_all(all, 3);
}
template <typename Mazurka_A, typename Mazurka_B, typename Mazurka_C, typename Mazurka_D>
void lock(Mazurka_A &a, Mazurka_B &b, Mazurka_C &c, Mazurka_D &d) {
  void *mutexes[] = {mazurka::Mutex<Mazurka_A>::of(a), mazurka::Mutex<Mazurka_B>::of(b), mazurka::Mutex<Mazurka_C>::of(c), mazurka::Mutex<Mazurka_D>::of(d)};
  if (mazurka::lock_at_once(mutexes, 4)) {
    mazurka::Mutex<Mazurka_A>::taken(a), mazurka::Mutex<Mazurka_B>::taken(b), mazurka::Mutex<Mazurka_C>::taken(c), mazurka::Mutex<Mazurka_D>::taken(d);
    return;
  }
  mazurka::Lockable all[] = {mazurka::Lockable(a), mazurka::Lockable(b), mazurka::Lockable(c), mazurka::Lockable(d)};
  mazurka::lock_all(all, 4);
}
template <typename Mazurka_A, typename Mazurka_B, typename Mazurka_C, typename Mazurka_D, typename Mazurka_E>
void lock(Mazurka_A &a, Mazurka_B &b, Mazurka_C &c, Mazurka_D &d, Mazurka_E &e) {
  void *mutexes[] = {mazurka::Mutex<Mazurka_A>::of(a), mazurka::Mutex<Mazurka_B>::of(b), mazurka::Mutex<Mazurka_C>::of(c), mazurka::Mutex<Mazurka_D>::of(d), mazurka::Mutex<Mazurka_E>::of(e)};
  if (mazurka::lock_at_once(mutexes, 5)) {
    mazurka::Mutex<Mazurka_A>::taken(a), mazurka::Mutex<Mazurka_B>::taken(b), mazurka::Mutex<Mazurka_C>::taken(c), mazurka::Mutex<Mazurka_D>::taken(d), mazurka::Mutex<Mazurka_E>::taken(e);
    return;
  }
  mazurka::Lockable all[] = {mazurka::Lockable(a), mazurka::Lockable(b), mazurka::Lockable(c), mazurka::Lockable(d), mazurka::Lockable(e)};
  mazurka::lock_all(all, 5);
}
template <typename Mazurka_A, typename Mazurka_B, typename Mazurka_C, typename Mazurka_D, typename Mazurka_E, typename Mazurka_F>
void lock(Mazurka_A &a, Mazurka_B &b, Mazurka_C &c, Mazurka_D &d, Mazurka_E &e, Mazurka_F &f) {
  void *mutexes[] = {mazurka::Mutex<Mazurka_A>::of(a), mazurka::Mutex<Mazurka_B>::of(b), mazurka::Mutex<Mazurka_C>::of(c), mazurka::Mutex<Mazurka_D>::of(d), mazurka::Mutex<Mazurka_E>::of(e), mazurka::Mutex<Mazurka_F>::of(f)};
  if (mazurka::lock_at_once(mutexes, 6)) {
    mazurka::Mutex<Mazurka_A>::taken(a), mazurka::Mutex<Mazurka_B>::taken(b), mazurka::Mutex<Mazurka_C>::taken(c), mazurka::Mutex<Mazurka_D>::taken(d), mazurka::Mutex<Mazurka_E>::taken(e), mazurka::Mutex<Mazurka_F>::taken(f);
    return;
  }
  mazurka::Lockable all[] = {mazurka::Lockable(a), mazurka::Lockable(b), mazurka::Lockable(c), mazurka::Lockable(d), mazurka::Lockable(e), mazurka::Lockable(f)};
  mazurka::lock_all(all, 6);
}
}  // namespace std
#undef _GLIBCXX_EXTERN_TEMPLATE
#define _GLIBCXX_EXTERN_TEMPLATE 0
#include <string>
#undef _GLIBCXX_EXTERN_TEMPLATE
#define _GLIBCXX_EXTERN_TEMPLATE 1
/* But not what writes them to a stream: several threads may write to std::cout at once, which is the library's affair. */
namespace std {
extern template ostream &__ostream_insert(ostream &, const char *, streamsize);
}
#if __cplusplus >= 202002L
/* Semaphores are those of the C library, which the runtime knows. */
#define _GLIBCXX_USE_POSIX_SEMAPHORE 1
/* Who waits for an atomic variable looks at it once before it asks the kernel, and not 16 times: what only looks finds the same
   then, in fewer executions. More constrained than the library's own, this is taken in its place. */
namespace std::__detail {
template <typename Predicate, typename Spin>
  requires true
bool __atomic_spin(Predicate &predicate, Spin) noexcept {
  return predicate();
}
}  // namespace std::__detail
#endif
#endif
#ifdef __cpp_exceptions
/* What is to be done once and throws is done again by the next one: the runtime is told how it ended. */
#include <pthread.h>
extern "C" int mazurka_once_begin(pthread_once_t *);
extern "C" void mazurka_once_end(pthread_once_t *, int);
static inline int mazurka_once(pthread_once_t *flag, void (*function)(void)) {
  if (mazurka_once_begin(flag)) {
    try {
      function();
    } catch (...) {
      mazurka_once_end(flag, 0);
      throw;
    }
    mazurka_once_end(flag, 1);
  }
  return 0;
}
#define pthread_once mazurka_once
#endif
#endif
