/* Strings are compiled with the program instead of taken from the C++ library, so that what they do is instrumented. The
   rest of the library's templates stay there. */
#ifdef __cplusplus
#include <cstddef>
#ifdef __GLIBCXX__
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
