//! Who is at work at the same time, and how it is noted down.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use abide_host::SystemClock;
use abide_model::{Clock, Sleep, Timestamp};
use abide_sqlite::SqliteProvider;
use futures::executor::block_on;

use super::call::{Call, Outcome};
use super::{audit, deleters, workers};
use crate::support::clock::mix;

/// A call, when it began and ended, and what came of it.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// Counted over all threads: two calls overlap unless one ended before the other began.
    pub(crate) began: u64,
    pub(crate) ended: u64,
    /// The time at its end, in milliseconds since the epoch.
    pub(crate) until: u64,
    pub(crate) call: Call,
    pub(crate) outcome: Outcome,
}

/// How much is done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    /// Calls that each member of the crowd makes.
    pub(crate) calls: usize,
    /// How often everything stored is looked at meanwhile.
    pub(crate) audits: usize,
}

/// How many roots there are; with their children they are few enough to come and go often.
pub(crate) const ROOTS: u64 = 12;

/// How many members delete; each names roots of its own.
pub(crate) const DELETERS: u64 = 3;

/// A member of the crowd: makes calls and notes them.
pub(crate) struct Member<'a> {
    store: &'a SqliteProvider,
    stamps: &'a AtomicU64,
    pub(crate) dice: Dice,
    pub(crate) clock: &'a SteadyClock,
    pub(crate) entries: Vec<Entry>,
    name: String,
    calls: usize,
}

impl Member<'_> {
    pub(crate) fn make(&mut self, call: Call) -> Outcome {
        let began = self.stamps.fetch_add(1, Ordering::SeqCst);
        let outcome = block_on(call.make(self.store));
        let ended = self.stamps.fetch_add(1, Ordering::SeqCst);
        let until = self.clock.wall().as_millis();
        self.entries.push(Entry { began, ended, until, call, outcome: outcome.clone() });
        outcome
    }

    pub(crate) fn is_done(&self) -> bool {
        self.entries.len() >= self.calls
    }

    /// A text that nobody else writes.
    pub(crate) fn mark(&self) -> String {
        format!("{}-{}", self.name, self.entries.len())
    }
}

/// Lets everybody work at once, and returns what they noted.
pub(crate) fn work(store: &SqliteProvider, clock: &SteadyClock, plan: Plan) -> Vec<Entry> {
    let stamps = AtomicU64::new(0);
    let member = |name: &str, number: u64| Member {
        store,
        stamps: &stamps,
        dice: Dice(mix(plan.seed.wrapping_mul(1_000).wrapping_add(number))),
        clock,
        entries: Vec::new(),
        name: format!("{name}{number}"),
        calls: plan.calls,
    };
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for number in 0..2 {
            let client = member("client", number);
            threads.push(scope.spawn(move || workers::send(client)));
        }
        for number in 2..5 {
            let turns = member("turns", number);
            threads.push(scope.spawn(move || workers::take_turns(turns)));
        }
        for number in 5..7 {
            let worker = member("worker", number);
            threads.push(scope.spawn(move || workers::finish_work(worker)));
        }
        for number in 0..DELETERS {
            let deleter = member("deleter", 7 + number);
            threads.push(scope.spawn(move || deleters::delete(deleter, number)));
        }
        let auditor = scope.spawn(|| (0..plan.audits).for_each(|_| audit::pass(store, clock)));
        let entries =
            threads.into_iter().flat_map(|thread| thread.join().expect("a member failed")).collect();
        auditor.join().expect("what is stored makes no sense");
        entries
    })
}

/// The machine's time, but never backwards: what is replayed goes forward only.
#[derive(Debug, Default)]
pub(crate) struct SteadyClock {
    machine: SystemClock,
    last: Arc<AtomicU64>,
}

impl Clock for SteadyClock {
    fn wall(&self) -> Timestamp {
        let now = self.machine.wall().as_millis();
        Timestamp::from_millis(now.max(self.last.fetch_max(now, Ordering::SeqCst)))
    }

    fn monotonic(&self) -> Duration {
        self.machine.monotonic()
    }

    fn sleep_until(&self, monotonic: Duration) -> Sleep {
        self.machine.sleep_until(monotonic)
    }
}

/// Choices that differ from member to member (splitmix64).
#[derive(Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0) % end
    }

    pub(crate) fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    pub(crate) fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(u64::try_from(length).unwrap())).unwrap()
    }

    /// Any root.
    pub(crate) fn root(&mut self) -> String {
        format!("r{}", self.below(ROOTS))
    }

    /// A root, or a name below it that may or may not be there.
    pub(crate) fn name(&mut self) -> String {
        let root = self.root();
        self.below_of(root)
    }

    /// This root, or a name below it.
    pub(crate) fn below_of(&mut self, root: String) -> String {
        match self.below(10) {
            0..=5 => root,
            6..=8 => child_of(&root, self.below(2)),
            _ => child_of(&child_of(&root, self.below(2)), self.below(2)),
        }
    }
}

/// Every name that there can be.
pub(crate) fn all_names() -> Vec<String> {
    (0..ROOTS).flat_map(|root| names_below(&format!("r{root}"))).collect()
}

/// A root and every name that there can be below it, parents before children.
pub(crate) fn names_below(root: &str) -> Vec<String> {
    let children = |parent: &String| (0..2).map(|number| child_of(parent, number)).collect::<Vec<_>>();
    let mut names = vec![root.to_owned()];
    names.extend(children(&root.to_owned()));
    let grandchildren: Vec<String> = names[1..].iter().flat_map(children).collect();
    names.extend(grandchildren);
    names
}

pub(crate) fn child_of(parent: &str, number: u64) -> String {
    format!("{parent}.{number}")
}
