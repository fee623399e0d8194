//! The language, and what programs of it do.

mod machine;
mod syntax;
