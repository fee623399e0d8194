//! Runs of compiled programs.

#[path = "machine/behaviour.rs"]
mod behaviour;
#[path = "machine/errors.rs"]
mod errors;
#[path = "machine/labels.rs"]
mod labels;
#[path = "machine/laws.rs"]
mod laws;
#[path = "machine/programs.rs"]
mod programs;
#[path = "machine/random.rs"]
mod random;
#[path = "machine/support.rs"]
mod support;
