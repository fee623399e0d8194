//! The benchmark programs of active objects: of any size, and the table of their counts.

pub mod abs_programs;
pub mod abs_table;
pub mod papers;
