//! The benchmark programs have exactly the counts that are written beside them.

mod abs;
mod c;
mod equivalences;
mod expected;
mod observers;
mod papers;
mod reads_from;
mod states;
