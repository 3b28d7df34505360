//! Writing as a runtime would, so that what must be there afterwards can be told.
//!
//! *Chains* run one activity after the other; one *collector* takes in what clients send. Whatever an instance does next
//! follows from where the store says it stands, so a process can go on where another was killed. Every turn leaves
//! traces in four places (history, key-value store, a message to the sink, work), to be compared with each other.
//! Every acknowledged call is noted in a journal, after the acknowledgement. `crash::evidence` does the comparing.

mod turns;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;

use abide_host::SystemClock;
use abide_model::{Clock, Event, WorkItem};
use abide_provider::{
    Enqueue, ErrorKind, FinishedWork, LeaseInstances, LeaseWork, Provider, Rejection, RequestKey, StoreError,
    TagFilter, TurnCommit, WorkLease,
};
use abide_sqlite::SqliteProvider;
use futures::future::{join, join_all};

use super::process::Journal;

pub(crate) use turns::{
    COLLECTOR, LONG_CHAIN, LONG_CHAIN_ACTIVITIES, SINK, completion_of, fused_turn_of, start, turn_of,
};

/// What to write.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// Makes names unlike those of other runs.
    pub(crate) round: u64,
    /// How many chains to start and messages to send.
    pub(crate) chains: u64,
    /// How long leases last.
    pub(crate) lease: Duration,
    /// When to stop in any case.
    pub(crate) at_most: Duration,
}

/// Somebody who writes.
pub(crate) struct Load<'a> {
    store: &'a SqliteProvider,
    journal: &'a Journal,
    plan: Plan,
    clock: SystemClock,
    starting: Cell<u64>,
    incarnations: RefCell<BTreeMap<String, u64>>,
}

/// How long a lease call waits for something to do, and how long to wait before a call that failed is repeated.
const WAIT: Duration = Duration::from_millis(50);
const AGAIN: Duration = Duration::from_millis(5);

impl<'a> Load<'a> {
    pub(crate) fn new(store: &'a SqliteProvider, journal: &'a Journal, plan: Plan) -> Self {
        let clock = SystemClock::new();
        Self { store, journal, clock, starting: Cell::new(2), incarnations: RefCell::default(), plan }
    }

    /// Writes until everything is done, or the time is up.
    pub(crate) async fn run(&self) {
        let started = join(self.start_chains(), self.send_mail());
        let turns = join_all((0..2).map(|_| self.take_turns()));
        let work = join_all([Style::Plain, Style::Fused].map(|style| self.do_work(style)));
        join(started, join(turns, work)).await;
    }

    async fn start_chains(&self) {
        self.send("start", COLLECTOR, 0, start(COLLECTOR)).await;
        for number in 0..self.plan.chains {
            if self.is_late() {
                break;
            }
            let instance = format!("chain-{}-{number}", self.plan.round);
            self.send("start", &instance, self.key(0, number), start(&instance)).await;
        }
        self.starting.set(self.starting.get() - 1);
    }

    async fn send_mail(&self) {
        for number in 0..self.plan.chains {
            if self.is_late() {
                break;
            }
            let name = format!("mail-{}-{number}", self.plan.round);
            self.journal.note(&format!("try {} {number}", self.plan.round));
            self.send("mail", &name, self.key(1, number), turns::mail(&name)).await;
        }
        self.starting.set(self.starting.get() - 1);
    }

    /// Sends again what another run may or may not have sent: it must arrive once.
    pub(crate) async fn repeat_mail(&self, round: u64, number: u64) {
        let name = format!("mail-{round}-{number}");
        self.send("mail", &name, key(round, 1, number), turns::mail(&name)).await;
    }

    fn key(&self, kind: u64, number: u64) -> u128 {
        key(self.plan.round, kind, number)
    }

    async fn send(&self, verb: &str, name: &str, key: u128, item: WorkItem) {
        let send = || {
            let key = RequestKey(key.to_be_bytes());
            self.store.enqueue_once(Enqueue { item: item.clone(), delay: None, key })
        };
        if self.persist(verb, send).await.is_some() {
            self.journal.note(&format!("{verb} {name}"));
        }
    }

    async fn take_turns(&self) {
        while !self.is_over().await {
            let lease_for = self.plan.lease;
            let request =
                LeaseInstances { limit: 4, lease_for, wait: WAIT, capabilities: None, serving: None };
            let lease = || self.store.lease_instances(request.clone());
            for lease in self.persist("lease", lease).await.unwrap_or_default() {
                let incarnation = lease.position.incarnation;
                self.incarnations.borrow_mut().insert(lease.instance.clone(), incarnation);
                match turn_of(&lease) {
                    Some(commit) => drop(self.commit(commit).await),
                    None => self.journal.note(&format!("bad batch {lease:?}")),
                }
            }
        }
    }

