//! The C programs of `bench/c` beside other checkers of C, if they are installed: how many executions each
//! explores, how many in a second, and the ratio. All run one after the other, under sequential consistency,
//! each as a command of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// No search is waited for longer.
const PATIENCE: Duration = Duration::from_secs(300);

/// A program, with the options that say how large it is.
struct Row {
    program: &'static str,
    flags: &'static [&'static str],
}

const ROWS: [Row; 8] = [
    Row { program: "lastwrite", flags: &["-DN=7"] },
    Row { program: "lastwrite", flags: &["-DN=8"] },
    Row { program: "floating_read", flags: &["-DN=7"] },
    Row { program: "fib_bench", flags: &["-DN=4"] },
    Row { program: "fib_bench", flags: &["-DN=5", "-DJOINED"] },
    Row { program: "lamport", flags: &["-DN=3"] },
    Row { program: "opt_lock", flags: &["-DN=6"] },
    Row { program: "lastzero", flags: &["-DN=10"] },
];

/// A checker: its command, what comes before and after the program's options, and how it tells what it did.
struct Peer {
    name: &'static str,
    command: &'static str,
    before: &'static [&'static str],
    between: &'static [&'static str],
    count: fn(&str) -> Option<u64>,
}

const PEERS: [Peer; 2] = [
    Peer {
        name: "Nidhugg",
        command: "nidhuggc",
        before: &[],
        between: &["--", "--sc", "--optimal"],
        count: |text| number_after(text, "Trace count:"),
    },
    Peer {
        name: "GenMC",
        command: "genmc",
        before: &["-sc", "-disable-race-detection", "--"],
        between: &[],
        count: |text| number_after(text, "Number of complete executions explored:"),
    },
];

/// The number behind a word, in the last line that has it.
fn number_after(text: &str, word: &str) -> Option<u64> {
    let (_, rest) = text.lines().rev().find_map(|line| line.split_once(word))?;
    let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// The seconds that a search took, as both tools tell them.
fn seconds_told(text: &str) -> Option<f64> {
    let (_, rest) = text.lines().rev().find_map(|line| line.split_once("Total wall-clock time:"))?;
    rest.trim().trim_end_matches('s').trim_end().parse().ok()
}

/// What a search came to.
struct Run {
    executions: u64,
    seconds: f64,
}

impl Run {
    fn rate(&self) -> f64 {
        self.executions as f64 / self.seconds.max(1e-9)
    }

    fn text(&self) -> String {
        format!("{:>8} {:>9.3} s {:>10.0}/s", self.executions, self.seconds, self.rate())
    }
}

/// Prints the table.
///
/// # Errors
/// If our own command is not there, or does not do what it should.
pub fn table() -> Result<(), String> {
    let own = own_command()?;
    let (there, missing): (Vec<&Peer>, Vec<&Peer>) = PEERS.iter().partition(|peer| is_there(peer.command));
    for peer in missing {
        println!("{} is not compared: there is no command `{}`", peer.name, peer.command);
    }
    print!("{:<30} {:>34}", "program", "mazurka optimal");
    for peer in &there {
        print!("   {:>34} {:>8}", peer.name, "ratio");
    }
    println!();
    for row in &ROWS {
        let ours = own_run(&own, row)?;
        print!("{:<30} {}", format!("{} {}", row.program, row.flags.join(" ")), ours.text());
        for peer in &there {
            match peer_run(peer, row) {
                Ok(run) => print!("   {} {:>7.1}x", run.text(), ours.rate() / run.rate().max(1e-9)),
                Err(why) => print!("   {why:>34} {:>8}", "-"),
            }
        }
        println!();
    }
    println!("Times are those of the searches, as each tool tells them.");
    Ok(())
}

fn is_there(command: &str) -> bool {
    Command::new(command).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

/// The command `mazurka` of the same build.
fn own_command() -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| format!("this program is nowhere: {error}"))?;
    let command = own.with_file_name("mazurka");
    if command.exists() {
        return Ok(command);
    }
    Err(format!("there is no {}: build it first (cargo build --release -p mazurka-cli)", command.display()))
}

fn source(row: &Row) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("c").join(format!("{}.c", row.program))
}

fn own_run(command: &Path, row: &Row) -> Result<Run, String> {
    let mut command = Command::new(command);
    command.arg("check").arg(source(row)).args(["--json", "--", "--races=sc"]).args(row.flags);
    let output = limited(command).map_err(|why| format!("mazurka: {why}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let field = |name: &str| {
        let (_, rest) = text.split_once(&format!("\"{name}\":"))?;
        rest.split([',', '}']).next()?.parse::<f64>().ok()
    };
    match (field("executions"), field("seconds"), output.status.code()) {
        (Some(executions), Some(seconds), Some(0)) => Ok(Run { executions: executions as u64, seconds }),
        _ => Err(format!("{}: {}{text}", row.program, String::from_utf8_lossy(&output.stderr))),
    }
}

fn peer_run(peer: &Peer, row: &Row) -> Result<Run, String> {
    let mut command = Command::new(peer.command);
    command.args(peer.before).args(row.flags).args(peer.between).arg(source(row));
    let begin = Instant::now();
    let output = limited(command)?;
    let whole = begin.elapsed().as_secs_f64();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let seconds = seconds_told(&text).filter(|&seconds| seconds > 0.0).unwrap_or(whole);
    match (peer.count)(&text) {
        Some(executions) => Ok(Run { executions, seconds }),
        None => Err("no count".to_owned()),
    }
}

/// Runs a command to its end, or ends it.
fn limited(mut command: Command) -> Result<Output, String> {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| error.to_string())?;
    let begin = Instant::now();
    // What is printed is less than a pipe holds: a verdict.
    while child.try_wait().map_err(|error| error.to_string())?.is_none() {
        if begin.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!("over {} s", PATIENCE.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    child.wait_with_output().map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_others_are_read() {
        let nidhugg = "Trace count: 5040\nNo errors were detected.\n";
        assert_eq!((PEERS[0].count)(nidhugg), Some(5040));
        let genmc = "*** Verification complete. No errors were detected.\nNumber of complete executions explored: 24\n\
                     Total wall-clock time: 0.02s\n";
        assert_eq!((PEERS[1].count)(genmc), Some(24));
        assert_eq!((PEERS[1].count)("nothing"), None);
        assert_eq!((seconds_told(genmc), seconds_told(nidhugg)), (Some(0.02), None));
        assert_eq!(seconds_told("Total wall-clock time: 0.39 s\n"), Some(0.39));
    }

    #[test]
    fn programs_are_there() {
        assert!(ROWS.iter().all(|row| source(row).exists()));
    }
}
