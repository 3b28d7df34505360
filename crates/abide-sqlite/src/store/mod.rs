//! What the store does inside a transaction, as plain functions over statements.
//!
//! One module per subject of `docs/spec/store.md`. Everything but `read`, `status`, `listing` and most of `overview` runs on the writer thread, between `BEGIN` and
//! `COMMIT`, with one reading of the clock. A refusal comes before the first write of its operation.
//!
//! Deliberately absent: threads, waiting and answering. See [`writer`](crate::writer).

pub(crate) mod blocked;
pub(crate) mod commit;
pub(crate) mod dead_letter;
pub(crate) mod delete;
mod describe;
pub(crate) mod import;
pub(crate) mod kv;
pub(crate) mod lease;
pub(crate) mod listing;
pub(crate) mod mail;
pub(crate) mod mailbox;
pub(crate) mod node;
pub(crate) mod overview;
pub(crate) mod owner;
pub(crate) mod promote;
pub(crate) mod prune;
pub(crate) mod read;
pub(crate) mod removal;
pub(crate) mod route;
pub(crate) mod routed;
pub(crate) mod session;
pub(crate) mod status;
pub(crate) mod waiting_mail;
pub(crate) mod work;
pub(crate) mod work_queue;

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::time::Duration;

use abide_model::{Entropy, Timestamp};
use abide_provider::{ChangeListeners, StolenLease};
use rusqlite::Row;

use self::promote::More;
use crate::encode::column;
use crate::statements::{Sql, Statements};
use crate::store::route::Routes;
use crate::token::{LeaseChange, WorkKey, WorkToken};

/// One write transaction.
pub(crate) struct Tx<'a, 'c> {
    pub(crate) sql: &'a Statements<'c>,
    /// The time of this transaction, in milliseconds.
    pub(crate) now: i64,
    /// This process, in leases.
    pub(crate) owner: i64,
    pub(crate) routes: &'a Routes,
    entropy: &'a dyn Entropy,
    counter: Cell<Counter>,
    saved: Counter,
    /// Leases taken away, to be told of after the commit.
    stolen: RefCell<Vec<StolenLease>>,
    changed: RefCell<Changed>,
    /// Leases on activities that begin or end; `None` if nobody wants to know.
    leases: RefCell<Option<Vec<LeaseChange>>>,
    /// How many rows of deleted mailboxes one transaction removes.
    pub(crate) removal_rows: i64,
    removal: Cell<Removal>,
    /// How much work of deleted instances the current lease call has met.
    dead_work_met: Cell<usize>,
    /// Whether a lease call has left something for the next transaction.
    pub(crate) more_to_lease: Cell<More>,
}

/// Whether there may be more to remove, or something may be removed earlier, than the writer knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Removal {
    AsBefore,
    Changed,
}

/// What is to be told after the commit.
#[derive(Debug)]
pub(crate) struct News {
    pub(crate) stolen: Vec<StolenLease>,
    pub(crate) changed: Changed,
    pub(crate) leases: Option<Vec<LeaseChange>>,
    pub(crate) removal: Removal,
}

/// Instances that those who look at them may find changed.
#[derive(Debug)]
pub(crate) enum Changed {
    /// Nobody listened when the transaction began, so nobody wrote down which. Whoever listens since is to be told.
    Something,
    These(BTreeSet<String>),
}

impl Changed {
    /// To be called after the commit.
    pub(crate) fn tell(self, listeners: &ChangeListeners) {
        match self {
            Self::Something => listeners.tell_all(),
            Self::These(instances) => instances.iter().for_each(|instance| listeners.tell(instance)),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Counter {
    number: i64,
    mailbox: i64,
    route: i64,
    work_route: i64,
}

impl Counter {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self { number: row.get(0)?, mailbox: row.get(1)?, route: row.get(2)?, work_route: row.get(3)? })
    }
}

impl<'a, 'c> Tx<'a, 'c> {
    /// To be called right after `BEGIN`.
    pub(crate) fn begin(
        sql: &'a Statements<'c>,
        now: Timestamp,
        owner: i64,
        routes: &'a Routes,
        entropy: &'a dyn Entropy,
    ) -> rusqlite::Result<Self> {
        let saved =
            sql.row(Sql::LoadCounter, [], Counter::read)?.ok_or(rusqlite::Error::QueryReturnedNoRows)?; // without it numbers would be used twice
        routes.forget_behind(saved.route, saved.work_route);
        Ok(Self {
            sql,
            now: column(now.as_millis()),
            owner,
            routes,
            entropy,
            counter: Cell::new(saved),
            saved,
            stolen: RefCell::default(),
            changed: RefCell::new(Changed::Something),
            leases: RefCell::new(None),
            removal_rows: removal::ROWS,
            removal: Cell::new(Removal::AsBefore),
            dead_work_met: Cell::new(0),
            more_to_lease: Cell::new(More::No),
        })
    }

