//! What waits on the desk, by kind, and how much of it a connection takes at once.

use std::collections::{BTreeSet, VecDeque};

use super::abandon::{AbandonInstance, AbandonWork};
use super::batch::{Batched, Key, MOST_BYTES, Waiting};
use super::call::Call;
use super::commit::Commit;
use super::enqueue::Enqueue;
use super::finish::Finish;
use super::renew::{RenewInstance, RenewWork};

/// What a connection takes at once.
pub(crate) enum Work {
    Commits(Vec<Waiting<Commit>>),
    Finishes(Vec<Waiting<Finish>>),
    Enqueues(Vec<Waiting<Enqueue>>),
    AbandonInstances(Vec<Waiting<AbandonInstance>>),
    AbandonActivities(Vec<Waiting<AbandonWork>>),
    RenewInstances(Vec<Waiting<RenewInstance>>),
    RenewActivities(Vec<Waiting<RenewWork>>),
    Call(Call),
}

/// For the ordinary connections.
#[derive(Default)]
pub(super) struct Ordinary {
    pub(super) commits: VecDeque<Waiting<Commit>>,
    pub(super) finishes: VecDeque<Waiting<Finish>>,
    pub(super) enqueues: VecDeque<Waiting<Enqueue>>,
    pub(super) abandon_instances: VecDeque<Waiting<AbandonInstance>>,
    pub(super) abandon_work: VecDeque<Waiting<AbandonWork>>,
    pub(super) calls: VecDeque<Call>,
    /// Whose turn it is.
    turn: usize,
}

/// For the one that renews.
#[derive(Default)]
pub(super) struct Renewals {
    pub(super) instances: VecDeque<Waiting<RenewInstance>>,
    pub(super) work: VecDeque<Waiting<RenewWork>>,
    pub(super) calls: VecDeque<Call>,
    turn: usize,
}

impl Ordinary {
    const KINDS: usize = 6;

    pub(super) fn has_some(&self) -> bool {
        !(self.commits.is_empty()
            && self.finishes.is_empty()
            && self.enqueues.is_empty()
            && self.abandon_instances.is_empty()
            && self.abandon_work.is_empty()
            && self.calls.is_empty())
    }

    pub(super) fn take(&mut self) -> Option<Work> {
        for _ in 0..Self::KINDS {
            let kind = self.turn;
            self.turn = (self.turn + 1) % Self::KINDS;
            let work = match kind {
                0 => some_of(&mut self.commits).map(Work::Commits),
                1 => some_of(&mut self.finishes).map(Work::Finishes),
                2 => some_of(&mut self.enqueues).map(Work::Enqueues),
                3 => some_of(&mut self.abandon_instances).map(Work::AbandonInstances),
                4 => some_of(&mut self.abandon_work).map(Work::AbandonActivities),
                _ => self.calls.pop_front().map(Work::Call),
            };
            if work.is_some() {
                return work;
            }
        }
        None
    }
}

impl Renewals {
    const KINDS: usize = 3;

    pub(super) fn has_some(&self) -> bool {
        !(self.instances.is_empty() && self.work.is_empty() && self.calls.is_empty())
    }

    pub(super) fn take(&mut self) -> Option<Work> {
        for _ in 0..Self::KINDS {
            let kind = self.turn;
            self.turn = (self.turn + 1) % Self::KINDS;
            let work = match kind {
                0 => some_of(&mut self.instances).map(Work::RenewInstances),
                1 => some_of(&mut self.work).map(Work::RenewActivities),
                _ => self.calls.pop_front().map(Work::Call),
            };
            if work.is_some() {
                return work;
            }
        }
        None
    }
}

/// Takes what can go together: everything, but for a second one of the same key, which is judged by what the first one leaves.
fn some_of<B: Batched>(queue: &mut VecDeque<Waiting<B>>) -> Option<Vec<Waiting<B>>> {
    let mut keys = BTreeSet::new();
    let mut bytes: usize = 0;
    let mut together = Vec::new();
    let mut rest = VecDeque::new();
    for waiting in queue.drain(..) {
        let key = waiting.what.key();
        let is_alone = key == Key::Alone;
        let is_light = bytes.saturating_add(waiting.what.bytes()) <= MOST_BYTES;
        let fits = together.len() < B::MOST && !keys.contains(&Key::Alone);
        let goes_along = together.is_empty() || (is_light && !is_alone);
        if fits && goes_along && (key == Key::Any || keys.insert(key)) {
            bytes = bytes.saturating_add(waiting.what.bytes());
            together.push(waiting);
        } else {
            rest.push_back(waiting);
        }
    }
    *queue = rest;
    if together.is_empty() { None } else { Some(together) }
}
