//! Calls of this node that found nothing to lease and wait for something.
//!
//! Whoever waits is registered before it looks, so that nothing can come in between.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::lease::Times;
use crate::routes::{InstanceFilter, Routes, WorkFilter};
use crate::terms::Terms;

/// Everyone who waits.
#[derive(Debug, Default)]
pub(crate) struct Waiters(Mutex<Register>);

#[derive(Debug, Default)]
struct Register {
    last: u64,
    waiting: BTreeMap<u64, Entry>,
    /// How often anything was heard of, by whoever waited, and also if nobody did.
    heard_of: HeardOf,
    /// The last look under each of the terms.
    looks: VecDeque<LastLook>,
}

#[derive(Debug, Default)]
struct HeardOf {
    instances: u64,
    work: u64,
}

/// The last look under these terms.
#[derive(Debug)]
pub(crate) struct LastLook {
    pub(crate) terms: Terms,
    /// What had been heard of before it.
    pub(crate) heard_of: u64,
    /// When it was, and when to look again if it left nothing and nothing is heard of.
    pub(crate) times: Times,
    /// Whether it took all there was.
    pub(crate) has_drained: bool,
}

/// So many kinds of searches are remembered: as many as there are runtimes on one store that serve different things, and then some.
const REMEMBERED: usize = 8;

#[derive(Debug)]
struct Entry {
    interest: Interest,
    heard: Arc<Heard>,
}

/// What somebody waits for.
#[derive(Debug, Clone)]
pub(crate) enum Interest {
    Instances(Arc<InstanceFilter>),
    Work(Arc<WorkFilter>),
}

/// What can be leased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Instances,
    Work,
}

/// What somebody who waits has heard.
#[derive(Debug, Default)]
struct Heard {
    bell: Notify,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Whether it looked in vain.
    is_waiting: bool,
    /// Whether there is a reason to look.
    is_called: bool,
    /// What this node made itself, and told nobody else.
    ours: Option<Ours>,
    /// The earliest time by the server's clock at which there will be something.
    due: Option<i64>,
}

/// News that this node made itself, and told nobody else: the routes of instances, or of work.
pub(crate) type Ours = BTreeSet<i64>;

/// Somebody who waits; gone when it is dropped.
#[derive(Debug)]
pub(crate) struct Waiter<'w> {
    waiters: &'w Waiters,
    number: u64,
    heard: Arc<Heard>,
}

/// What a node hears of: something can be leased under these routes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Lane<'a> {
    Instances(&'a BTreeSet<i64>),
    Work(&'a BTreeSet<i64>),
}

impl Waiters {
    pub(crate) fn enter(&self, interest: Interest) -> Waiter<'_> {
        let heard = Arc::new(Heard::default());
        let mut register = lock(&self.0);
        register.last += 1;
        let number = register.last;
        register.waiting.insert(number, Entry { interest, heard: Arc::clone(&heard) });
        Waiter { waiters: self, number, heard }
    }

    /// How often anything of this kind was heard of.
    pub(crate) fn heard_of(&self, interest: &Interest) -> u64 {
        lock(&self.0).heard_of.count(interest)
    }

    /// Somebody looked, after so much was heard of. What was announced while it was under way, it did not see.
    pub(crate) fn note_look(&self, waiter: &Waiter<'_>, mut look: LastLook) {
        let mut register = lock(&self.0);
        if let Some(due) = waiter.announced() {
            look.times.announce(due);
        }
        register.looks.retain(|other| other.terms != look.terms);
        register.looks.truncate(REMEMBERED - 1);
        register.looks.push_front(look);
    }

    /// If the last look took all there was, and nothing was heard of since: when to look again.
    pub(crate) fn drained(&self, terms: &Terms) -> Option<Times> {
        let register = lock(&self.0);
        let count = register.heard_of.count(&terms.interest());
        let look = register.looks.iter().find(|look| look.terms == *terms)?;
        (look.has_drained && look.heard_of == count).then_some(look.times)
    }

    /// When the last look under these terms was sent.
    pub(crate) fn looked_at(&self, terms: &Terms) -> Option<Duration> {
        let register = lock(&self.0);
        register.looks.iter().find(|look| look.terms == *terms).map(|look| look.times.sent_at())
    }

    /// Whether this node looks for work under all these routes, and has done so since then, but left some: it has no slots for more.
    pub(crate) fn leave_some(&self, work: &BTreeSet<i64>, since: Duration, known: &Routes) -> bool {
        let register = lock(&self.0);
        let leaves = |route: i64| {
            register.looks.iter().any(|look| {
                let is_under =
                    !look.terms.interest().among(Lane::Work(&BTreeSet::from([route])), known).is_empty();
                is_under && !look.has_drained && look.times.sent_at() >= since
            })
        };
        work.iter().all(|route| leaves(*route))
    }

    /// Something can be leased, by what this node did: says under which of the routes somebody here will look for it.
    pub(crate) fn call_for(&self, lane: Lane<'_>, known: &Routes) -> BTreeSet<i64> {
        let mut register = lock(&self.0);
        register.heard_of.count_one(lane);
        let wanting = register.waiting.values().filter_map(|entry| {
            let wanted = entry.interest.among(lane, known);
            (!wanted.is_empty()).then(|| (Arc::clone(&entry.heard), wanted))
        });
        let wanting: Vec<(Arc<Heard>, BTreeSet<i64>)> = wanting.collect();
        drop(register);
        let mut all = BTreeSet::new();
        for (heard, wanted) in wanting {
            all.extend(wanted.iter().copied());
            heard.call_for_ours(wanted);
        }
        all
    }

    /// There is something now, as another node says.
    pub(crate) fn hint(&self, lane: Lane<'_>, known: &Routes) {
        let mut register = lock(&self.0);
        register.heard_of.count_one(lane);
        let concerned =
            register.waiting.values().filter(|entry| !entry.interest.among(lane, known).is_empty());
        let concerned: Vec<Arc<Heard>> = concerned.map(|entry| Arc::clone(&entry.heard)).collect();
        drop(register);
        for heard in concerned {
            heard.call();
        }
    }

    /// Those who wait for this find something in the tray.
    pub(crate) fn ring(&self, interest: &Interest) {
        for entry in lock(&self.0).waiting.values().filter(|entry| entry.interest.is_like(interest)) {
            entry.heard.bell.notify_one();
        }
    }

    /// There will be something then, by the server's clock.
    pub(crate) fn announce(&self, of: Kind, due: i64) {
        let mut entries = lock(&self.0);
        for look in &mut entries.looks {
            if look.terms.kind() == of {
                look.times.announce(due);
            }
        }
        let same = entries.waiting.values().filter(|entry| entry.interest.kind() == of);
        for entry in same {
            let mut state = lock(&entry.heard.state);
            if state.due.is_none_or(|known| due < known) {
                state.due = Some(due);
                entry.heard.bell.notify_one();
            }
        }
    }

    /// Everybody looks: something may have been missed.
    pub(crate) fn call_all(&self) {
        let mut register = lock(&self.0);
        register.looks.clear();
        // Nor is a look believed that is under way.
        register.heard_of.count_one(Lane::Instances(&BTreeSet::new()));
        register.heard_of.count_one(Lane::Work(&BTreeSet::new()));
        let all: Vec<Arc<Heard>> = register.waiting.values().map(|entry| Arc::clone(&entry.heard)).collect();
        drop(register);
        for heard in all {
            heard.call();
        }
    }

    /// How many looked in vain and wait.
    pub(crate) fn count_waiting(&self) -> usize {
        lock(&self.0).waiting.values().filter(|entry| lock(&entry.heard.state).is_waiting).count()
    }
}

