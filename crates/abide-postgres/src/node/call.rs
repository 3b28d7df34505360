//! A call that is made for one caller: a read, a look for leases, something administrative.

use std::sync::atomic::Ordering;
use std::time::Duration;

use abide_provider::{Operation, StoreError};
use futures_channel::oneshot;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::connection::{Connection, TRIES};
use super::desk::Place;
use super::patience::Patience;
use crate::error::{CallError, CallErrorKind};
use crate::lease::Looked;
use crate::shared::Shared;
use crate::statements::Sql;

/// Values to bind, owned.
pub(crate) type Values = Vec<Box<dyn ToSql + Sync + Send>>;

/// What to send.
pub(crate) enum Statement {
    Known(Sql),
    /// Put together for this call.
    Text(String),
}

/// A call, and who waits for it.
pub(crate) struct Call {
    pub(crate) operation: Operation,
    pub(crate) place: Place,
    /// In monotonic time.
    pub(crate) since: Duration,
    pub(crate) statement: Statement,
    pub(crate) values: Values,
    pub(crate) patience: Patience,
    pub(crate) caller: Caller,
}

/// Who waits for it.
pub(crate) enum Caller {
    Rows(oneshot::Sender<Result<Vec<Row>, StoreError>>),
    /// Leases that nobody takes go back.
    Leases(oneshot::Sender<Result<Looked, StoreError>>),
}

impl Call {
    pub(crate) fn fail(self, error: StoreError) {
        match self.caller {
            Caller::Rows(reply) => {
                let _unheard = reply.send(Err(error));
            }
            Caller::Leases(reply) => {
                let _unheard = reply.send(Err(error));
            }
        }
    }

    /// What nobody waits for any more must not be leased.
    fn is_pointless(&self) -> bool {
        match &self.caller {
            Caller::Rows(_) => false,
            Caller::Leases(reply) => reply.is_canceled(),
        }
    }

    pub(crate) async fn run(self, connection: &Connection<'_>, shared: &std::sync::Arc<Shared>) {
        if self.is_pointless() {
            return;
        }
        let sent_at = shared.settings.clock.monotonic();
        let had_slow_answers = shared.has_slow_answers.load(Ordering::Relaxed);
        let mut answer = self.attempt(connection).await;
        let has_more_time = !had_slow_answers && shared.has_slow_answers.load(Ordering::Relaxed);
        if answer.is_err() && self.patience.is_unbounded() && has_more_time && !connection.is_broken() {
            answer = self.attempt(connection).await;
        }
        let Self { operation, caller, .. } = self;
        let answer = answer.map_err(|error| error.of(operation));
        match caller {
            Caller::Rows(reply) => {
                let _unheard = reply.send(answer);
            }
            Caller::Leases(reply) => {
                let looked = answer.and_then(|rows| Looked::of(operation, rows, sent_at, shared));
                let _unheard = reply.send(looked);
            }
        }
    }

    async fn attempt(&self, connection: &Connection<'_>) -> Result<Vec<Row>, CallError> {
        let mut answer = self.send(connection).await;
        for _ in 1..TRIES {
            if !matches!(&answer, Err(error) if error.kind == CallErrorKind::Collided) {
                break;
            }
            answer = self.send(connection).await;
        }
        answer
    }

    async fn send(&self, connection: &Connection<'_>) -> Result<Vec<Row>, CallError> {
        let params: Vec<&(dyn ToSql + Sync)> =
            self.values.iter().map(|value| -> &(dyn ToSql + Sync) { &**value }).collect();
        match &self.statement {
            Statement::Known(sql) => connection.query(*sql, &params, self.patience).await,
            Statement::Text(text) => connection.query_text(text, &params, self.patience).await,
        }
    }
}
