// Double-checked locking that publishes too early: the pointer is stored before what it points to is ready.
// expect: failure assertion
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

struct config {
  atomic_int port;
};

static struct config the_config;
static _Atomic(struct config *) instance;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static struct config *get(void) {
  struct config *config = instance;
  if (config) return config;
  pthread_mutex_lock(&mutex);
  if (!instance) {
    instance = &the_config;
    the_config.port = 8080;
  }
  pthread_mutex_unlock(&mutex);
  return instance;
}

static void *use(void *unused) {
  assert(get()->port == 8080);
  return 0;
}

int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, use, 0);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
  return 0;
}
