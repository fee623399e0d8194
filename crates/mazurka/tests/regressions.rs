//! Failures are saved, and run first the next time.

use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use mazurka::sync::Arc;
use mazurka::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use mazurka::{Checker, Regressions, thread};

/// A directory of its own, which is gone in the end.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Directory {
        let path = std::env::temp_dir().join(format!("mazurka-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Directory(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("saved.txt")
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Two threads that each add 1 in two steps; one execution in four is fine, and in none is the sum `never`.
fn add(never: usize) {
    let x = Arc::new(AtomicUsize::new(0));
    let other = x.clone();
    let adder = thread::spawn(move || other.store(other.load(SeqCst) + 1, SeqCst));
    x.store(x.load(SeqCst) + 1, SeqCst);
    adder.join().unwrap();
    assert_ne!(x.load(SeqCst), never, "the sum\nis wrong");
}

fn checker(file: &Path) -> Checker {
    Checker::new().name("adding").regressions(file.to_owned())
}

fn lines(file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
}

#[test]
fn a_failure_is_saved_once_and_run_first() {
    let directory = Directory::new("saved");
    let file = directory.file();
    let report = checker(&file).run(|| add(1));
    let saved = "regressions::a_failure_is_saved_once_and_run_first v1:0*2,0.0*2,0*3 # assertion `left != right` failed: the sum is \
                 wrong left: 1 right: 1";
    assert_eq!(lines(&file), [saved]);
    let text = report.text();
    assert!(
        text.ends_with(&format!("saved:  {} (it is run first the next time)\n", file.display())),
        "{text}"
    );
    // The next time nothing else is run, and nothing is saved again.
    let again = checker(&file).run(|| add(1));
    let text = again.text();
    assert!(text.starts_with("failure: assertion in adding (replay; sequential consistency)\n"), "{text}");
    let note =
        format!("\nnote: the failure saved in {}:3 was run first, and is still there\n", file.display());
    assert!(text.contains(&note), "{text}");
    assert!(!text.contains("saved:  "), "{text}");
    assert_eq!(again.executions(), 1);
    assert_eq!(lines(&file).len(), 1);
}

#[test]
fn a_failure_that_is_gone_stays_saved_and_the_search_goes_on() {
    let directory = Directory::new("gone");
    let file = directory.file();
    assert_eq!(checker(&file).run(|| add(1)).failures().len(), 1);
    let fixed = checker(&file).run(|| add(3));
    assert!(fixed.is_pass(), "{fixed}");
    assert_eq!(fixed.executions(), 4);
    assert_eq!(lines(&file).len(), 1);
    // Nor does one matter that does not fit any more.
    let other = checker(&file).run(|| assert_eq!(AtomicUsize::new(0).load(SeqCst), 0));
    assert!(other.is_pass() && other.executions() == 1, "{other}");
    // Another failure is found by the search, and saved beside the first.
    let report = checker(&file).run(|| add(2));
    assert_eq!(report.failures().len(), 1, "{report}");
    assert_eq!(lines(&file).len(), 2, "{:?}", lines(&file));
}

/// Whether the drop of an `Arc` is a step shows only when somebody comes to depend on it.
fn who_drops_last() {
    struct Setter(Arc<AtomicUsize>);
    impl Drop for Setter {
        fn drop(&mut self) {
            self.0.store(1, SeqCst);
        }
    }
    let flag = Arc::new(AtomicUsize::new(0));
    let shared = Arc::new(Setter(flag.clone()));
    let other = shared.clone();
    let dropper = thread::spawn(move || drop(other));
    drop(shared);
    assert_eq!(flag.load(SeqCst), 1, "the other drops last");
    dropper.join().unwrap();
}

#[test]
fn a_schedule_is_found_again_whatever_was_found_out_before_it() {
    let directory = Directory::new("found-out");
    let file = directory.file();
    let report = checker(&file).run(who_drops_last);
    assert_eq!(report.failures().next().unwrap().kind(), "assertion", "{report}");
    let schedule = report.failures().next().unwrap().schedule().unwrap();
    let again = checker(&file).run(who_drops_last);
    assert!(again.text().starts_with("failure: assertion in adding (replay;"), "{again}");
    let replayed = Checker::new().replay(schedule).run(who_drops_last);
    assert_eq!(replayed.failures().len(), 1, "{replayed}");
}

#[test]
fn the_failures_of_other_tests_are_left_alone() {
    let directory = Directory::new("others");
    let file = directory.file();
    std::fs::write(&file, "another_test v1:0*2,0.0*2,0*3 # it fails").unwrap();
    let report = checker(&file).run(|| add(1));
    assert!(report.text().starts_with("failure: assertion in adding (optimal;"), "{report}");
    let lines = lines(&file);
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(
        lines[0].starts_with("another_test ") && lines[1].starts_with("regressions::the_failures_of_other"),
        "{lines:?}"
    );
}

#[test]
fn a_corrupt_file_is_no_failure() {
    let directory = Directory::new("corrupt");
    let file = directory.file();
    std::fs::write(
        &file,
        b"a_corrupt_file_is_no_failure v1:0,x\n\xff\xfe v9\na_corrupt_file_is_no_failure\n",
    )
    .unwrap();
    assert!(checker(&file).run(|| add(3)).is_pass());
    // Nor is one that can be neither read nor written.
    assert!(checker(&directory.0).run(|| add(3)).is_pass());
    let report = checker(&directory.0).run(|| add(1));
    assert_eq!(report.failures().len(), 1);
    assert!(!report.text().contains("saved:"), "{report}");
}

#[test]
fn a_declared_test_saves_beside_its_source() {
    let directory = Directory::new("beside");
    let package: &'static str = directory.0.to_str().unwrap().to_owned().leak();
    std::fs::create_dir_all(directory.0.join("tests")).unwrap();
    std::fs::write(directory.0.join("tests/bank.rs"), "").unwrap();
    let declared = || Checker::declared("adding", "bank::sums", "tests/bank.rs", package);
    let panicked = catch_unwind(|| declared().check(|| add(1)));
    let message = panicked.unwrap_err().downcast::<String>().unwrap();
    assert!(message.contains(" cargo test sums::adding -- --exact\n"), "{message}");
    let file = directory.0.join("tests/mazurka-regressions/bank.sums.txt");
    assert!(lines(&file)[0].starts_with("sums::adding v1:"), "{:?}", lines(&file));
    // To run is not to save, unless told so; nor to check, if told not to.
    std::fs::remove_file(&file).unwrap();
    assert_eq!(declared().run(|| add(1)).failures().len(), 1);
    assert!(!file.exists());
    catch_unwind(|| declared().regressions(false).check(|| add(1))).unwrap_err();
    assert!(!file.exists());
    assert_eq!(declared().regressions(Regressions::BesideTest).run(|| add(1)).failures().len(), 1);
    assert!(file.exists());
}

#[test]
fn tests_that_fail_beside_each_other_share_a_file() {
    let directory = Directory::new("shared");
    let file = directory.file();
    let failing: Vec<_> = (0..8)
        .map(|number| {
            let checker = checker(&file);
            let thread = std::thread::Builder::new().name(format!("test {number}"));
            thread.spawn(move || assert_eq!(checker.run(|| add(1)).failures().len(), 1)).unwrap()
        })
        .collect();
    for thread in failing {
        thread.join().unwrap();
    }
    let mut names: Vec<String> =
        lines(&file).iter().map(|line| line.split(' ').next().unwrap().to_owned()).collect();
    names.sort_unstable();
    assert_eq!(names, (0..8).map(|number| format!("test_{number}")).collect::<Vec<_>>());
}
