//! The language, and what programs of it do.

mod language;
mod machine_claims;
mod machine_counts;
mod machine_explain;
mod machine_features;
mod machine_library;
mod machine_states;
mod machine_support;
