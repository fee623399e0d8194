//! Whatever ends the command or its worker, nothing stays behind where temporary files go.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::{Place, is_interrupt_ignored};

/// A program whose search takes long.
pub(crate) const LONG: &str = "#include <pthread.h>
static void *work(void *unused) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  for (int i = 0; i < 50; i++) { pthread_mutex_lock(&mutex); pthread_mutex_unlock(&mutex); }
  return 0;
}
int main(void) {
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, work, 0);
  return 0;
}
";

fn start(place: &Place, temporary: &Path) -> Child {
    let mut command = place.command(&["check", "program.c"]);
    command.env("TMPDIR", temporary).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// The worker that a command has started, when there is one.
pub(crate) fn worker_of(command: u32) -> u32 {
    let begin = Instant::now();
    loop {
        let workers = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let id: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let words = std::fs::read(format!("/proc/{id}/cmdline")).ok()?;
            let words: Vec<&[u8]> = words.split(|&byte| byte == 0).collect();
            let parent = command.to_string();
            (words.get(1) == Some(&&b"native-worker"[..]) && words.get(3) == Some(&parent.as_bytes()))
                .then_some(id)
        });
        if let Some(worker) = workers.last() {
            return worker;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "no worker was started");
        std::thread::sleep(Duration::from_millis(2));
    }
}

pub(crate) fn send(signal: &str, process: u32) {
    assert!(Command::new("kill").args([signal, &process.to_string()]).status().unwrap().success());
}

fn entries(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

/// Until a condition holds, which must be soon.
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn nothing_stays_behind_whatever_ends_the_search() {
    let place = Place::new("native-leftovers", "program.c", LONG);
    let temporary = place.directory.join("temporary");
    std::fs::create_dir_all(&temporary).unwrap();
    for (signal, to_worker) in [
        ("-INT", false),
        ("-TERM", false),
        ("-KILL", false),
        ("-INT", true),
        ("-TERM", true),
        ("-KILL", true),
    ] {
        if signal == "-INT" && to_worker && is_interrupt_ignored() {
            // So it is in jobs of the background, which the worker takes after.
            continue;
        }
        let mut command = start(&place, &temporary);
        let worker = worker_of(command.id());
        send(signal, if to_worker { worker } else { command.id() });
        if signal == "-INT" && !to_worker {
            // A terminal sends it to both; here the worker is told that nobody waits any more.
            send("-KILL", command.id());
        }
        command.wait().unwrap();
        eventually("the worker does not end", || !Path::new(&format!("/proc/{worker}")).exists());
        assert_eq!(entries(&temporary), Vec::<String>::new(), "{signal} {to_worker}");
    }
}

/// Who is killed while the compiler runs leaves its directory to the next one, who removes it.
#[test]
fn what_a_killed_build_left_is_swept() {
    let place = Place::new("native-swept", "program.c", LONG);
    let temporary = place.directory.join("temporary");
    std::fs::create_dir_all(&temporary).unwrap();
    let mut command = start(&place, &temporary);
    eventually("nothing is built", || {
        entries(&temporary).iter().any(|name| name.starts_with("mazurka-build-"))
    });
    send("-KILL", command.id());
    command.wait().unwrap();
    std::fs::write(place.directory.join("other.c"), "int main(void) { return 0; }").unwrap();
    eventually("it is not swept", || {
        let status = place.command(&["check", "other.c"]).env("TMPDIR", &temporary).output().unwrap().status;
        assert_eq!(status.code(), Some(0));
        entries(&temporary).is_empty()
    });
}
