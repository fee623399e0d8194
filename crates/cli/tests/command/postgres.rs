//! A PostgreSQL server of a test's own: in a directory of its own, on a socket there.

use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A server that runs, and is stopped when it is dropped.
pub struct Server {
    binaries: PathBuf,
    directory: PathBuf,
    /// The port of loopback on which it listens with TLS and passwords, if it does.
    pub port: Option<u16>,
    process: Child,
}

impl Server {
    /// Starts one; none, loudly, where there is no PostgreSQL.
    pub fn start(with_tls: bool) -> Option<Server> {
        let Some(binaries) = binaries() else {
            // What is printed by the macros is shown of tests that fail only; this is to be seen in any case.
            let missing = "NOT TESTED: there is no PostgreSQL here (Debian: apt-get install postgresql)";
            let _ = writeln!(std::io::stderr(), "{missing}");
            return None;
        };
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("mazurka-pg-{}-{}", std::process::id(), NUMBER.fetch_add(1, Relaxed));
        // The path of a socket is short.
        let directory = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&directory).unwrap();
        give(&directory);
        let data = directory.join("data");
        let mut initdb = as_user(&binaries.join("initdb"));
        initdb.args(["-A", "trust", "-U", "tester", "-D"]).arg(&data);
        let made = initdb.current_dir(&directory).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let port = with_tls.then(|| prepare_tls(&data));
        let process = spawn(&binaries, &directory, port);
        let mut server = Server { binaries, directory, port, process };
        server.wait_until_ready();
        Some(server)
    }

    /// How it is reached.
    pub fn url(&self) -> String {
        let port = self.port.unwrap_or(5432);
        format!("postgres://tester@/postgres?host={}&port={port}", self.directory.display())
    }

    /// Says something to it.
    pub fn say(&self, sql: &str) -> String {
        let port = self.port.unwrap_or(5432).to_string();
        let mut psql = Command::new(self.binaries.join("psql"));
        psql.args(["-X", "-A", "-t", "-U", "tester", "-d", "postgres", "-p", &port, "-c", sql, "-h"]);
        psql.arg(&self.directory);
        let said = psql.stdin(Stdio::null()).output().unwrap();
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        String::from_utf8(said.stdout).unwrap().trim().to_owned()
    }

    /// Stops it as a crash would, and starts it again.
    pub fn crash(&mut self) {
        self.stop();
        self.process = spawn(&self.binaries, &self.directory, self.port);
        self.wait_until_ready();
    }

    fn stop(&mut self) {
        // SIGQUIT is PostgreSQL's "immediate": no checkpoint, what was committed is recovered.
        let pid = self.process.id().to_string();
        let _ = Command::new("kill").args(["-QUIT", &pid]).status();
        let _ = self.process.wait();
    }

    fn wait_until_ready(&mut self) {
        let started = Instant::now();
        loop {
            let mut ready = Command::new(self.binaries.join("pg_isready"));
            let port = self.port.unwrap_or(5432).to_string();
            ready.args(["-q", "-p", &port, "-h"]).arg(&self.directory);
            if ready.status().unwrap().success() {
                return;
            }
            let log = std::fs::read_to_string(self.directory.join("log")).unwrap_or_default();
            assert!(started.elapsed() < Duration::from_secs(60), "the server does not start: {log}");
            assert!(self.process.try_wait().unwrap().is_none(), "the server has ended: {log}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn spawn(binaries: &Path, directory: &Path, port: Option<u16>) -> Child {
    let mut postgres = as_user(&binaries.join("postgres"));
    postgres.arg("-D").arg(directory.join("data")).arg("-k").arg(directory);
    match port {
        Some(port) => {
            postgres.args(["-c", "listen_addresses=127.0.0.1", "-c", &format!("port={port}"), "-c", "ssl=on"])
        }
        None => postgres.args(["-c", "listen_addresses="]),
    };
    let log = std::fs::File::create(directory.join("log")).unwrap();
    postgres.current_dir(directory).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap()
}

/// Has the server show a certificate, and ask for passwords on loopback.
fn prepare_tls(data: &Path) -> u16 {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for name in ["server.crt", "server.key"] {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tls").join(name);
        let to = data.join(name);
        std::fs::copy(from, &to).unwrap();
        give(&to);
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&to, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    let access = "local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n";
    std::fs::write(data.join("pg_hba.conf"), access).unwrap();
    port
}

/// Where the programs are that make and run a server.
fn binaries() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok();
    let of_debian = versions.into_iter().flatten().flatten().map(|version| version.path().join("bin"));
    let of_path = std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect::<Vec<_>>());
    let mut all = of_debian.chain(of_path.into_iter().flatten());
    all.find(|directory| directory.join("initdb").exists() && directory.join("postgres").exists())
}

/// PostgreSQL refuses to be run by root: somebody else does it then.
fn as_user(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "QUIT"]);
    if let Some((user, group)) = other_user() {
        command.args([format!("--reuid={user}"), format!("--regid={group}"), "--clear-groups".to_owned()]);
    }
    command.arg(program);
    command
}

fn give(path: &Path) {
    if let Some((user, group)) = other_user() {
        std::os::unix::fs::chown(path, Some(user), Some(group)).unwrap();
    }
}

fn other_user() -> Option<(u32, u32)> {
    let number = |arguments: &[&str]| {
        let output = Command::new("id").args(arguments).output().ok()?;
        String::from_utf8(output.stdout).ok()?.trim().parse::<u32>().ok()
    };
    if number(&["-u"]) != Some(0) {
        return None;
    }
    let of = |user: &str| Some((number(&["-u", user])?, number(&["-g", user])?));
    of("postgres").or_else(|| of("nobody"))
}
