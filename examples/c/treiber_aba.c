// Treiber's stack without a lock, in which nodes are used again: while one thread is about to replace the top node A by the
// B below it, another pops A and B and pushes A again. The top is A, as before, and the compare-and-swap succeeds: B is on the
// stack although it was taken. Known as the ABA problem; treiber_tagged.c has the remedy.
// expect: failure assertion
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#define NONE 0
#define NODES 3

// Nodes are numbers; NONE is no node.
static atomic_int next[NODES], top;
static atomic_int owned[NODES];

static int pop(void) {
  for (int attempt = 0; attempt < 2; attempt++) {
    int node = atomic_load(&top);
    if (node == NONE) return NONE;
    int below = atomic_load(&next[node]);
    if (atomic_compare_exchange_strong(&top, &node, below)) {
      assert(atomic_exchange(&owned[node], 1) == 0 && "a node was taken twice");
      return node;
    }
  }
  return NONE;
}

static void push(int node) {
  atomic_store(&owned[node], 0);
  for (int attempt = 0; attempt < 2; attempt++) {
    int below = atomic_load(&top);
    atomic_store(&next[node], below);
    if (atomic_compare_exchange_strong(&top, &below, node)) return;
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
