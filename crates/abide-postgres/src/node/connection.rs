//! One connection: opened, set up, and used for one call at a time.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, select};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, Statement};

use super::sessions::{Occupied, Seat, TICK};
use crate::connect::{Driver, Purpose, connect, within};
use crate::error::CallError;
use crate::shared::Shared;
use crate::statements::Sql;

/// How long a call that serves the queues may take before it is given up.
pub(crate) const SHORT: Duration = Duration::from_secs(10);

/// The same for one that reads all there is of one instance.
const MIDDLING: Duration = Duration::from_secs(30);

/// The same for one that looks at everything, or deletes much.
pub(crate) const LONG: Duration = Duration::from_secs(120);

/// How long a statement may take before it is given up: while it is waited for, its connection serves nobody else.
pub(crate) const fn patience(sql: Sql) -> Duration {
    match sql {
        Sql::CountBlocked
        | Sql::CountDeleted
        | Sql::CountExecutions
        | Sql::CountInstances
        | Sql::CountRunning
        | Sql::DeleteInstances
        | Sql::DeleteUnborn
        | Sql::EndedChildren
        | Sql::EndedRoots
        | Sql::ListBlocked
        | Sql::ListByStatus
        | Sql::ListExecutions
        | Sql::ListNewest
        | Sql::PrunableInstances
        | Sql::PruneExecutions
        | Sql::QueueDepths
        | Sql::TableSizes
        | Sql::Tree => LONG,
        Sql::InstanceStats
        | Sql::KvLeased
        | Sql::KvMerged
        | Sql::ReadCurrent
        | Sql::ReadExecution
        | Sql::ReadLeased
        | Sql::ReadBlocks
        | Sql::RemovePart
        | Sql::RetryBlocked
        | Sql::RevokeWork => MIDDLING,
        Sql::AbandonInstances
        | Sql::AbandonWork
        | Sql::Alone
        | Sql::AnnounceNode
        | Sql::BlockInstance
        | Sql::Children
        | Sql::CommitOne
        | Sql::CommitTurns
        | Sql::CustomStatus
        | Sql::EnqueueMessages
        | Sql::StartOne
        | Sql::EnqueueWork
        | Sql::ExecutionInfo
        | Sql::FinishWork
        | Sql::ForgetNode
        | Sql::ForgetSessions
        | Sql::HoldWork
        | Sql::InstanceInfo
        | Sql::KvValue
        | Sql::LeaseInstances
        | Sql::LeaseWork
        | Sql::ListNodes
        | Sql::LostWork
        | Sql::NextMailboxDue
        | Sql::NextWorkDue
        | Sql::ReadOverview
        | Sql::ParentsOfStarts
        | Sql::ReadStatuses
        | Sql::ReleaseTombstones
        | Sql::RenewInstances
        | Sql::RenewSessions
        | Sql::RenewServedSessions
        | Sql::RenewWork
        | Sql::ServerTime
        | Sql::SetMessagesAside
        | Sql::SetWorkAside
        | Sql::Tell => SHORT,
    }
}

/// How often a call is made again at once because others were in its way.
pub(crate) const TRIES: usize = 8;

/// What a call carries.
pub(crate) type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// A connection that is ready for calls.
pub(crate) struct Connection<'s> {
    client: Client,
    _driver: Driver,
    prepared: RefCell<BTreeMap<Sql, Statement>>,
    is_broken: Cell<bool>,
    /// A call is past its deadline, and the server may still be at it.
    is_overdue: Cell<bool>,
    seat: Seat<'s>,
    shared: &'s Shared,
}

impl<'s> Connection<'s> {
    /// `None` if the node turns out to have as many sessions as it may have.
    pub(crate) async fn open(
        shared: &'s Shared,
        purpose: Purpose,
        seat: Seat<'s>,
    ) -> Result<Option<Self>, CallError> {
        let clock = &*shared.settings.clock;
        let (client, driver) = connect(&shared.settings.target, &shared.schema, purpose, clock, None).await?;
        if within(clock, SHORT, seat.occupy(&client, shared)).await? == Occupied::TooMany {
            return Ok(None);
        }
        let (prepared, is_broken, is_overdue) = (RefCell::default(), Cell::new(false), Cell::new(false));
        let connection = Self { client, _driver: driver, prepared, is_broken, is_overdue, seat, shared };
        if purpose == Purpose::Work {
            connection.rehearse().await?;
        }
        Ok(Some(connection))
    }

