//! Waiting for a word of memory to change, as the kernel offers it: what atomic variables, latches, barriers
//! and semaphores of C++20 are made of. To look at the word and to begin to wait is one step, which reads the
//! word and joins the queue of its address.
#![allow(unsafe_code)]

use mazurka_program::{Access, AccessKind, Location};
use mazurka_threads::races::Order;
use mazurka_threads::sync::StepEffects as _;
use mazurka_threads::waiters::Waiter;

use super::condition::{Signal, WakeUp};
use super::semaphore::fail;
use super::threads;
use crate::runtime::memory::access;
use crate::runtime::memory::layout::peek;
use crate::runtime::system::stubs::{Passing, Stub, stubs};
use crate::runtime::system::user::{caller, object_at, operate_on, with_runtime};
use crate::runtime::threads::arrive;
use crate::runtime::threads::objects::{Class, Object};
use crate::runtime::threads::operation::{CurrentStep, InRound, Operation};
use crate::runtime::threads::runtime::Runtime;

const SIZE: usize = 4;
/// Which operation, without what says that no other process takes part.
const OPERATION: i32 = 127;

/// Joins the queue, unless the word is not as expected.
struct JoinFutexQueue {
    queue: Object,
    /// None if nobody else has touched the word.
    location: Option<Location>,
    expected: u32,
    waits: bool,
}

impl Operation for JoinFutexQueue {
    fn in_round(&self) -> InRound {
        InRound::Within
    }

    fn order(&self) -> Order {
        Order::Acquire
    }

    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        step.refuse_static_footprints("waits for atomic variables");
        // The label of who goes on at once is that of who waits.
        step.update(self.queue.location);
        if let Some(location) = self.location {
            step.runtime.step.label.accesses.push(Access::one(location, AccessKind::Read));
        }
        // SAFETY: the word was announced, so that it is memory of the program.
        let value = unsafe { peek(self.queue.address, SIZE) };
        self.waits = value == u64::from(self.expected);
        match self.waits {
            true => {
                let (queue, process) = (self.queue.location, step.process);
                step.waiters().add(Waiter { queue, process, lock: None });
            }
            false => step.note(|_| "it has changed".to_owned()),
        }
    }

    fn describe(&self, runtime: &Runtime) -> String {
        format!("wait for a change of {}", runtime.object_name(self.queue))
    }
}

fn wait(address: usize, expected: u32, place: usize) -> i64 {
    let location = with_runtime(|runtime| runtime.only_location(address, SIZE));
    if location.is_none() {
        access::announce_any(address, SIZE, place, AccessKind::Read, (Order::Acquire, 0));
    }
    let queue = object_at(address, Class::Futex, place, "futex");
    let mut join = JoinFutexQueue { queue, location, expected, waits: false };
    operate_on(queue, "futex", &mut join, place);
    if !join.waits {
        return i64::from(fail(libc::EAGAIN));
    }
    arrive::operate(&mut WakeUp::when_woken(queue), place);
    0
}

fn wake(address: usize, most: i32, place: usize) {
    let queue = object_at(address, Class::Futex, place, "futex");
    // Who is notified may have ended the life of the word, so that its memory may be gone: the kernel takes
    // no offence.
    arrive::operate(&mut Signal { queue, all: most != 1 }, place);
}

extern "C-unwind" fn syscall(number: i64, address: usize, what: i32, value: u32, timeout: usize) -> i64 {
    let place = caller();
    let count = value.cast_signed();
    match (number, what & OPERATION) {
        (libc::SYS_futex, libc::FUTEX_WAIT) if timeout == 0 => wait(address, value, place),
        (libc::SYS_futex, libc::FUTEX_WAKE) if count == 1 || count == i32::MAX => {
            wake(address, count, place);
            0
        }
        (libc::SYS_gettid, _) => i64::from(threads::gettid()),
        _ => with_runtime(|runtime| {
            runtime.refuse_at(place, |at| {
                format!(
                    "the program makes a system call{at} that is not supported (number {number}): what the \
                     kernel does then can't be modelled; use the functions of the C library"
                )
            })
        }),
    }
}

/// What programs call.
pub(crate) fn interposed(list: &mut Vec<Stub>) {
    list.extend(stubs! { Passing::Plain; "syscall" => syscall });
}
