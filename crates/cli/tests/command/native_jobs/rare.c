// A program that shows something new in few of its executions only: bytes that several threads touch, threads
// that few executions have, memory that leaks, locks on the heap. What a thread does depends on what it read.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <assert.h>
#ifndef T
#define T 3
#endif
#ifndef R
#define R 2
#endif
atomic_int x, flag, z;
char bytes[64];
int plain;
pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
pthread_t late[T];
static void *later(void *p) { int l = 0; int *q = &l; atomic_fetch_add(&z, 1 + ((long)q >> 28 & 7)); bytes[32 + (long)p] = 1; return 0; }
static void *worker(void *p) {
  long me = (long)p; unsigned h = 17;
  for (int i = 0; i < R; i++) { int s = atomic_load(&x); h = h * 31 + s; atomic_store(&x, s + 1 + me); }
  bytes[(h % 13)] ++;                                   // Shared by those who saw the same.
  if (h % 11 == K) { char *m = malloc(h % 40 + 1); m[0] = 1; if (h % 3) free(m); }   // Some leak.
  if (h % 17 == K) pthread_create(&late[me], 0, later, p);
  if (h % 19 == K) { pthread_mutex_t *m = malloc(sizeof *m); pthread_mutex_init(m, 0); pthread_mutex_lock(m); pthread_mutex_unlock(m); pthread_mutex_destroy(m); free(m); }
#ifdef DEADLOCK
  if (h % 23 == DEADLOCK) { pthread_mutex_lock(me & 1 ? &a : &b); pthread_mutex_lock(me & 1 ? &b : &a); pthread_mutex_unlock(&a); pthread_mutex_unlock(&b); }
#endif
#ifdef RACE
  if (h % 23 == RACE) plain++;
#endif
#ifdef CRASH
  if (h % 97 == CRASH) *(int *)(long)8 = 1;
#endif
#ifdef SPIN
  if (h % 23 == SPIN) while (!atomic_load(&flag)) ;
  if (me == 0) atomic_store(&flag, 1);
#endif
  return 0;
}
int main(void) {
  pthread_t t[T];
  for (long i = 0; i < T; i++) pthread_create(&t[i], 0, worker, (void *)i);
  for (long i = 0; i < T; i++) pthread_join(t[i], 0);
#ifdef FAIL
  assert(atomic_load(&x) != FAIL);
#endif
  return 0;
}
