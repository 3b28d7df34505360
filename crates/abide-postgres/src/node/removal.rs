//! Removing the rows of deleted instances: a part at a time, beside everything else.
//!
//! A node looks for something to remove when it is opened, when it has deleted something large, and every few minutes, because another node
//! may have died before it was done. A part is one call like any other; several nodes are never at the same instance.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use abide_provider::{Operation, StoreError};
use futures_channel::oneshot;
use futures_util::future::{Either, select};
use tokio::sync::Notify;
use tokio_postgres::Row;

use super::call::{Call, Caller, Statement};
use super::desk::Place;
use super::patience::patience;
use crate::shared::Shared;
use crate::statements::Sql;

/// How often a node looks for what others left.
const LOOK_EVERY: Duration = Duration::from_secs(300);

/// The shortest time between two parts. After a part its connection is for others for twice as long as it took.
const SHORTEST_REST: Duration = Duration::from_millis(5);

/// How long to wait after a part that failed.
const AFTER_FAILURE: Duration = Duration::from_secs(5);

/// What wakes the removal.
#[derive(Debug, Default)]
pub(crate) struct Removals {
    something: Notify,
    is_closed: AtomicBool,
}

impl Removals {
    /// There is something to remove.
    pub(crate) fn begin(&self) {
        self.something.notify_one();
    }

    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.something.notify_one();
    }

    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }
}

/// Removes what is to be removed, until the store is closed.
pub(crate) async fn remove(shared: &Arc<Shared>) {
    let clock = &*shared.settings.clock;
    // Whether there is something at the beginning was looked for when the store was opened.
    let mut pause = LOOK_EVERY;
    loop {
        let woken = Box::pin(shared.removals.something.notified());
        let slept = clock.sleep_until(clock.monotonic().saturating_add(pause));
        match select(woken, slept).await {
            Either::Left(_) | Either::Right(_) => {}
        }
        if shared.removals.is_closed() {
            return;
        }
        let began = clock.monotonic();
        pause = match part(shared).await {
            Ok(None) => LOOK_EVERY,
            Ok(Some(0)) => (clock.monotonic().saturating_sub(began) * 2).max(SHORTEST_REST),
            Ok(Some(after)) => Duration::from_millis(after).min(LOOK_EVERY),
            Err(error) => {
                tracing::debug!(target: "abide::postgres", %error, "rows of deleted instances could not be removed");
                AFTER_FAILURE
            }
        };
    }
}

/// Removes a part; says in how many milliseconds to look again, or that nothing is left.
async fn part(shared: &Arc<Shared>) -> Result<Option<u64>, StoreError> {
    let operation = Operation::Housekeeping;
    let (reply, answer) = oneshot::channel();
    shared.desk.put([Call {
        operation,
        place: Place::Ordinary,
        since: shared.settings.clock.monotonic(),
        statement: Statement::Known(Sql::RemovePart),
        values: vec![Box::new(i64::from(shared.settings.removal_rows))],
        patience: patience(Sql::RemovePart),
        caller: Caller::Rows(reply),
    }]);
    let rows: Vec<Row> = match answer.await {
        Ok(answer) => answer?,
        Err(_) => return Err(StoreError::not_applied(operation, "the store is closed")),
    };
    let after: Option<i64> = rows.first().and_then(|row| row.get(0));
    Ok(after.map(|after| u64::try_from(after).unwrap_or(0)))
}