    async fn commit(&self, commit: TurnCommit) -> Option<()> {
        let last = commit.turn.events.last().map_or(0, Event::event_id);
        let line = format!("turn {} {last}", commit.instance);
        let instance = commit.instance.clone();
        let commit = || async {
            self.store.commit_turns(vec![commit.clone()]).await.pop().expect("one answer").map(drop)
        };
        self.persist("commit", commit).await?;
        self.journal.note(&line);
        self.read_back(&instance, last).await;
        Some(())
    }

    /// What was acknowledged can be read at once, on another connection.
    async fn read_back(&self, instance: &str, last: u64) {
        let line = match self.store.read(instance).await {
            Ok(history) if history.last().is_some_and(|event| event.event_id >= last) => return,
            Ok(history) => format!("bad read: {instance} has {} events, not {last}", history.len()),
            Err(error) if error.is_retryable() => format!("fault read: {error}"),
            Err(error) => format!("bad read: {error}"),
        };
        self.journal.note(&line);
    }

    async fn do_work(&self, style: Style) {
        while !self.is_over().await {
            let request = LeaseWork {
                limit: 4,
                lease_for: self.plan.lease,
                wait: WAIT,
                session: None,
                tags: TagFilter::DefaultOnly,
                serving: None,
            };
            let lease = || self.store.lease_work(request.clone());
            for work in self.persist("lease", lease).await.unwrap_or_default() {
                self.finish(style, work).await;
            }
        }
    }

    /// Fused if that is wanted and possible, else plainly.
    async fn finish(&self, style: Style, work: WorkLease) {
        let WorkItem::ActivityExecute { instance, id, .. } = &work.item else {
            return self.journal.note(&format!("bad work {work:?}"));
        };
        let incarnation = self.incarnations.borrow().get(instance).copied();
        if let (Style::Fused, Some(incarnation)) = (style, incarnation)
            && self.commit(fused_turn_of(&work, instance, *id, incarnation)).await.is_some()
        {
            return;
        }
        let completion = Some(completion_of(instance, *id));
        let finished = FinishedWork { token: work.token.clone(), completion };
        let finish =
            || async { self.store.finish_work(vec![finished.clone()]).await.pop().expect("one answer") };
        if self.persist("finish", finish).await.is_some() {
            self.journal.note(&format!("done {instance} {id}"));
        }
    }

    /// Repeats a call until it is answered. A refusal is an answer, but nothing to note as done.
    async fn persist<T, F>(&self, verb: &str, mut call: impl FnMut() -> F) -> Option<T>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        loop {
            let error = match call().await {
                Ok(answer) => return Some(answer),
                Err(error) => error,
            };
            match error.kind {
                ErrorKind::NotApplied | ErrorKind::Unknown => {
                    self.journal.note(&format!("fault {verb} {:?}: {}", error.kind, error.message));
                }
                ErrorKind::Rejected(Rejection::LeaseLost | Rejection::Busy) => {
                    self.journal.note(&format!("refused {verb} {:?}", error.kind));
                    return None;
                }
                ErrorKind::Rejected(_) => {
                    self.journal.note(&format!("bad {verb} {:?}: {}", error.kind, error.message));
                    return None;
                }
            }
            if self.is_late() {
                return None;
            }
            self.clock.sleep_until(self.clock.monotonic() + AGAIN).await;
        }
    }

    fn is_late(&self) -> bool {
        self.clock.monotonic() >= self.plan.at_most
    }

    /// Whether everything that was started has ended.
    async fn is_over(&self) -> bool {
        if self.is_late() {
            return true;
        }
        if self.starting.get() > 0 {
            return false;
        }
        self.store.inspect(|connection| left_to_do(connection).is_ok_and(|left| left == 0)).await
            == Some(true)
    }
}

/// How much work and mail is left, beside what goes to the sink.
pub(crate) fn left_to_do(connection: &rusqlite::Connection) -> rusqlite::Result<i64> {
    let query = "SELECT (SELECT count(*) FROM work) + (SELECT count(*) FROM message \
                 WHERE mailbox <> ifnull((SELECT no FROM mailbox WHERE id = ?1), 0))";
    connection.query_row(query, [SINK], |row| row.get(0))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Plain,
    Fused,
}

fn key(round: u64, kind: u64, number: u64) -> u128 {
    u128::from(round + 1) << 64 | u128::from(kind) << 60 | u128::from(number)
}
