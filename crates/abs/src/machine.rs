//! Runs of ABS programs.
//!
//! A process is a *task*: the main block in a cog of its own, each `o!m()`, each `run` of a new object. A
//! step is an *atomic segment*: what a task does from its start or resumption to its return, to an `await` or
//! `suspend`, or to a `get` (or a synchronous call to another cog) of a future that is not resolved. A `get`
//! of a resolved future goes on in the same segment, and reads the future.
//!
//! What we decided where the language leaves it open:
//! * messages keep no order, not even from one sender to one receiver; with [`TaskOrder`] and [`ObjectOrder`]
//!   they do;
//! * an await whose guard holds releases the cog all the same ([`AwaitTrue`]);
//! * the futures of an await are looked up once, when it is reached. Its conditions are evaluated again and
//!   again; one whose evaluation fails counts as true, and throws when the task resumes;
//! * where an await needs futures and something else that others can undo (a condition, a cog that can be
//!   locked), that the futures are resolved is *noticed* by a step of its own, which touches nothing else. So
//!   that step comes after the resolutions, and what follows races only with those who change the rest;
//! * `random(n)` ends the segment with the cog locked; the draw is a step of its own, and so is what follows;
//! * an exception that a task does not catch resolves its future, and is thrown again by every `get` of it.
//!   It kills the object of the task (unless [`Uncaught::Forgive`]): tasks of a dead object end with
//!   `ObjectDeadException` at their next segment, without their handlers; an await condition counts as true
//!   then, a task that waits for a future notices when the future is resolved. An asynchronous call to a dead
//!   object makes a task that ends so; a synchronous one within the cog throws at once;
//! * an exception that leaves the main block is a failure at once. One that resolved a future is a failure if
//!   no process can go on any more and no `get` has thrown it again.
//!
//! # Locations
//! Fields, futures, the lock of a cog (only where a task can ever block in it), whether an object is alive,
//! and the guard of an await (see [`facts`]). A new object's initial values need no label: who can reach it
//! comes after.
//!
//! # Static footprints
//! A segment touches all fields of its object that its *method* mentions, with methods of the same object
//! that it calls, and what its place in the program lets it do with futures and the lock. In programs with
//! `new local` all segments of one cog are dependent. What an uncaught exception does (it resolves the future
//! early and kills the object) is found out: a method is taken to throw nothing until it does; then the
//! search begins again, knowing that it can. As long as no execution has such an exception, labels without it
//! are right, and the search reaches the first one in some order of every class.
//!
//! # Orders
//! Under [`TaskOrder`] or [`ObjectOrder`] who may run depends on everybody. Then all steps are dependent by
//! one location, and each is guarded by it.

mod activation;
mod builtin;
mod code;
mod commute;
mod compile;
mod declared;
mod effect;
mod entity;
mod eval;
mod explain;
mod facts;
mod failure;
mod foresee;
mod guard;
mod memory;
mod naming;
mod others;
mod record;
mod rounds;
mod run;
mod segment;
mod settings;
mod state;
mod step;
mod store;
mod touch;
mod waits;

pub use record::{CallMade, SegmentEnd, SegmentRecord, SegmentStart};
pub use run::{Abs, AbsRun};
pub use settings::{AwaitTrue, Dependence, ObjectOrder, Settings, TaskOrder, Uncaught};
