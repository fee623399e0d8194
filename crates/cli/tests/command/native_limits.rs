//! Limits hold whatever a compiled program does.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
