//! Opening a store, and looking at it from outside the contract.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use abide_model::Timestamp;
use abide_provider::{InstanceQuery, InvalidQuery, Operation, StoreError};
use futures_channel::oneshot;

use crate::connect::{Location, several_connections_are_safe};
use crate::error::OpenError;
use crate::job::{Kind, Phase, job, tell};
use crate::location;
use crate::options::{Settings, SqliteBuilder, SqliteOptions};
use crate::readers::Readers;
use crate::shared::Shared;
use crate::statements::Sql;
use crate::store::listing::Listing;
use crate::writer::{Request, Writer};

/// A store on a SQLite file, or in memory. Several processes may share a file if all of them link SQLite 3.51.3 or
/// newer, as the bundled one is with the newest rusqlite. With an older one a second process is refused with
/// [`OpenError::OtherProcess`].
///
/// Dropping it closes the database: what was acknowledged is on disk, leases still held are given up, and the files
/// beside the database are removed.
pub struct SqliteProvider {
    pub(crate) readers: Readers,
    pub(crate) writer: Writer,
    pub(crate) shared: Arc<Shared>,
}

impl SqliteProvider {
    /// Opens the database at `sqlite:path`, a bare path, or `sqlite::memory:`. The file and its folder are created if
    /// they are missing.
    ///
    /// # Errors
    ///
    /// If it cannot be opened, is not an abide database, or was written by a newer version. Nothing is changed then.
    pub async fn new(database_url: &str, _options: Option<SqliteOptions>) -> Result<Self, OpenError> {
        Self::builder(database_url).open().await
    }

    /// The same with a choice of durability, clock and entropy.
    pub fn builder(database_url: &str) -> SqliteBuilder {
        SqliteBuilder::new(database_url)
    }

    /// Opens a database that lives as long as this value.
    ///
    /// # Errors
    ///
    /// If SQLite cannot be started.
    pub async fn new_in_memory() -> Result<Self, OpenError> {
        Self::builder("sqlite::memory:").open().await
    }

    /// Opens a database that lives as long as this value.
    ///
    /// # Errors
    ///
    /// If SQLite cannot be started.
    pub async fn new_in_memory_with_options(_options: Option<SqliteOptions>) -> Result<Self, OpenError> {
        Self::new_in_memory().await
    }

    pub(crate) async fn open(database_url: &str, settings: Settings) -> Result<Self, OpenError> {
        let location = location::parse(database_url)?;
        if !several_connections_are_safe() {
            tracing::warn!(target: "abide::sqlite", version = rusqlite::version(),
                "this SQLite is older than 3.51.3: one connection does everything, and a second process is refused");
        }
        let (reply, opened) = oneshot::channel();
        // Opening waits for other processes and for the disk: not on the caller's thread.
        std::thread::Builder::new()
            .name("abide-open".to_owned())
            .spawn(move || {
                tell(reply, open_here(location, settings));
            })
            .map_err(OpenError::Thread)?;
        let stopped = || OpenError::Thread(std::io::Error::other("the thread that opens it stopped"));
        opened.await.map_err(|_| stopped())?
    }