impl HeardOf {
    const fn count(&self, interest: &Interest) -> u64 {
        match interest {
            Interest::Instances(_) => self.instances,
            Interest::Work(_) => self.work,
        }
    }

    const fn count_one(&mut self, lane: Lane<'_>) {
        let count = match lane {
            Lane::Instances(_) => &mut self.instances,
            Lane::Work(_) => &mut self.work,
        };
        *count = count.wrapping_add(1);
    }
}

impl Interest {
    /// The routes of a lane under which it may take something. Routes that are not known yet are among them.
    pub(crate) fn among(&self, lane: Lane<'_>, known: &Routes) -> BTreeSet<i64> {
        let (routes, admission) = match (self, lane) {
            (Self::Instances(filter), Lane::Instances(routes)) => (routes, known.admitted(filter)),
            (Self::Work(filter), Lane::Work(routes)) => (routes, known.admitted_work(filter)),
            (Self::Instances(_), Lane::Work(_)) | (Self::Work(_), Lane::Instances(_)) => {
                return BTreeSet::new();
            }
        };
        routes.iter().copied().filter(|route| admission.may_take(*route)).collect()
    }

    const fn kind(&self) -> Kind {
        match self {
            Self::Instances(_) => Kind::Instances,
            Self::Work(_) => Kind::Work,
        }
    }

    /// Of its own kind.
    pub(crate) const fn lane<'a>(&self, routes: &'a BTreeSet<i64>) -> Lane<'a> {
        match self {
            Self::Instances(_) => Lane::Instances(routes),
            Self::Work(_) => Lane::Work(routes),
        }
    }

    /// Whether somebody else waits for the same, apart from suspects.
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Instances(filter), Self::Instances(other)) => filter.takes_like(other),
            (Self::Work(filter), Self::Work(other)) => filter.takes_like(other),
            (Self::Instances(_), Self::Work(_)) | (Self::Work(_), Self::Instances(_)) => false,
        }
    }
}

impl Heard {
    fn call_for_ours(&self, routes: Ours) {
        lock(&self.state).ours.get_or_insert_default().extend(routes);
        self.call();
    }

    fn call(&self) {
        lock(&self.state).is_called = true;
        self.bell.notify_one();
    }
}

impl Waiter<'_> {
    /// Waits until something is heard: a reason to look, or a time at which there will be one.
    pub(crate) async fn heard(&self) {
        lock(&self.heard.state).is_waiting = true;
        self.heard.bell.notified().await;
    }

    /// Before a look: what was heard so far is taken note of. Says what this node made itself, and told nobody else.
    pub(crate) fn take_note(&self) -> Option<Ours> {
        std::mem::take(&mut *lock(&self.heard.state)).ours
    }

    /// Waits no longer. Says the same of what was heard since the last look.
    pub(crate) fn leave(&self) -> Option<Ours> {
        lock(&self.waiters.0).waiting.remove(&self.number);
        self.take_note()
    }

    /// Whether there is a reason to look.
    pub(crate) fn is_called(&self) -> bool {
        lock(&self.heard.state).is_called
    }

    /// The earliest time that was announced since the last look.
    pub(crate) fn announced(&self) -> Option<i64> {
        lock(&self.heard.state).due
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        lock(&self.waiters.0).waiting.remove(&self.number);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing can panic while it is held, and what it guards cannot be half changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
