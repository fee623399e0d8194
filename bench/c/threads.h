/* Starting and joining threads of one function, each with its number. With -DREVERSED they are created in the other
   order, which must not change what is explored. */
#ifndef THREADS_H
#define THREADS_H
#include <pthread.h>
#include <stdint.h>

static void start_threads(pthread_t *threads, int count, void *(*function)(void *)) {
#ifdef REVERSED
  for (int i = count - 1; i >= 0; i--)
#else
  for (int i = 0; i < count; i++)
#endif
    pthread_create(&threads[i], 0, function, (void *)(intptr_t)i);
}

static void join_threads(pthread_t *threads, int count) {
  for (int i = 0; i < count; i++) pthread_join(threads[i], 0);
}

#define NUMBER(argument) ((int)(intptr_t)(argument))
#endif
