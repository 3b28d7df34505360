//! One connection: opened, set up, and used for one call at a time.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::{Either, select};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, Statement};

use super::patience::{Patience, SHORT, STATEMENT_TIMEOUT};
use super::sessions::{Occupied, Seat, TICK};
use crate::connect::{Driver, Purpose, connect, within};
use crate::error::CallError;
use crate::shared::Shared;
use crate::statements::Sql;

/// How often a call is made again at once because others were in its way.
pub(crate) const TRIES: usize = 8;

/// What a call carries.
pub(crate) type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// A connection that is ready for calls.
pub(crate) struct Connection<'s> {
    client: Client,
    driver: Driver,
    prepared: RefCell<BTreeMap<Sql, Statement>>,
    is_broken: Cell<bool>,
    /// A call is past its deadline, and the server may still be at it.
    is_overdue: Cell<bool>,
    /// When the call began that the server has not answered, in monotonic time.
    unanswered: Cell<Option<Duration>>,
    /// The session's `statement_timeout`; `None` while it is being changed.
    statement_timeout: Cell<Option<Duration>>,
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
        let clock = &shared.settings.clock;
        let (client, driver) = connect(&shared.settings.target, &shared.schema, purpose, clock, None).await?;
        if within(&**clock, SHORT, seat.occupy(&client, shared)).await? == Occupied::TooMany {
            return Ok(None);
        }
        let connection = Self {
            client,
            driver,
            prepared: RefCell::default(),
            is_broken: Cell::new(false),
            is_overdue: Cell::new(false),
            unanswered: Cell::new(None),
            statement_timeout: Cell::new(Some(STATEMENT_TIMEOUT)),
            seat,
            shared,
        };
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
        match self.query_text(&self.shared.schema.qualify(rehearsal), &[], Patience::SHORT).await {
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
                    self.unanswered.set(None);
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
        patience: Patience,
    ) -> Result<Vec<Row>, CallError> {
        let has_slow_answers = self.shared.has_slow_answers.load(Ordering::Relaxed);
        let patience = if has_slow_answers { patience.with_slow_answers() } else { patience };
        self.within(patience, async {
            self.set_statement_timeout(patience).await?;
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
        patience: Patience,
    ) -> Result<Vec<Row>, CallError> {
        self.within(patience, async {
            self.set_statement_timeout(patience).await?;
            self.client.query(text, params).await
        })
        .await
    }

    /// One call that carries little and should not take long.
    pub(crate) async fn rows(&self, sql: Sql, params: Params<'_>) -> Result<Vec<Row>, CallError> {
        self.query(sql, params, Patience::SHORT).await
    }

    /// The same, of which there is one row.
    pub(crate) async fn row(&self, sql: Sql, params: Params<'_>) -> Result<Row, CallError> {
        self.row_within(Patience::SHORT, sql, params).await
    }

    /// The same for a call that may carry much.
    pub(crate) async fn row_within(
        &self,
        patience: Patience,
        sql: Sql,
        params: Params<'_>,
    ) -> Result<Row, CallError> {
        let rows = self.query(sql, params, patience).await?;
        rows.into_iter()
            .next()
            .ok_or_else(|| CallError::unknown(format!("{} answered without a row", sql.name())))
    }

    /// Sees to it that the server does not cancel the next call before its time. Nearly all have the time that every
    /// session begins with.
    async fn set_statement_timeout(&self, patience: Patience) -> Result<(), tokio_postgres::Error> {
        let wanted = patience.statement_timeout(self.shared.settings.statement_timeout);
        if self.statement_timeout.get() != Some(wanted) {
            self.statement_timeout.set(None);
            let set = format!("SET statement_timeout = {}", wanted.as_millis());
            self.client.batch_execute(&set).await?;
            self.statement_timeout.set(Some(wanted));
        }
        Ok(())
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
    /// then. A call whose answer is arriving is not late.
    async fn within<T>(
        &self,
        patience: Patience,
        call: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, CallError> {
        let clock = &*self.shared.settings.clock;
        let began = clock.monotonic();
        let mut call = pin!(call);
        let mut deadline = patience.deadline(began, began);
        self.unanswered.set(Some(began));
        loop {
            match select(call.as_mut(), clock.sleep_until(deadline)).await {
                Either::Left((Ok(answer), _)) => {
                    self.unanswered.set(None);
                    return Ok(answer);
                }
                Either::Left((Err(error), _)) => {
                    if !self.client.is_closed() {
                        self.unanswered.set(None);
                    }
                    if patience.is_unbounded() && error.code() == Some(&SqlState::QUERY_CANCELED) {
                        self.shared.has_slow_answers.store(true, Ordering::Relaxed);
                    }
                    self.is_broken.set(self.is_broken.get() || leaves_connection_unusable(&error));
                    return Err(error.into());
                }
                Either::Right(_) => {}
            }
            deadline = patience.deadline(began, self.driver.moved_at());
            let now = clock.monotonic();
            if deadline <= now {
                self.is_overdue.set(true);
                let seconds = now.saturating_sub(began).as_secs();
                return Err(CallError::unknown(format!("no answer from PostgreSQL within {seconds} s")));
            }
        }
    }
}

impl Drop for Connection<'_> {
    fn drop(&mut self) {
        // The socket broke during a call, or the node's thread panicked: the server may still be at it.
        if let Some(began) = self.unanswered.get() {
            self.seat.note_broken(began);
        }
    }
}

/// Whether what is prepared on a connection does not fit the database any more.
fn leaves_connection_unusable(error: &tokio_postgres::Error) -> bool {
    let stale = [
        SqlState::FEATURE_NOT_SUPPORTED, // a cached plan whose result changed
        SqlState::INVALID_SQL_STATEMENT_NAME,
        SqlState::READ_ONLY_SQL_TRANSACTION, // this server is not the primary any more
    ];
    error.code().is_some_and(|code| stale.contains(code))
}
