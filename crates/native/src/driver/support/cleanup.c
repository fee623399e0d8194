/* What a thread has registered with `pthread_cleanup_push` is run when it ends itself: each handler is come to by a jump to where it
   was registered, the last one first, and says when it is done. */

#include <pthread.h>
#include <setjmp.h>

extern _Noreturn void mazurka_pthread_exit(void *result);

static _Thread_local __pthread_unwind_buf_t *innermost;
static _Thread_local void *result_of_thread;

void __pthread_register_cancel(__pthread_unwind_buf_t *buffer) {
  buffer->__pad[0] = innermost;
  innermost = buffer;
}

void __pthread_unregister_cancel(__pthread_unwind_buf_t *buffer) { innermost = buffer->__pad[0]; }

static _Noreturn void leave(void) {
  if (innermost) siglongjmp((struct __jmp_buf_tag *)(void *)innermost->__cancel_jmp_buf, 1);
  mazurka_pthread_exit(result_of_thread);
}

void __pthread_unwind_next(__pthread_unwind_buf_t *buffer) {
  innermost = buffer->__pad[0];
  leave();
}

void pthread_exit(void *result) {
  result_of_thread = result;
  leave();
}
