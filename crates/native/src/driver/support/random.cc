// Random numbers of the system: the same in every execution that draws in the same order.

#include <cstdlib>
#include <random>

namespace std {

void random_device::_M_init(const string &) {}
void random_device::_M_init_pretr1(const string &) {}
void random_device::_M_fini() {}
random_device::result_type random_device::_M_getval() { return (result_type)rand() << 16 ^ (result_type)rand(); }
random_device::result_type random_device::_M_getval_pretr1() { return _M_getval(); }
double random_device::_M_getentropy() const noexcept { return 0; }
// What some versions have besides, and do not declare: all of it is here, or the library's own would come along.
extern "C" void random_device_init(random_device *, const char *, size_t) __asm__("_ZNSt13random_device7_M_initEPKcm");
void random_device_init(random_device *, const char *, size_t) {}

}  // namespace std
