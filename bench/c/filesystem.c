// filesystem(N): N threads allocate a block for an inode each, under the inode's lock and that of the block; who finds a
// block busy takes the next. Up to thirteen threads nobody does.
#include "threads.h"
#ifndef N
#define N 14
#endif
#define INODES 32
#define BLOCKS 26

pthread_mutex_t inode_locks[INODES], block_locks[BLOCKS];
int inodes[INODES], busy[BLOCKS];

static void allocate(int inode) {
  for (int block = inode * 2 % BLOCKS;; block = (block + 1) % BLOCKS) {
    pthread_mutex_lock(&block_locks[block]);
    int taken = busy[block];
    if (!taken) {
      busy[block] = 1;
      inodes[inode] = block + 1;
    }
    pthread_mutex_unlock(&block_locks[block]);
    if (!taken) return;
  }
}

static void *allocator(void *number) {
  int inode = NUMBER(number) % INODES;
  pthread_mutex_lock(&inode_locks[inode]);
  if (inodes[inode] == 0) allocate(inode);
  pthread_mutex_unlock(&inode_locks[inode]);
  return 0;
}

int main(void) {
  pthread_t threads[N];
  for (int i = 0; i < INODES; i++) pthread_mutex_init(&inode_locks[i], 0);
  for (int i = 0; i < BLOCKS; i++) pthread_mutex_init(&block_locks[i], 0);
  start_threads(threads, N, allocator);
  join_threads(threads, N);
  return 0;
}
