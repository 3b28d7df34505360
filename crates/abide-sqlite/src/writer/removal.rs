//! When the writer removes rows of deleted mailboxes, and mail that has waited for a start for too long: a part now and then, more often
//! while nobody asks for anything.
//!
//! A part is one more job of a group, and takes about a millisecond. After it the writer is for others for at least twice as long.
//! What is to be removed is in the file, so a removal goes on after a restart, and another process goes on with what a dead one left.

use std::sync::Arc;
use std::time::Duration;

use abide_model::Clock;
use abide_provider::Operation;

use super::ground::WriterGround;
use crate::encode::column;
use crate::job::{Job, Kind, Phase, job};
use crate::statements::Sql;

/// How long one part may take. A step that was begun is finished.
const PART: Duration = Duration::from_millis(1);

/// The shortest time between two parts.
const SHORTEST_REST: Duration = Duration::from_millis(1);

/// How long to wait after a part that could not be committed.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// What is to be removed, and when.
pub(crate) struct Removals {
    /// From this time of the store on there is something to remove.
    from: Option<i64>,
    /// The earliest time for the next part, by the monotonic clock.
    next: Duration,
    /// How long the writer is for others before the next part.
    rest: Duration,
    began: Option<Duration>,
}

impl Removals {
    pub(crate) fn new(ground: &WriterGround<'_, '_>) -> Self {
        let mut removals = Self { from: None, next: Duration::ZERO, rest: SHORTEST_REST, began: None };
        removals.look(ground);
        removals
    }

    /// Reads again from when on there is something to remove.
    pub(crate) fn look(&mut self, ground: &WriterGround<'_, '_>) {
        match ground.statements().row(Sql::NextRemoval, [], |row| row.get::<_, Option<i64>>(0)) {
            Ok(from) => self.from = from.flatten(),
            Err(error) => {
                tracing::warn!(target: "abide::sqlite", %error, "what is to be removed could not be read");
            }
        }
    }

    /// How long the writer may wait for requests; `None` if there is nothing to remove.
    pub(crate) fn patience(&self, ground: &WriterGround<'_, '_>) -> Option<Duration> {
        let now = column(ground.now().as_millis());
        let until = u64::try_from(self.from?.saturating_sub(now)).unwrap_or(0);
        Some(self.rest.max(Duration::from_millis(until)))
    }

    /// The next part, if its time has come, or nothing else is to be done.
    pub(crate) fn part(&mut self, ground: &WriterGround<'_, '_>, idle: Idle) -> Option<Box<dyn Job>> {
        let now = ground.shared().clock.monotonic();
        let is_due = self.from.is_some_and(|from| from <= column(ground.now().as_millis()));
        if !is_due || (idle == Idle::No && now < self.next) {
            return None;
        }
        self.began = Some(now);
        Some(part_of(Arc::clone(&ground.shared().clock)))
    }

    /// The group with a part is over.
    pub(crate) fn rest(&mut self, ground: &WriterGround<'_, '_>, committed: Committed) {
        let Some(began) = self.began.take() else { return };
        let now = ground.shared().clock.monotonic();
        self.rest = match committed {
            Committed::Yes => (now.saturating_sub(began) * 2).max(SHORTEST_REST),
            Committed::No => AFTER_FAILURE,
        };
        self.next = now + self.rest;
    }
}

/// Whether the writer has nothing else to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Idle {
    Yes,
    No,
}

/// Whether a group was committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Committed {
    Yes,
    No,
}

fn part_of(clock: Arc<dyn Clock>) -> Box<dyn Job> {
    // Losing it in a power cut loses nothing: the tombstone is still there.
    let kind = Kind::lease(Operation::Housekeeping, Phase::Housekeeping);
    let remove = job(kind, move |tx| {
        let end = clock.monotonic() + PART;
        Ok(tx.remove_part(|| clock.monotonic() >= end)?)
    });
    remove.job
}
