//! A connection that is made again when it is lost, and statements that are said again when they could not be
//! heard.

use std::collections::HashMap;
use std::fmt;
use std::time::{Duration, Instant};

use postgres::error::{DbError, SqlState};
use postgres::{Client, IsolationLevel, Statement, Transaction};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::{Address, tls};

/// The first pause before something is tried again; each is twice as long, up to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LAST_PAUSE: Duration = Duration::from_secs(5);
/// The last one where somebody else was in the way, who is gone soon.
const LAST_STEP_ASIDE: Duration = Duration::from_millis(200);

/// A database that is not there when somebody comes is waited for so long: it may just be restarted.
const RESTART: Duration = Duration::from_secs(10);

/// Why the database did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreError(pub(crate) String);

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StoreError {}

/// A connection to the database.
pub(crate) struct Connection {
    address: Address,
    tls: MakeRustlsConnect,
    /// How long a database that is not there is waited for.
    patience: Duration,
    open: Option<Open>,
}

struct Open {
    client: Client,
    prepared: HashMap<&'static str, Statement>,
}

/// Statements of one transaction.
pub(crate) struct Batch<'a> {
    transaction: Transaction<'a>,
    prepared: &'a mut HashMap<&'static str, Statement>,
}

impl Connection {
    /// Connects. A database that does not let us in is told at once, one that is not there after a moment.
    pub fn new(address: &Address, patience: Duration) -> Result<Connection, StoreError> {
        let tls = tls::connector(&address.trust).map_err(StoreError)?;
        let mut connection = Connection { address: address.clone(), tls, patience, open: None };
        let started = Instant::now();
        while let Err(error) = connection.connect() {
            if !is_lost(&error) || started.elapsed() > RESTART {
                return Err(connection.told(&error));
            }
            std::thread::sleep(jittered(4 * FIRST_PAUSE));
        }
        Ok(connection)
    }

    fn connect(&mut self) -> Result<(), postgres::Error> {
        let client = self.address.config.connect(self.tls.clone())?;
        self.open = Some(Open { client, prepared: HashMap::new() });
        Ok(())
    }

    /// Does something in one transaction, again and again if the connection is lost or somebody else was in
    /// the way. What is done must not matter if it is done twice.
    pub fn transact<T>(
        &mut self,
        mut work: impl FnMut(&mut Batch<'_>) -> Result<T, postgres::Error>,
    ) -> Result<T, StoreError> {
        self.again(|open| {
            let transaction = open.client.transaction()?;
            let mut batch = Batch { transaction, prepared: &mut open.prepared };
            let result = work(&mut batch)?;
            batch.transaction.commit()?;
            Ok(result)
        })
    }

    /// Asks for several things as they were at one time.
    pub fn view<T>(
        &mut self,
        mut work: impl FnMut(&mut Batch<'_>) -> Result<T, postgres::Error>,
    ) -> Result<T, StoreError> {
        self.again(|open| {
            let builder = open.client.build_transaction().isolation_level(IsolationLevel::RepeatableRead);
            let transaction = builder.read_only(true).start()?;
            let mut batch = Batch { transaction, prepared: &mut open.prepared };
            let result = work(&mut batch)?;
            batch.transaction.commit()?;
            Ok(result)
        })
    }

    /// Says several statements without parameters.
    pub fn say(&mut self, statements: &str) -> Result<(), StoreError> {
        self.again(|open| open.client.batch_execute(statements))
    }

    fn again<T>(
        &mut self,
        mut work: impl FnMut(&mut Open) -> Result<T, postgres::Error>,
    ) -> Result<T, StoreError> {
        let (started, mut pause) = (Instant::now(), FIRST_PAUSE);
        loop {
            let result = match &mut self.open {
                Some(open) => work(open),
                None => self.connect().and_then(|()| work(self.open.as_mut().expect("it was opened"))),
            };
            let error = match result {
                Ok(result) => return Ok(result),
                Err(error) => error,
            };
            let is_lost = is_lost(&error) || self.open.as_ref().is_some_and(|open| open.client.is_closed());
            if is_lost {
                self.open = None;
            } else if !is_in_the_way(&error) {
                return Err(self.told(&error));
            }
            if started.elapsed() > self.patience {
                return Err(self.told(&error));
            }
            std::thread::sleep(jittered(pause));
            pause = (2 * pause).min(if is_lost { LAST_PAUSE } else { LAST_STEP_ASIDE });
        }
    }

    /// What went wrong, and where; never with a password.
    fn told(&self, error: &postgres::Error) -> StoreError {
        let address = &self.address;
        let why = match error.as_db_error() {
            Some(error) => db_words(error),
            None => {
                let mut words = error.to_string();
                let mut source = std::error::Error::source(error);
                while let Some(cause) = source {
                    let text = cause.to_string();
                    if !words.contains(&text) {
                        words += &format!(": {text}");
                    }
                    source = cause.source();
                }
                words
            }
        };
        StoreError(format!("{address}: {why}"))
    }
}

impl Batch<'_> {
    /// Says a statement, and gives the rows of the answer.
    pub fn query(
        &mut self,
        statement: &'static str,
        parameters: &[&(dyn postgres::types::ToSql + Sync)],
    ) -> Result<Vec<postgres::Row>, postgres::Error> {
        let prepared = self.prepared(statement)?;
        self.transaction.query(&prepared, parameters)
    }

    /// Says a statement, and gives how many rows it was about.
    pub fn execute(
        &mut self,
        statement: &'static str,
        parameters: &[&(dyn postgres::types::ToSql + Sync)],
    ) -> Result<u64, postgres::Error> {
        let prepared = self.prepared(statement)?;
        self.transaction.execute(&prepared, parameters)
    }

    fn prepared(&mut self, statement: &'static str) -> Result<Statement, postgres::Error> {
        if let Some(known) = self.prepared.get(statement) {
            return Ok(known.clone());
        }
        let prepared = self.transaction.prepare(statement)?;
        self.prepared.insert(statement, prepared.clone());
        Ok(prepared)
    }
}

fn db_words(error: &DbError) -> String {
    match error.code() {
        &SqlState::INVALID_PASSWORD => format!(
            "{}; the password is in the URL, or in the environment variable PGPASSWORD",
            error.message()
        ),
        _ => error.message().to_owned(),
    }
}

/// Whether there is no connection any more, or none yet.
fn is_lost(error: &postgres::Error) -> bool {
    let Some(error) = error.as_db_error() else {
        // Whatever the server did not say is of the connection, but for what we did wrong ourselves, and for a
        // certificate that we don't believe: it will be no other the next time.
        let io = std::error::Error::source(error).and_then(|why| why.downcast_ref::<std::io::Error>());
        return error.is_closed() || io.is_some_and(|why| why.kind() != std::io::ErrorKind::InvalidData);
    };
    let code = error.code();
    [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::TOO_MANY_CONNECTIONS,
    ]
    .contains(code)
        || code.code().starts_with("08")
}

/// Whether the same may go well when it is said again: somebody else was in the way.
fn is_in_the_way(error: &postgres::Error) -> bool {
    let passing = [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED];
    error.code().is_some_and(|code| passing.contains(code))
}

/// A pause of about so long, so that not all come back at once.
pub(crate) fn jittered(pause: Duration) -> Duration {
    pause.mul_f64(0.5 + (crate::random() % 1024) as f64 / 1024.0)
}
