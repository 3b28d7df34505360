//! Calls of this node that found nothing to lease and wait for something.
//!
//! Whoever waits is registered before it looks, so that nothing can come in between.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::lease::Times;
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

/// So many kinds of searches are remembered: as many as there are runtimes on one store with different tags, and then some.
const REMEMBERED: usize = 8;

#[derive(Debug)]
struct Entry {
    interest: Interest,
    heard: Arc<Heard>,
}

/// What somebody waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Interest {
    Instances,
    /// Work under one of these tags, as columns hold them; any, if there is no list.
    Work(Option<BTreeSet<String>>),
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

/// News that this node made itself, and told nobody else: those of instances, or of work under these tags.
pub(crate) type Ours = BTreeSet<String>;

/// Somebody who waits; gone when it is dropped.
#[derive(Debug)]
pub(crate) struct Waiter<'w> {
    waiters: &'w Waiters,
    number: u64,
    heard: Arc<Heard>,
}

/// What a node hears of.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Lane<'a> {
    Instances,
    Work(&'a BTreeSet<String>),
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

    /// Whether this node looks for work under all these tags, and has done so since then, but left some: it has no slots for more.
    pub(crate) fn leave_some(&self, tags: &BTreeSet<String>, since: Duration) -> bool {
        let register = lock(&self.0);
        let leaves = |tag: &String| {
            register.looks.iter().any(|look| {
                let is_under = look.terms.takes_work_under(&BTreeSet::from([tag.as_str()]));
                is_under && !look.has_drained && look.times.sent_at() >= since
            })
        };
        tags.iter().all(leaves)
    }

    /// An instance can be leased, by what this node did: says whether somebody here will look for it.
    pub(crate) fn call_for_instances(&self) -> bool {
        let concerned = self.concerned(Lane::Instances);
        for heard in &concerned {
            heard.call_for_ours(BTreeSet::new());
        }
        !concerned.is_empty()
    }

    /// There is work under these tags, by what this node did: says which of them somebody here will look for.
    pub(crate) fn call_for_work(&self, tags: &BTreeSet<String>) -> BTreeSet<String> {
        let mut register = lock(&self.0);
        register.heard_of.count_one(Lane::Work(tags));
        let wanting = register.waiting.values().filter_map(|entry| {
            let wanted = entry.interest.tags_among(tags);
            (!wanted.is_empty()).then(|| (Arc::clone(&entry.heard), wanted))
        });
        let wanting: Vec<(Arc<Heard>, BTreeSet<String>)> = wanting.collect();
        drop(register);
        let mut all = BTreeSet::new();
        for (heard, wanted) in wanting {
            all.extend(wanted.iter().cloned());
            heard.call_for_ours(wanted);
        }
        all
    }

    /// There is something now, as another node says.
    pub(crate) fn hint(&self, lane: Lane<'_>) {
        for heard in self.concerned(lane) {
            heard.call();
        }
    }

    /// Those who wait for this find something in the tray.
    pub(crate) fn ring(&self, interest: &Interest) {
        for entry in lock(&self.0).waiting.values().filter(|entry| entry.interest == *interest) {
            entry.heard.bell.notify_one();
        }
    }

    /// There will be something then, by the server's clock.
    pub(crate) fn announce(&self, interest: &Interest, due: i64) {
        let mut entries = lock(&self.0);
        for look in &mut entries.looks {
            if std::mem::discriminant(&look.terms.interest()) == std::mem::discriminant(interest) {
                look.times.announce(due);
            }
        }
        let same = entries
            .waiting
            .values()
            .filter(|entry| std::mem::discriminant(&entry.interest) == std::mem::discriminant(interest));
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
        register.heard_of.count_one(Lane::Instances);
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

    fn concerned(&self, lane: Lane<'_>) -> Vec<Arc<Heard>> {
        let mut register = lock(&self.0);
        register.heard_of.count_one(lane);
        let concerned = register.waiting.values().filter(|entry| entry.interest.is_in(lane));
        concerned.map(|entry| Arc::clone(&entry.heard)).collect()
    }
}

impl HeardOf {
    const fn count(&self, interest: &Interest) -> u64 {
        match interest {
            Interest::Instances => self.instances,
            Interest::Work(_) => self.work,
        }
    }

    const fn count_one(&mut self, lane: Lane<'_>) {
        let count = match lane {
            Lane::Instances => &mut self.instances,
            Lane::Work(_) => &mut self.work,
        };
        *count = count.wrapping_add(1);
    }
}

impl Interest {
    fn tags_among(&self, tags: &BTreeSet<String>) -> BTreeSet<String> {
        match self {
            Self::Instances => BTreeSet::new(),
            Self::Work(None) => tags.clone(),
            Self::Work(Some(wanted)) => wanted.intersection(tags).cloned().collect(),
        }
    }

    fn is_in(&self, lane: Lane<'_>) -> bool {
        match (self, lane) {
            (Self::Instances, Lane::Instances) => true,
            (Self::Work(None), Lane::Work(tags)) => !tags.is_empty(),
            (Self::Work(Some(wanted)), Lane::Work(tags)) => !wanted.is_disjoint(tags),
            (Self::Instances, Lane::Work(_)) | (Self::Work(_), Lane::Instances) => false,
        }
    }
}

impl Heard {
    fn call_for_ours(&self, tags: Ours) {
        lock(&self.state).ours.get_or_insert_default().extend(tags);
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
