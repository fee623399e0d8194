//! Attributes of threads and locks. They are the C library's own, in memory that the program keeps to itself;
//! the functions that use them look at what matters.

use crate::runtime::system::stubs::{Passing, Stub, stubs};

/// What the C library has no way to be asked for: accepted, and of no consequence here.
extern "C-unwind" fn accepted() -> i32 {
    0
}

/// What programs call.
pub(crate) fn interposed(list: &mut Vec<Stub>) {
    list.extend(stubs! { Passing::Plain;
        "pthread_attr_init" => libc::pthread_attr_init, "pthread_attr_destroy" => libc::pthread_attr_destroy,
        "pthread_attr_setdetachstate" => libc::pthread_attr_setdetachstate,
        "pthread_attr_setstacksize" => accepted, "pthread_attr_setguardsize" => accepted,
        "pthread_attr_setscope" => accepted, "pthread_attr_setinheritsched" => accepted,
        "pthread_attr_setschedpolicy" => accepted, "pthread_attr_setschedparam" => accepted,
        "pthread_mutexattr_init" => libc::pthread_mutexattr_init,
        "pthread_mutexattr_destroy" => libc::pthread_mutexattr_destroy,
        "pthread_mutexattr_settype" => libc::pthread_mutexattr_settype,
        "pthread_mutexattr_setpshared" => accepted, "pthread_mutexattr_setprotocol" => accepted,
        "pthread_condattr_init" => libc::pthread_condattr_init,
        "pthread_condattr_destroy" => libc::pthread_condattr_destroy,
        "pthread_condattr_setclock" => accepted, "pthread_condattr_setpshared" => accepted,
        "pthread_rwlockattr_init" => libc::pthread_rwlockattr_init,
        "pthread_rwlockattr_destroy" => libc::pthread_rwlockattr_destroy,
        "pthread_rwlockattr_setpshared" => accepted, "pthread_barrierattr_init" => accepted,
        "pthread_barrierattr_destroy" => accepted, "pthread_barrierattr_setpshared" => accepted,
    });
}
