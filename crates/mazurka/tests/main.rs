//! The library as programs use it, in one binary. What ends the process or is about its environment runs the
//! binary again.

mod arc_counts;
mod arc_random;
mod arc_raw;
mod arcs;
mod bombs;
mod brute;
mod channel_edges;
mod channels;
mod clock;
mod counting;
mod crashes;
mod environment;
mod exposed;
mod futures;
mod jobs;
mod leftovers;
mod mailboxes;
mod nondeterminism;
mod observed_memory;
mod orderings;
mod parking;
mod peers;
mod races;
mod random_channels;
mod regressions;
mod reports;
mod spin;
mod spurious;
mod std_api;
mod strangers;
mod structures;
mod sync;
mod time;
mod traps;
mod workers;
