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
