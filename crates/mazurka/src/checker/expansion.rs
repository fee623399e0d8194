//! What the attribute `#[mazurka::test]` expands to makes use of.

use super::Checker;
use super::test_identity::DeclaredTest;

impl Checker {
    /// The options of a test that an attribute declares.
    #[doc(hidden)]
    pub fn declared(
        function: &'static str,
        module: &'static str,
        file: &'static str,
        package: &'static str,
    ) -> Checker {
        let declared = Some(DeclaredTest { function, module, file, package });
        Checker { declared, ..Checker::new() }
    }

    /// For how many executions parts of a search are explored, the first one and the others, before what is left
    /// of them is shared: for those who test that it does not matter.
    #[doc(hidden)]
    pub fn parts(mut self, first: u64, later: u64) -> Checker {
        self.options.items = mazurka_explore::ItemSizes { first, later, ..Default::default() };
        self
    }
}

#[doc(hidden)]
pub mod __macro {
    use std::fmt::Debug;

    /// What a test may give in the end.
    #[diagnostic::on_unimplemented(
        message = "a `#[mazurka::test]` gives nothing, or a `Result<(), E>` with an `E` that implements `Debug`",
        label = "not what a test gives"
    )]
    pub trait Termination {
        /// Panics if it is an error.
        fn unwrap_result(self);
    }

    impl Termination for () {
        fn unwrap_result(self) {}
    }

    impl<E: Debug> Termination for Result<(), E> {
        #[track_caller]
        fn unwrap_result(self) {
            if let Err(error) = self {
                panic!("the test gave an error: {error:?}");
            }
        }
    }
}
