//! One connection's life: opened when there is something to do, used, and opened again when it broke. That for renewals is there from the
//! beginning: when leases must be renewed is no time to find that the server has none left.

use std::sync::Arc;
use std::time::Duration;

use super::batch::run;
use super::connection::Connection;
use super::desk::Place;
use super::queues::Work;
use crate::connect::Purpose;
use crate::error::CallError;
use crate::shared::Shared;

/// How long somebody waits for a connection before it is told that there is none.
const PATIENCE: Duration = Duration::from_millis(500);

/// Pauses between attempts to connect: from the first to the longest, doubled each time, a random part of each.
const PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

pub(crate) async fn work(shared: &Arc<Shared>, place: Place) {
    while place == Place::Renewals || shared.desk.is_wanted(place).await {
        let Some(connection) = open(shared, place).await else { return };
        loop {
            // It may have been closed while there was nothing to do: nobody's call is risked on it.
            if !shared.desk.is_wanted(place).await {
                return;
            }
            if connection.is_broken() {
                break;
            }
            match shared.desk.next(place).await {
                Some(work) => serve(work, &connection, shared).await,
                None => return,
            }
        }
    }
}

/// Connects, however long it takes; `None` if the store is closed first.
async fn open(shared: &Arc<Shared>, place: Place) -> Option<Connection<'_>> {
    let purpose = match place {
        Place::Ordinary => Purpose::Work,
        Place::Renewals => Purpose::Renewals,
    };
    let mut pauses = Pauses::new();
    loop {
        match Connection::open(shared, purpose).await {
            Ok(connection) => {
                shared.note_connected();
                return Some(connection);
            }
            Err(error) => {
                shared.note_unreachable(&error);
                let now = shared.settings.clock.monotonic();
                let message = format!(
                    "cannot connect to PostgreSQL at {}: {}",
                    shared.settings.target.place, error.message
                );
                shared.desk.refuse_waiting(place, now.saturating_sub(PATIENCE), &message);
                if shared.desk.is_closed() {
                    shared.desk.refuse_waiting(place, now, &message);
                    return None;
                }
                pauses.pause(shared).await;
            }
        }
    }
}

async fn serve(work: Work, connection: &Connection<'_>, shared: &Arc<Shared>) {
    match work {
        Work::Commits(batch) => run(connection, shared, batch).await,
        Work::Finishes(batch) => run(connection, shared, batch).await,
        Work::Enqueues(batch) => run(connection, shared, batch).await,
        Work::Looks(batch) => run(connection, shared, batch).await,
        Work::AbandonInstances(batch) => run(connection, shared, batch).await,
        Work::AbandonActivities(batch) => run(connection, shared, batch).await,
        Work::RenewInstances(batch) => run(connection, shared, batch).await,
        Work::RenewActivities(batch) => run(connection, shared, batch).await,
        Work::Call(call) => call.run(connection, shared).await,
    }
}

/// Ever longer pauses.
#[derive(Debug)]
pub(crate) struct Pauses {
    next: Duration,
}

impl Pauses {
    pub(crate) fn new() -> Self {
        Self { next: PAUSE }
    }

    pub(crate) async fn pause(&mut self, shared: &Shared) {
        let longest = u64::try_from(self.next.as_micros()).unwrap_or(u64::MAX).max(2);
        // At least half of it, so that nobody hammers; a random part, so that many nodes do not come at once.
        let part = Duration::from_micros(longest / 2 + shared.settings.entropy.next_u64() % (longest / 2));
        self.next = (self.next * 2).min(LONGEST_PAUSE);
        let clock = &*shared.settings.clock;
        clock.sleep_until(clock.monotonic().saturating_add(part)).await;
    }
}

impl Shared {
    /// Told once per outage.
    fn note_unreachable(&self, error: &CallError) {
        if !self.is_unreachable.swap(true, std::sync::atomic::Ordering::Relaxed) {
            tracing::warn!(target: "abide::postgres", place = %self.settings.target.place, error = %error.message,
                "cannot connect to PostgreSQL: trying again until it is there");
        }
    }

    fn note_connected(&self) {
        if self.is_unreachable.swap(false, std::sync::atomic::Ordering::Relaxed) {
            tracing::info!(target: "abide::postgres", place = %self.settings.target.place, "connected to PostgreSQL again");
        }
    }
}
