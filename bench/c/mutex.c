// mutex(N, K): N threads, each K times: lock, count, unlock. (NK)!/(K!)^N orders of the critical sections.
#include <assert.h>
#include "threads.h"
#ifndef N
#define N 3
#endif
#ifndef K
#define K 3
#endif

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int count;

static void *counter(void *number) {
  for (int k = 0; k < K; k++) {
    pthread_mutex_lock(&mutex);
    count++;
    pthread_mutex_unlock(&mutex);
  }
  return 0;
}

int main(void) {
  pthread_t threads[N];
  start_threads(threads, N, counter);
  join_threads(threads, N);
  assert(count == N * K);
  return 0;
}
