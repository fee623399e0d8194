// bounded_buffer(N): a producer puts N values into a buffer of N places and a consumer takes them, under one lock. The
// buffer never fills, and the consumer waits with a condition variable.
#include <assert.h>
#include "threads.h"
#ifndef N
#define N 2
#endif

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
int buffer[N], put, taken;

static void *work(void *number) {
  for (int k = 0; k < N; k++) {
    pthread_mutex_lock(&mutex);
    if (NUMBER(number) == 0) {
      buffer[put++] = k;
      pthread_cond_signal(&filled);
    } else {
      while (taken == put) pthread_cond_wait(&filled, &mutex);
      assert(buffer[taken++] == k);
    }
    pthread_mutex_unlock(&mutex);
  }
  return 0;
}

int main(void) {
  pthread_t threads[2];
  start_threads(threads, 2, work);
  join_threads(threads, 2);
  return 0;
}
