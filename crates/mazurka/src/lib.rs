//! Mazurka checks concurrent programs by running them under every interleaving that matters, once.
//!
//! This crate is the engine as a library: programs as data ([`litmus`]), what a checker needs of a program
//! ([`program`]), traces and their equivalences ([`trace`]), and the algorithms ([`explore`]). The command `mazurka` is
//! built on the same crates; nothing of the command is needed here.
//!
//! ```
//! use mazurka::explore::{explore, Algorithm, NoMonitor, Options};
//! use mazurka::litmus::{compile, parse, Source};
//!
//! // Three writers of one variable: six orders, six executions.
//! let text = "var x; process writer[i in 1..=3] { x = i; }";
//! let source = Source { name: "three.maz".into(), text: text.into() };
//! let program = compile(&parse(&source).unwrap(), &source, &[]).unwrap();
//! let summary = explore(&program, Algorithm::Optimal, &Options::default(), &mut NoMonitor);
//! assert_eq!(summary.counts.complete, 6);
//! assert_eq!(summary.not_exhaustive, None);
//! ```

pub use mazurka_explore as explore;
pub use mazurka_litmus as litmus;
pub use mazurka_program as program;
pub use mazurka_trace as trace;
