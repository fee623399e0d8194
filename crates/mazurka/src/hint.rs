//! As [`std::hint`].

pub use std::hint::black_box;

/// Says that the loop around it waits. Within a check a loop that waits is
/// [recognised](crate#loops-that-wait) without it.
pub fn spin_loop() {
    if !crate::runtime::in_check() {
        std::hint::spin_loop();
    }
}
