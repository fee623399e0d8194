// pthread_demo(N) of SV-COMP: two threads that increment a counter N times each, under one mutex.
#include "threads.h"
#ifndef N
#define N 4
#endif

int counter;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *increments(void *unused) {
  (void)unused;
  for (int k = 0; k < N; k++) {
    pthread_mutex_lock(&mutex);
    int seen = counter;
    counter = seen + 1;
    pthread_mutex_unlock(&mutex);
  }
  return 0;
}

int main(void) {
  pthread_t threads[2];
  start_threads(threads, 2, increments);
  join_threads(threads, 2);
  return counter != 2 * N;
}