    /// What a session does for the first time takes long: that is done before anybody waits for it. One that cannot rehearse is as good,
    /// and only slower at first.
    async fn rehearse(&self) -> Result<(), CallError> {
        // It writes nothing that stays, and waits for no disk and no standby.
        let rehearsal = "SELECT set_config('synchronous_commit', 'off', true), abide.rehearse()";
        match self.query_text(&self.shared.schema.qualify(rehearsal), &[], SHORT).await {
            Err(error) if self.client.is_closed() => Err(error),
            Ok(_) | Err(_) => {
                // A server that takes no writes may still be read from.
                self.is_broken.set(false);
                Ok(())
            }
        }
    }

    /// Whether a call is past its deadline and the server has not answered since.
    pub(crate) fn is_overdue(&self) -> bool {
        self.is_overdue.get()
    }

    /// Waits until the server answers after all; `false` if the session is lost, or `give_up` says so.
    pub(crate) async fn outwait(&self, give_up: impl Fn() -> bool) -> bool {
        let clock = &*self.shared.settings.clock;
        self.seat.note_unanswered(clock.monotonic());
        // Answers come in the order of calls: this one comes when the session is free.
        let mut answer = pin!(self.client.simple_query(""));
        loop {
            let tick = clock.sleep_until(clock.monotonic().saturating_add(TICK));
            match select(answer.as_mut(), tick).await {
                Either::Left((Ok(_), _)) => {
                    self.seat.note_answered();
                    self.is_overdue.set(false);
                    return true;
                }
                Either::Left((Err(_), _)) => return false,
                Either::Right(_) => {}
            }
            if self.seat.is_gone() || give_up() {
                return false;
            }
        }
    }

    /// Whether it cannot be used any more.
    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken.get() || self.is_overdue.get() || self.client.is_closed()
    }

    /// One call: a statement, and with it a transaction.
    pub(crate) async fn query(
        &self,
        sql: Sql,
        params: Params<'_>,
        patience: Duration,
    ) -> Result<Vec<Row>, CallError> {
        self.within(patience, async {
            let statement = self.prepare(sql).await?;
            self.shared.counts.statement(sql);
            self.client.query(&statement, params).await
        })
        .await
    }

    /// The same for a statement that is put together for one call.
    pub(crate) async fn query_text(
        &self,
        text: &str,
        params: Params<'_>,
        patience: Duration,
    ) -> Result<Vec<Row>, CallError> {
        self.within(patience, self.client.query(text, params)).await
    }

    /// One call that should not take long.
    pub(crate) async fn rows(&self, sql: Sql, params: Params<'_>) -> Result<Vec<Row>, CallError> {
        self.query(sql, params, SHORT).await
    }

    /// The same, of which there is one row.
    pub(crate) async fn row(&self, sql: Sql, params: Params<'_>) -> Result<Row, CallError> {
        let rows = self.rows(sql, params).await?;
        rows.into_iter()
            .next()
            .ok_or_else(|| CallError::unknown(format!("{} answered without a row", sql.name())))
    }

    async fn prepare(&self, sql: Sql) -> Result<Statement, tokio_postgres::Error> {
        let known = self.prepared.borrow().get(&sql).cloned();
        if let Some(statement) = known {
            return Ok(statement);
        }
        let statement = self.client.prepare(self.shared.texts.get(sql)).await?;
        self.prepared.borrow_mut().insert(sql, statement.clone());
        Ok(statement)
    }

    /// Waits for a call. One that takes too long runs to its end, and the connection serves no other until
    /// then.
    async fn within<T>(
        &self,
        patience: Duration,
        call: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, CallError> {
        let clock = &*self.shared.settings.clock;
        let deadline = clock.sleep_until(clock.monotonic().saturating_add(patience));
        match select(pin!(call), deadline).await {
            Either::Left((Ok(answer), _)) => Ok(answer),
            Either::Left((Err(error), _)) => {
                self.is_broken.set(self.is_broken.get() || leaves_connection_unusable(&error));
                Err(error.into())
            }
            Either::Right(_) => {
                self.is_overdue.set(true);
                Err(CallError::unknown(format!("no answer from PostgreSQL within {} s", patience.as_secs())))
            }
        }
    }
}

/// Whether what is prepared on a connection does not fit the database any more.
fn leaves_connection_unusable(error: &tokio_postgres::Error) -> bool {
    use tokio_postgres::error::SqlState;
    let stale = [
        SqlState::FEATURE_NOT_SUPPORTED, // a cached plan whose result changed
        SqlState::INVALID_SQL_STATEMENT_NAME,
        SqlState::READ_ONLY_SQL_TRANSACTION, // this server is not the primary any more
    ];
    error.code().is_some_and(|code| stale.contains(code))
}
