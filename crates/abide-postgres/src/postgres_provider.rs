//! Opening a store, and looking at it from outside the contract.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use abide_provider::{Operation, StoreError};
use futures_channel::oneshot;
use futures_util::future::select;
use tokio_postgres::Row;

use crate::connect::SETTINGS;
use crate::error::OpenError;
use crate::node::Node;
use crate::node::batch::{Batched, Key, Waiting};
use crate::node::call::{Call, Caller, Statement, Values};
use crate::node::desk::{Place, Wanted};
use crate::node::patience::{Patience, patience};
use crate::options::{PostgresBuilder, Settings};
use crate::prepare::prepare_here;
use crate::schema::{InvalidSchema, Schema};
use crate::shared::Shared;
use crate::statements::Sql;

/// Whoever opens a store waits so long for its first connection.
const FIRST_CONNECTION: Duration = Duration::from_secs(2);

/// A store in a schema of a PostgreSQL database, version 14 or newer. Any number of nodes may share it.
///
/// Dropping it ends its connections once what was begun is done. Leases that are still held run out by themselves.
pub struct PostgresProvider {
    pub(crate) shared: Arc<Shared>,
    _node: Node,
}

impl PostgresProvider {
    /// Opens the schema `abide` of the database at `postgres://user:password@host:port/database`. It is created if it is missing.
    ///
    /// # Errors
    ///
    /// If the server cannot be reached or is too old, or the schema is not abide's or was written by a newer version.
    pub async fn new(database_url: &str) -> Result<Self, OpenError> {
        Self::builder(database_url).open().await
    }

    /// The same in another schema.
    ///
    /// # Errors
    ///
    /// As with [`new`](Self::new), and if the name cannot be that of a schema.
    pub async fn new_with_schema(database_url: &str, schema: Option<&str>) -> Result<Self, OpenError> {
        let builder = Self::builder(database_url);
        match schema {
            Some(schema) => builder.schema(schema).open().await,
            None => builder.open().await,
        }
    }

    /// The same with a choice of schema, connections and more.
    pub fn builder(database_url: &str) -> PostgresBuilder {
        PostgresBuilder::new(database_url)
    }

    pub(crate) async fn open(settings: Settings, schema: Schema) -> Result<Self, OpenError> {
        let shared = Arc::new(Shared::new(settings, schema));
        let mine = Arc::clone(&shared);
        let (reply, opened) = oneshot::channel();
        // Connecting needs an async runtime of our own: the caller's may be another, or none.
        std::thread::Builder::new()
            .name("abide-open".to_owned())
            .spawn(move || {
                let _unheard = reply.send(prepare_here(&mine));
            })
            .map_err(OpenError::Thread)?;
        let stopped = || OpenError::Thread(std::io::Error::other("the thread that opens it stopped"));
        opened.await.map_err(|_| stopped())??;
        let (node, is_ready) = Node::start(&shared)?;
        // A server that has gone away since is no reason not to open: it may come back.
        let clock = &*shared.settings.clock;
        select(is_ready, clock.sleep_until(clock.monotonic().saturating_add(FIRST_CONNECTION))).await;
        Ok(Self { shared, _node: node })
    }

    /// The schema that holds everything.
    #[must_use]
    pub fn schema(&self) -> &str {
        self.shared.schema.name()
    }

    /// How much is in each table, for people. Shows no payloads.
    pub async fn debug_dump(&self) -> String {
        const TABLES: [&str; 7] =
            ["mailbox", "message", "work", "session", "turn", "execution", "dead_letter"];
        match self.one_row(Operation::Read, Sql::TableSizes, Vec::new()).await {
            Ok(row) => {
                let line =
                    |(place, table): (usize, &&str)| format!("{table}: {}\n", row.get::<_, i64>(place));
                TABLES.iter().enumerate().map(line).collect()
            }
            Err(error) => error.to_string(),
        }
    }