    /// Copies the log into the database file, so that the file alone is complete once this store is dropped. Not a backup
    /// of a store in use: for that, use `VACUUM INTO` or SQLite's backup API.
    ///
    /// # Errors
    ///
    /// If somebody is reading (try again), or the disk fails.
    pub async fn checkpoint(&self) -> Result<(), StoreError> {
        let failed = |message: String| StoreError::not_applied(Operation::Checkpoint, message);
        self.shared.files.check().map_err(failed)?;
        let (reply, done) = oneshot::channel();
        self.writer.send(Request::Read(Box::new(move |statements| {
            let copied =
                statements.connection().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0));
            tell(reply, copied);
        })));
        match done.await {
            Ok(Ok(0)) => Ok(()),
            Ok(Ok::<i64, _>(_)) => Err(failed("somebody is reading: try again".to_owned())),
            Ok(Err(error)) => Err(failed(error.to_string())),
            Err(_) => Err(failed("the database is not open".to_owned())),
        }
    }

    /// How much is in each table, for people. Shows no payloads.
    pub async fn debug_dump(&self) -> String {
        const TABLES: [&str; 8] =
            ["mailbox", "message", "work", "session", "turn", "execution", "dead_letter", "owner"];
        let counted = self
            .readers
            .read(&self.writer, Operation::Read, |statements| {
                let count = |table| {
                    let query = format!("SELECT count(*) FROM {table}");
                    let count: i64 = statements.connection().query_row(&query, [], |row| row.get(0))?;
                    Ok(format!("{table}: {count}\n"))
                };
                TABLES.into_iter().map(count).collect::<rusqlite::Result<String>>()
            })
            .await;
        counted.unwrap_or_else(|error| error.to_string())
    }

    /// What leases say for the time: that at which they are handed over, not that of the grant. The caller counts from here, and if its
    /// thread was busy in between, its timers would be that much too early. And how far that is behind: it is rounded off.
    pub(crate) fn handed_over_at(&self) -> (Option<Timestamp>, Duration) {
        let clock = &self.shared.clock;
        let time = clock.wall();
        (Some(time), clock.wall_rounded_up().saturating_duration_since(time))
    }

    /// How many write transactions this store has begun. For tests that pin costs.
    #[must_use]
    pub fn transactions(&self) -> u64 {
        self.shared.counts.transactions.get()
    }

    /// How many commits waited for the disk: one fsync of the log each. For tests that pin costs.
    #[doc(hidden)]
    #[must_use]
    pub fn synced_commits(&self) -> u64 {
        self.shared.counts.synced_commits.get()
    }

    /// How often the log was copied into the file, which is a few more fsyncs each, mostly beside the writer. For tests that
    /// pin costs.
    #[doc(hidden)]
    #[must_use]
    pub fn log_copies(&self) -> u64 {
        self.shared.counts.log_copies.get()
    }

    /// Per statement of the writer: its name, how often it ran, and how many instructions that took. For tests that
    /// pin costs.
    #[doc(hidden)]
    pub async fn costs(&self) -> Vec<(&'static str, u64, u64)> {
        let (reply, seen) = oneshot::channel();
        self.writer.send(Request::Read(Box::new(move |statements| tell(reply, statements.costs()))));
        seen.await.unwrap_or_default()
    }

    /// Runs `look` on the writer's connection. For tests that look at rows, or damage them.
    #[doc(hidden)]
    pub async fn inspect<T: Send + 'static>(
        &self,
        look: impl FnOnce(&rusqlite::Connection) -> T + Send + 'static,
    ) -> Option<T> {
        let (reply, seen) = oneshot::channel();
        self.writer.send(Request::Read(Box::new(move |statements| {
            tell(reply, look(statements.connection()));
        })));
        seen.await.ok()
    }

    /// The texts of all statements, by name. For tests that ask for their plans.
    #[doc(hidden)]
    pub fn statement_texts() -> impl Iterator<Item = (&'static str, &'static str)> {
        Sql::ALL.iter().map(|sql| (sql.name(), sql.text()))
    }

    /// The text of the statement that answers a query. For tests that ask for its plan.
    #[doc(hidden)]
    pub fn listing_text(query: &InstanceQuery) -> Result<String, InvalidQuery> {
        Listing::of(query).map(Listing::into_text)
    }

    /// How many instructions a page takes. For tests that pin costs.
    #[doc(hidden)]
    pub async fn listing_cost(&self, query: InstanceQuery) -> Option<u64> {
        let listing = Listing::of(&query).ok()?;
        self.inspect(move |connection| listing.cost(connection)).await?.ok()
    }

    /// Looks for work that only the passing of time makes visible. For tests with a clock of their own.
    #[doc(hidden)]
    pub async fn nudge(&self) {
        let kind = Kind::lease(Operation::Housekeeping, Phase::Housekeeping);
        let nothing = job(kind, |_| Ok(()));
        self.writer.send(Request::Jobs(vec![nothing.job]));
        let _done = nothing.reply.await;
    }
}

fn open_here(location: Location, settings: Settings) -> Result<SqliteProvider, OpenError> {
    let location = match location {
        Location::Memory => Location::Memory,
        Location::File(path) => {
            location::create_folder(&path, settings.file_mode)?;
            Location::File(location::real_path(path))
        }
    };
    let shared = Arc::new(Shared::new(location, settings));
    let writer = Writer::start(Arc::clone(&shared))?;
    let readers = Readers::start(&shared)?;
    Ok(SqliteProvider { readers, writer, shared })
}

impl fmt::Debug for SqliteProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteProvider").field("location", &self.shared.location).finish_non_exhaustive()
    }
}
