//! Which test a check belongs to, and where that is.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::regressions::{Regressions, Store};
use crate::source;
use crate::step::CallSite;

/// What `#[mazurka::test]` knows of its test.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeclaredTest {
    /// The function.
    pub(super) function: &'static str,
    /// `module_path!()`.
    pub(super) module: &'static str,
    /// `file!()`.
    pub(super) file: &'static str,
    /// `CARGO_MANIFEST_DIR` when it was compiled.
    pub(super) package: &'static str,
}

/// The test that a check belongs to.
#[derive(Clone, Debug)]
pub(super) struct TestIdentity {
    /// The name by which `cargo test` knows it; none if that is not known.
    pub(super) test: Option<String>,
    module: Option<String>,
    file: &'static str,
    package: Option<&'static str>,
    line: u32,
    /// Which check it is of those of the test, in this process, from 1.
    number: u32,
}

impl TestIdentity {
    /// Of a test that was declared by an attribute; or else by what the thread is called, which the test
    /// harness names after the test.
    pub(super) fn new(declared: Option<DeclaredTest>, caller: CallSite) -> TestIdentity {
        if let Some(DeclaredTest { function, module, file, package }) = declared {
            // The harness leaves out the name of the crate.
            let inner = module.split_once("::").map_or(String::new(), |(_, inner)| format!("{inner}::"));
            let test = Some(format!("{inner}{function}"));
            let (module, package, line) = (Some(module.to_owned()), Some(package), caller.line());
            return TestIdentity { test, module, file, package, line, number: 0 }.numbered();
        }
        let current = std::thread::current();
        let test = current.name().filter(|name| *name != "main").map(str::to_owned);
        let module = test.as_deref().zip(crate_name()).map(|(test, krate)| match test.rsplit_once("::") {
            Some((modules, _)) => format!("{krate}::{modules}"),
            None => krate,
        });
        let (file, line) = (caller.file(), caller.line());
        TestIdentity { test, module, file, package: None, line, number: 0 }.numbered()
    }

    fn numbered(self) -> TestIdentity {
        static BEGUN: Mutex<BTreeMap<String, u32>> = Mutex::new(BTreeMap::new());
        let mut begun = BEGUN.lock().unwrap_or_else(PoisonError::into_inner);
        let number = begun.entry(self.full_name()).or_default();
        *number += 1;
        TestIdentity { number: *number, ..self }
    }

    /// What to call the test among those of all crates.
    pub(super) fn full_name(&self) -> String {
        let function = self.test.as_deref().map(|test| test.rsplit("::").next().unwrap_or(test));
        let full =
            self.module.as_deref().zip(function).map(|(module, function)| format!("{module}::{function}"));
        full.unwrap_or_else(|| self.name())
    }

    /// Where the check is, `file:line`.
    pub(super) fn place(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }

    /// Which check it is of those of the test, from 1, in the order in which this process begins them.
    pub(super) fn number(&self) -> u32 {
        self.number
    }

    /// What to call it.
    pub(super) fn name(&self) -> String {
        self.test.clone().unwrap_or_else(|| format!("the closure at {}", self.place()))
    }

    /// Where its failures are saved; none if it is not known enough for that.
    pub(super) fn store(&self, regressions: &Regressions) -> Option<Store> {
        let test = self.test.as_deref()?;
        match regressions {
            Regressions::Off => None,
            Regressions::File(file) => Some(Store::new(file.clone(), file, test)),
            Regressions::BesideTest => {
                let (source, module) = (source::find(self.file, self.package)?, self.module.as_deref()?);
                let shown = Store::beside(Path::new(self.file), module)?;
                Some(Store::new(Store::beside(&source, module)?, &shown, test))
            }
        }
    }
}

/// The name of the crate that is tested: that of the program, which cargo gives a hash behind.
fn crate_name() -> Option<String> {
    static NAME: OnceLock<Option<String>> = OnceLock::new();
    let find = || {
        let program = std::env::current_exe().ok()?;
        without_hash(program.file_stem()?.to_str()?)
    };
    NAME.get_or_init(find).clone()
}

fn without_hash(program: &str) -> Option<String> {
    let (name, hash) = program.rsplit_once('-')?;
    let is_hash = hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| name.replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use std::panic::Location as Caller;

    use super::*;

    #[test]
    fn the_name_of_a_crate_is_that_of_its_tests() {
        assert_eq!(without_hash("bank-0123456789abcdef").as_deref(), Some("bank"));
        assert_eq!(without_hash("my-bank-0123456789abcdef").as_deref(), Some("my_bank"));
        assert_eq!(without_hash("my-bank"), None);
    }

    #[test]
    fn a_declared_test_is_called_as_the_harness_calls_it() {
        let name = |module| {
            let declared = DeclaredTest { function: "lost", module, file: "f.rs", package: "" };
            TestIdentity::new(Some(declared), Caller::caller()).name()
        };
        assert_eq!(name("bank"), "lost");
        assert_eq!(name("bank::account::tests"), "account::tests::lost");
    }

    #[test]
    fn another_test_is_called_as_its_thread() {
        let identity = TestIdentity::new(None, Caller::caller());
        assert_eq!(identity.name(), "checker::test_identity::tests::another_test_is_called_as_its_thread");
        assert_eq!(identity.module.as_deref(), Some("mazurka::checker::test_identity::tests"));
    }
}
