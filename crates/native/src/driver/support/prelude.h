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
#endif