    /// Whether a call that found nothing to lease waits for something. For tests of what wakes it.
    #[doc(hidden)]
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        self.calls_waiting() > 0
    }

    /// How many such calls there are.
    #[doc(hidden)]
    #[must_use]
    pub fn calls_waiting(&self) -> usize {
        self.shared.waiters.count_waiting()
    }

    /// Whether what other nodes tell is heard. For tests of what they tell.
    #[doc(hidden)]
    #[must_use]
    pub fn is_listening(&self) -> bool {
        self.shared.is_listening.load(Ordering::Acquire)
    }

    /// Whether no other node is there, as far as this one knows, and nobody is told anything. For tests of that.
    #[doc(hidden)]
    #[must_use]
    pub fn is_alone(&self) -> bool {
        self.shared.outbox.is_silent()
    }

    /// How often each statement was sent. For tests that pin costs.
    #[doc(hidden)]
    #[must_use]
    pub fn statements_sent(&self) -> Vec<(&'static str, u64)> {
        self.shared.counts.statements()
    }

    /// What every connection begins with. For tests that measure what a statement costs.
    #[doc(hidden)]
    #[must_use]
    pub const fn session_settings() -> &'static str {
        SETTINGS
    }

    /// The texts of all statements, by name, for a schema. For tests that ask for their plans.
    ///
    /// # Errors
    ///
    /// If the name cannot be that of a schema.
    #[doc(hidden)]
    pub fn statement_texts(schema: &str) -> Result<Vec<(&'static str, String)>, InvalidSchema> {
        let texts = crate::statements::Texts::of(&Schema::new(schema)?);
        Ok(Sql::ALL.iter().map(|sql| (sql.name(), texts.get(*sql).to_owned())).collect())
    }

    /// Puts something on the desk, and waits for its answer.
    pub(crate) async fn run<B: Batched>(&self, operation: Operation, what: B) -> Result<B::Answer, StoreError>
    where
        Waiting<B>: Wanted,
    {
        let (waiting, reply) = Waiting::new(operation, what, self.shared.settings.clock.monotonic());
        self.shared.desk.put([waiting]);
        answer_of(operation, reply).await
    }

    /// The same for many, together; what has the same key, or is too much for one call, one after the other.
    pub(crate) async fn run_all<B: Batched>(
        &self,
        operation: Operation,
        all: Vec<Result<B, StoreError>>,
    ) -> Vec<Result<B::Answer, StoreError>>
    where
        Waiting<B>: Wanted,
    {
        let mut answers: Vec<Option<Result<B::Answer, StoreError>>> = Vec::new();
        answers.resize_with(all.len(), || None);
        let mut left: Vec<(usize, B)> = Vec::with_capacity(all.len());
        for (place, what) in all.into_iter().enumerate() {
            match what {
                Ok(what) => left.push((place, what)),
                Err(error) => answers[place] = Some(Err(error)),
            }
        }
        while !left.is_empty() {
            // In their order, up to the first that must wait for one before it.
            let count = independent(&left);
            let later = left.split_off(count);
            let now = left;
            self.run_together(operation, now, &mut answers).await;
            left = later;
        }
        let missing = || Err(StoreError::unknown(operation, "no answer"));
        answers.into_iter().map(|answer| answer.unwrap_or_else(missing)).collect()
    }

    async fn run_together<B: Batched>(
        &self,
        operation: Operation,
        together: Vec<(usize, B)>,
        answers: &mut [Option<Result<B::Answer, StoreError>>],
    ) where
        Waiting<B>: Wanted,
    {
        let since = self.shared.settings.clock.monotonic();
        let mut replies = Vec::with_capacity(together.len());
        let submit = |(place, what)| {
            let (waiting, reply) = Waiting::new(operation, what, since);
            replies.push((place, reply));
            waiting
        };
        let waiting: Vec<Waiting<B>> = together.into_iter().map(submit).collect();
        self.shared.desk.put(waiting);
        for (place, reply) in replies {
            let answer = answer_of(operation, reply).await;
            if let Some(slot) = answers.get_mut(place) {
                *slot = Some(answer);
            }
        }
    }

    /// One call of a statement that everybody knows.
    pub(crate) async fn rows(
        &self,
        operation: Operation,
        sql: Sql,
        values: Values,
    ) -> Result<Vec<Row>, StoreError> {
        self.call(operation, Ask::of(sql), values).await
    }

    /// The same with one row in answer.
    pub(crate) async fn one_row(
        &self,
        operation: Operation,
        sql: Sql,
        values: Values,
    ) -> Result<Row, StoreError> {
        first_row(operation, sql, self.rows(operation, sql, values).await?)
    }

    /// The same for a call that carries so many bytes.
    pub(crate) async fn one_row_carrying(
        &self,
        operation: Operation,
        (sql, bytes): (Sql, usize),
        values: Values,
    ) -> Result<Row, StoreError> {
        let ask = Ask { patience: patience(sql).carrying(bytes), ..Ask::of(sql) };
        first_row(operation, sql, self.call(operation, ask, values).await?)
    }

    /// A statement that was put together for this call.
    pub(crate) async fn query(
        &self,
        operation: Operation,
        text: String,
        values: Values,
    ) -> Result<Vec<Row>, StoreError> {
        self.call(
            operation,
            Ask { place: Place::Ordinary, patience: Patience::LONG, statement: Statement::Text(text) },
            values,
        )
        .await
    }

    async fn call(&self, operation: Operation, ask: Ask, values: Values) -> Result<Vec<Row>, StoreError> {
        let Ask { place, patience, statement } = ask;
        let (reply, answer) = oneshot::channel();
        let since = self.shared.settings.clock.monotonic();
        let caller = Caller::Rows(reply);
        self.shared.desk.put([Call { operation, place, since, statement, values, patience, caller }]);
        answer_of(operation, answer).await
    }

    /// The same where it waits for nobody.
    pub(crate) async fn urgent_row(
        &self,
        operation: Operation,
        sql: Sql,
        values: Values,
    ) -> Result<Row, StoreError> {
        let rows = self.call(operation, Ask { place: Place::Renewals, ..Ask::of(sql) }, values).await?;
        first_row(operation, sql, rows)
    }
}

