#define _GNU_SOURCE
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>
void *other(void *argument) { assert(gettid() != getpid()); poll(0, 0, 10); return 0; }
int main(void) {
    struct rlimit limit; assert(getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur > 0);
    pthread_t t; pthread_create(&t, 0, other, 0);
    assert(gettid() == getpid()); pthread_join(t, 0); return 0;
}
