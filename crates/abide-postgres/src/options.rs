//! What can be chosen about a PostgreSQL store.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use abide_host::{SystemClock, SystemEntropy};
use abide_model::{Clock, Entropy};

use crate::connect::Target;
use crate::node::patience::STATEMENT_TIMEOUT;
use crate::schema::{DEFAULT_SCHEMA, Schema};
use crate::{OpenError, PostgresProvider};

/// How many connections do the ordinary work of a node if nobody says otherwise.
const CONNECTIONS: usize = 4;

/// How often a node looks for work that nobody told it of.
const SAFETY_POLL: Duration = Duration::from_secs(5);

/// How many rows of deleted instances one transaction removes, unless a test wants fewer.
const REMOVAL_ROWS: u32 = 2_048;

/// A store to be opened. The defaults are right for almost everybody.
///
/// ```no_run
/// # async fn open() -> Result<(), abide_postgres::OpenError> {
/// use abide_postgres::PostgresProvider;
///
/// let store = PostgresProvider::builder("postgres://app:secret@db.internal/shop?sslmode=verify-full")
///     .schema("orders")
///     .connections(8)
///     .open()
///     .await?;
/// # drop(store);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use]
pub struct PostgresBuilder {
    url: String,
    listen_url: Option<String>,
    schema: String,
    connections: usize,
    safety_poll: Duration,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    removal_rows: u32,
    statement_timeout: Duration,
}

/// What was chosen.
pub(crate) struct Settings {
    pub(crate) target: Target,
    pub(crate) listen_target: Target,
    pub(crate) connections: usize,
    pub(crate) safety_poll: Duration,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    /// How many rows of deleted instances one transaction removes.
    pub(crate) removal_rows: u32,
    /// When the server cancels a statement, unless the call needs more time.
    pub(crate) statement_timeout: Duration,
}

impl PostgresBuilder {
    pub(crate) fn new(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            listen_url: None,
            schema: DEFAULT_SCHEMA.to_owned(),
            connections: CONNECTIONS,
            safety_poll: SAFETY_POLL,
            clock: Arc::new(SystemClock::new()),
            entropy: Arc::new(SystemEntropy),
            removal_rows: REMOVAL_ROWS,
            statement_timeout: STATEMENT_TIMEOUT,
        }
    }

    /// The schema that holds everything; `abide` if not set. It is created if it is missing. Nothing outside it is touched.
    pub fn schema(mut self, name: &str) -> Self {
        name.clone_into(&mut self.schema);
        self
    }

    /// How many connections do the ordinary work of this node; 4 if not set, and 1 is enough. They are opened when they are needed. Two more
    /// are always there: one for renewing leases, one for notices between nodes.
    pub fn connections(mut self, count: usize) -> Self {
        self.connections = count;
        self
    }

    /// Where to listen for notices, if the other connections go through a pooler that cannot (`LISTEN` needs a session of its own).
    pub fn listen_url(mut self, url: &str) -> Self {
        self.listen_url = Some(url.to_owned());
        self
    }

    /// How often to look for work that nobody told this node of; 5 s if not set. Notices come within milliseconds: this is for those that
    /// got lost, and for leases of nodes that died.
    pub fn safety_poll(mut self, every: Duration) -> Self {
        self.safety_poll = every;
        self
    }

    /// What waiting is measured with. Leases and visibility are judged by the server's clock.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Where lease tokens come from.
    pub fn entropy(mut self, entropy: Arc<dyn Entropy>) -> Self {
        self.entropy = entropy;
        self
    }

    /// How many rows of deleted instances one transaction removes. For tests.
    #[doc(hidden)]
    pub fn removal_rows(mut self, rows: u32) -> Self {
        self.removal_rows = rows;
        self
    }

    /// When the server cancels a statement, unless it carries much. For tests.
    #[doc(hidden)]
    pub fn statement_timeout(mut self, timeout: Duration) -> Self {
        self.statement_timeout = timeout;
        self
    }

    /// Opens it. The schema is created, or brought up to date, if need be; if several nodes do that at once, one does it and the others wait.
    ///
    /// # Errors
    ///
    /// If the server cannot be reached or is too old, or the schema is not abide's or was written by a newer version.
    pub async fn open(self) -> Result<PostgresProvider, OpenError> {
        let schema = Schema::new(&self.schema)?;
        let settings = self.settings()?;
        PostgresProvider::open(settings, schema).await
    }

    fn settings(self) -> Result<Settings, OpenError> {
        let target = Target::parse(&self.url)?;
        let listen_target = self.listen_url.as_deref().map_or_else(|| Ok(target.clone()), Target::parse)?;
        if self.connections == 0 {
            let reason = "without a connection nothing can be done";
            return Err(OpenError::Setting { setting: "connections", value: "0".to_owned(), reason });
        }
        if self.safety_poll.is_zero() {
            let reason = "looking all the time leaves no time for anything else";
            return Err(OpenError::Setting { setting: "safety_poll", value: "0".to_owned(), reason });
        }
        let Self { connections, safety_poll, clock, entropy, removal_rows, statement_timeout, .. } = self;
        Ok(Settings {
            target,
            listen_target,
            connections,
            safety_poll,
            clock,
            entropy,
            removal_rows,
            statement_timeout,
        })
    }
}

impl fmt::Debug for PostgresBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the URL, which may hold a password.
        f.debug_struct("PostgresBuilder")
            .field("schema", &self.schema)
            .field("connections", &self.connections)
            .field("safety_poll", &self.safety_poll)
            .finish_non_exhaustive()
    }
}
