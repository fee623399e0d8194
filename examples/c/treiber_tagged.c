// Treiber's stack with a count beside the top that every change raises: a top that went away and came back is another
// one, and the compare-and-swap of who was late fails. See treiber_aba.c.
// expect: pass
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#define NONE 0
#define NODES 3

// The top node and how often the top has changed, in one word.
static atomic_uint top;
static atomic_int next[NODES], owned[NODES];

#define NODE(word) ((int)((word) & 0xff))
#define AFTER(word, node) ((((word) >> 8) + 1) << 8 | (unsigned)(node))

static int pop(void) {
  for (int attempt = 0; attempt < 2; attempt++) {
    unsigned seen = atomic_load(&top);
    int node = NODE(seen);
    if (node == NONE) return NONE;
    int below = atomic_load(&next[node]);
    if (atomic_compare_exchange_strong(&top, &seen, AFTER(seen, below))) {
      assert(atomic_exchange(&owned[node], 1) == 0 && "a node was taken twice");
      return node;
    }
  }
  return NONE;
}

static void push(int node) {
  atomic_store(&owned[node], 0);
  for (int attempt = 0; attempt < 2; attempt++) {
    unsigned seen = atomic_load(&top);
    atomic_store(&next[node], NODE(seen));
    if (atomic_compare_exchange_strong(&top, &seen, AFTER(seen, node))) return;
  }
}

static void *popper(void *unused) {
  pop();
  pop();
  return 0;
}

static void *recycler(void *unused) {
  int first = pop();
  pop();
  if (first != NONE) push(first);
  return 0;
}

int main(void) {
  pthread_t threads[2];
  atomic_store(&next[1], 2);
  atomic_store(&top, 1);
  pthread_create(&threads[0], 0, popper, 0);
  pthread_create(&threads[1], 0, recycler, 0);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
  return 0;
}
