//! The benchmark programs have exactly the counts that are written beside them.

mod abs;
mod c;
mod expected;
mod observers;
mod papers;
mod states;
