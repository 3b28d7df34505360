//! One connection's life: opened when it is needed, used, and opened again when it broke. That for renewals is there from the beginning:
//! when leases must be renewed is no time to find that the server has none left. So are two of the others: what is asked first does not
//! wait until a session has got to know everything.

use std::sync::Arc;
use std::time::Duration;

use futures_channel::oneshot;

use super::batch::run;
use super::connection::Connection;
use super::desk::{Place, ToDo, Worker};
use super::queues::{Moment, Work};
use crate::connect::Purpose;
use crate::error::CallError;
use crate::shared::Shared;

/// How long somebody waits for a connection before it is told that there is none.
const PATIENCE: Duration = Duration::from_millis(500);

/// Pauses between attempts to connect: from the first to the longest, doubled each time, a random part of each.
const PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// When a connection is opened.
#[derive(Debug)]
pub(crate) enum Begin {
    AtOnce,
    /// The same, and somebody waits until it is there.
    AtOnceFor(oneshot::Sender<()>),
    /// When there is something to do: of one that was there, and broke.
    WhenWanted,
    /// When those that are there leave somebody waiting.
    IfMissed,
}

/// A connection that is not there yet is missed when somebody has waited for so long. It costs the server a process, and a while of its
/// time at first; and the fewer there are, the more goes together in one call.
const MISSED_AFTER: Duration = Duration::from_millis(100);

/// And one after the other: if there is more to do than the server can, each would only cost it more.
const ONE_AFTER_THE_OTHER: Duration = Duration::from_secs(1);

pub(crate) async fn work(shared: &Arc<Shared>, place: Place, mut begin: Begin) {
    loop {
        let is_needed = match &begin {
            Begin::AtOnce | Begin::AtOnceFor(_) => true,
            Begin::WhenWanted => shared.desk.is_wanted(place, Worker::Lost).await,
            Begin::IfMissed => is_missed(shared, place).await,
        };
        if !is_needed {
            return;
        }
        let Some(connection) = open(shared, place).await else { return };
        let again = match (place, &begin) {
            (Place::Renewals, _) => Begin::AtOnce,
            (Place::Ordinary, Begin::IfMissed) => Begin::IfMissed,
            (Place::Ordinary, _) => Begin::WhenWanted,
        };
        if let Begin::AtOnceFor(waiting) = std::mem::replace(&mut begin, again) {
            let _gone = waiting.send(());
        }
        loop {
            if connection.is_overdue() && !outwait(shared, place, &connection).await {
                if shared.desk.is_closed() {
                    return;
                }
                break;
            }
            // It may have been closed while there was nothing to do: nobody's call is risked on it.
            if !shared.desk.is_wanted(place, Worker::Connected).await {
                return;
            }
            if connection.is_broken() {
                // The next server may be another one.
                shared.routes.forget();
                shared.desk.pass_on(place);
                break;
            }
            let clock = &*shared.settings.clock;
            let (now, leased, company) = (clock.monotonic(), shared.count_leases(), shared.outbox.company());
            let moment = Moment { now, leased, company };
            match shared.desk.take(place, moment) {
                ToDo::Work(taken) => {
                    serve(taken.work, &connection, shared).await;
                    drop(taken.under_way);
                }
                ToDo::Later(patience) => patience.wait(clock).await,
                ToDo::Nothing => {}
            }
        }
    }
}

/// Waits until a connection is missed; `false` when the store is closed and nothing is left.
async fn is_missed(shared: &Shared, place: Place) -> bool {
    let clock = &*shared.settings.clock;
    while shared.desk.is_wanted(place, Worker::Spare).await {
        if shared.desk.misses_one(place, clock.monotonic(), MISSED_AFTER, ONE_AFTER_THE_OTHER)
            || shared.desk.is_closed()
        {
            return true;
        }
        clock.sleep_until(clock.monotonic().saturating_add(MISSED_AFTER / 4)).await;
    }
    false
}

/// Keeps a session that does not answer by the deadline of a call, until it does; `false` if it is lost.
async fn outwait(shared: &Arc<Shared>, place: Place, connection: &Connection<'_>) -> bool {
    let give_up = || {
        refuse_if_stalled(shared, place);
        shared.desk.is_closed()
    };
    connection.outwait(give_up).await
}

/// Answers callers that wait for sessions of which none can be used.
fn refuse_if_stalled(shared: &Shared, place: Place) {
    if let Some(stall) = shared.sessions.stall(place.purpose(), shared) {
        let now = shared.settings.clock.monotonic();
        shared.desk.refuse_waiting(place, now.saturating_sub(PATIENCE), &stall.to_string());
    }
}

/// Connects, however long it takes; `None` if the store is closed first.
async fn open(shared: &Arc<Shared>, place: Place) -> Option<Connection<'_>> {
    let clock = &*shared.settings.clock;
    let mut pauses = Pauses::new();
    loop {
        let Some(seat) = shared.sessions.reserve(place.purpose(), clock.monotonic()) else {
            refuse_if_stalled(shared, place);
            if shared.desk.is_closed() {
                shared.desk.refuse_waiting(place, clock.monotonic(), "the store is closed");
                return None;
            }
            shared.sessions.may_have_room(shared).await;
            continue;
        };
        match Connection::open(shared, place.purpose(), seat).await {
            Ok(Some(connection)) => {
                shared.note_connected();
                return Some(connection);
            }
            Ok(None) => {}
            Err(error) => {
                shared.note_unreachable(&error);
                let now = clock.monotonic();
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

impl Place {
    const fn purpose(self) -> Purpose {
        match self {
            Self::Ordinary => Purpose::Work,
            Self::Renewals => Purpose::Renewals,
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