/// What is asked of the server, where, and for how long.
struct Ask {
    place: Place,
    patience: Patience,
    statement: Statement,
}

impl Ask {
    fn of(sql: Sql) -> Self {
        Self { place: Place::Ordinary, patience: patience(sql), statement: Statement::Known(sql) }
    }
}

fn first_row(operation: Operation, sql: Sql, rows: Vec<Row>) -> Result<Row, StoreError> {
    let missing = || StoreError::unknown(operation, format!("{} answered without a row", sql.name()));
    rows.into_iter().next().ok_or_else(missing)
}

/// How many of these, from the first on, do not depend on each other.
fn independent<B: Batched>(all: &[(usize, B)]) -> usize {
    let (mut keys, mut touched) = (BTreeSet::new(), BTreeSet::new());
    for (count, (_, what)) in all.iter().enumerate() {
        let is_touched = what.minds().is_some_and(|instance| touched.contains(instance));
        if count == B::MOST || is_touched || (what.key() != Key::Any && !keys.insert(what.key())) {
            return count;
        }
        touched.extend(what.touches());
    }
    all.len()
}

pub(crate) async fn answer_of<T>(
    operation: Operation,
    reply: oneshot::Receiver<Result<T, StoreError>>,
) -> Result<T, StoreError> {
    // The thread went away with the call in its hands.
    let stopped = || StoreError::unknown(operation, "the store stopped before it answered");
    reply.await.unwrap_or_else(|_| Err(stopped()))
}

impl fmt::Debug for PostgresProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresProvider").field("shared", &self.shared).finish_non_exhaustive()
    }
}
