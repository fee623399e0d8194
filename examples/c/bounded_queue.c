// A bounded queue with one condition variable for each reason to wait. Two producers, two consumers, room for one: each
// value comes out once, and nobody waits for ever. Look at the condition again after waiting, as here: see
// bounded_queue_if.c for what happens otherwise.
// expect: pass
#include <assert.h>
#include <pthread.h>

#define ROOM 1

struct queue {
  pthread_mutex_t mutex;
  pthread_cond_t not_full, not_empty;
  int values[ROOM];
  int count;
} queue = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, {0}, 0};

static void put(int value) {
  pthread_mutex_lock(&queue.mutex);
  while (queue.count == ROOM) pthread_cond_wait(&queue.not_full, &queue.mutex);
  queue.values[queue.count++] = value;
  pthread_cond_signal(&queue.not_empty);
  pthread_mutex_unlock(&queue.mutex);
}

static int take(void) {
  pthread_mutex_lock(&queue.mutex);
  while (queue.count == 0) pthread_cond_wait(&queue.not_empty, &queue.mutex);
  assert(queue.count > 0 && "taken from an empty queue");
  int value = queue.values[--queue.count];
  pthread_cond_signal(&queue.not_full);
  pthread_mutex_unlock(&queue.mutex);
  return value;
}

static void *producer(void *value) {
  put((int)(long)value);
  return 0;
}

static void *consumer(void *unused) { return (void *)(long)take(); }

int main(void) {
  pthread_t producers[2], consumers[2];
  for (long i = 0; i < 2; i++) pthread_create(&consumers[i], 0, consumer, 0);
  for (long i = 0; i < 2; i++) pthread_create(&producers[i], 0, producer, (void *)(i + 1));
  void *first, *second;
  pthread_join(consumers[0], &first);
  pthread_join(consumers[1], &second);
  for (int i = 0; i < 2; i++) pthread_join(producers[i], 0);
  assert((long)first + (long)second == 3 && first != second);
  return 0;
}