    /// The same, with another bound on what one transaction removes.
    pub(crate) fn removing_at_most(self, rows: i64) -> Self {
        Self { removal_rows: rows, ..self }
    }

    /// The same, for somebody who listens: with a list of what changes.
    pub(crate) fn listened_to(self) -> Self {
        Self { changed: RefCell::new(Changed::These(BTreeSet::new())), ..self }
    }

    /// The same, for somebody who must know which leases on activities begin and end.
    pub(crate) fn watched(self) -> Self {
        Self { leases: RefCell::new(Some(Vec::new())), ..self }
    }

    /// To be called right before `COMMIT`. Says what to tell after it.
    pub(crate) fn finish(self) -> rusqlite::Result<News> {
        let counter = self.counter.get();
        if counter != self.saved {
            let Counter { number, mailbox, route, work_route } = counter;
            self.sql.execute(Sql::SaveCounter, [number, mailbox, route, work_route])?;
        }
        Ok(News {
            stolen: self.stolen.into_inner(),
            changed: self.changed.into_inner(),
            leases: self.leases.into_inner(),
            removal: self.removal.get(),
        })
    }

    /// The next number for a message or work.
    fn next_number(&self) -> i64 {
        let mut counter = self.counter.get();
        counter.number += 1;
        self.counter.set(counter);
        counter.number
    }

    /// The next number for a mailbox.
    fn next_mailbox(&self) -> i64 {
        let mut counter = self.counter.get();
        counter.mailbox += 1;
        self.counter.set(counter);
        counter.mailbox
    }

    /// The last route, this transaction's included.
    fn last_route(&self) -> i64 {
        self.counter.get().route
    }

    fn last_work_route(&self) -> i64 {
        self.counter.get().work_route
    }

    /// The next number for a route.
    fn next_route(&self) -> i64 {
        let mut counter = self.counter.get();
        counter.route += 1;
        self.counter.set(counter);
        counter.route
    }

    /// The next number for a route of work.
    fn next_work_route(&self) -> i64 {
        let mut counter = self.counter.get();
        counter.work_route += 1;
        self.counter.set(counter);
        counter.work_route
    }

    /// A number that makes a lease unlike any other.
    fn nonce(&self) -> i64 {
        i64::try_from(self.entropy.next_u64() >> 1).unwrap_or(0)
    }

    /// The time after `duration`.
    fn after(&self, duration: Duration) -> i64 {
        let now = Timestamp::from_millis(crate::encode::number(self.now));
        column(now.saturating_add(duration).as_millis())
    }

    fn time(&self) -> Timestamp {
        Timestamp::from_millis(crate::encode::number(self.now))
    }

    fn removal_changed(&self) {
        self.removal.set(Removal::Changed);
    }

    fn tell_stolen(&self, lease: StolenLease) {
        self.stolen.borrow_mut().push(lease);
    }

    fn note_granted(&self, token: WorkToken) {
        self.note_lease(LeaseChange::Granted(token));
    }

    /// To be called for every row of work that loses its lease; for others it does no harm.
    fn note_ended(&self, key: WorkKey) {
        self.note_lease(LeaseChange::Ended(key));
    }

    fn note_lease(&self, change: LeaseChange) {
        if let Some(leases) = &mut *self.leases.borrow_mut() {
            leases.push(change);
        }
    }

    fn tell_changed(&self, instance: impl Into<String>) {
        match &mut *self.changed.borrow_mut() {
            Changed::Something => {}
            Changed::These(instances) => {
                instances.insert(instance.into());
            }
        }
    }
}
