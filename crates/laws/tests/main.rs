//! The laws, on the corpus and on random programs of every front end; and what algorithms promise beyond
//! them.

mod abs;
mod abs_states;
mod abs_text;
mod closures;
mod commuting;
mod constraints;
mod data_centric;
mod laws;
mod long;
mod loops;
mod native;
mod native_loops;
mod observers;
mod oracle;
mod portable;
mod published;
mod reads_from;
mod signals;
mod states;
mod verdicts;
