//! What the compiler refuses, as tests.
//!
//! The bounds are those of the standard library:
//!
//! ```compile_fail,E0277
//! // An `Rc` is not sent to another thread.
//! let shared = std::rc::Rc::new(0);
//! mazurka::thread::spawn(move || drop(shared));
//! ```
//! ```compile_fail,E0277
//! // Nor is a lock around one shared.
//! let shared = mazurka::sync::Arc::new(mazurka::sync::Mutex::new(std::rc::Rc::new(0)));
//! mazurka::thread::spawn(move || drop(shared));
//! ```
//! ```compile_fail,E0277
//! // Who took a lock releases it.
//! static LOCK: mazurka::sync::Mutex<u8> = mazurka::sync::Mutex::new(0);
//! let guard = LOCK.lock().unwrap();
//! mazurka::thread::spawn(move || drop(guard));
//! ```
//! ```compile_fail,E0373
//! // A thread may outlive what its creator has on the stack.
//! let local = mazurka::sync::Mutex::new(0);
//! mazurka::thread::spawn(|| drop(local.lock()));
//! ```
//! ```compile_fail,E0277
//! // What is checked is run on another thread.
//! let shared = std::rc::Rc::new(0);
//! mazurka::check(move || assert_eq!(*shared, 0));
//! ```
//! What is right is not refused:
//! ```
//! mazurka::check(|| {
//!     let local = mazurka::sync::Mutex::new(0);
//!     mazurka::thread::scope(|scope| {
//!         scope.spawn(|| *local.lock().unwrap() += 1);
//!     });
//!     assert_eq!(*local.lock().unwrap(), 1);
//! });
//! ```
//! The attribute has a place for each mistake:
//! ```compile_fail
//! #[mazurka::test]
//! fn has_parameters(x: u8) {}
//! ```
//! ```compile_fail
//! #[mazurka::test]
//! fn is_generic<T>() {}
//! ```
//! ```compile_fail
//! #[mazurka::test(max_execution = 7)]
//! fn has_an_option_that_is_none() {}
//! ```
//! ```compile_fail
//! #[mazurka::test(max_executions)]
//! fn has_an_option_without_its_value() {}
//! ```
//! ```compile_fail
//! #[mazurka::test(algorithm = "fastest")]
//! fn has_an_algorithm_that_is_none() {}
//! ```
//! ```compile_fail
//! #[mazurka::test(seed = 1, seed = 2)]
//! fn has_an_option_twice() {}
//! ```
//! ```compile_fail
//! #[mazurka::test]
//! #[test]
//! fn is_a_test_already() {}
//! ```
//! ```compile_fail
//! #[mazurka::test]
//! struct NotAFunction;
//! ```
//! ```compile_fail
//! #[mazurka::test]
//! const fn is_const() {}
//! ```
//! (What a test gives is looked at only where tests are compiled: see `tests/reports.rs`.)
