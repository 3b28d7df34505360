//! Calls that changed nothing: their answer must have been true at some moment between their beginning and their end.

use std::collections::HashMap;
use std::time::Duration;

use abide_memory::InMemoryProvider;
use abide_model::WorkItem;
use abide_provider::{Authority, DeleteInstanceResult, Provider as _, Rejection};
use futures::executor::block_on;

use super::call::{Call, Outcome};
use super::crowd::Entry;
use super::family::Family;
use super::order::{Step, Window, Windows};

/// An answer that is still to be found true.
struct Claim<'a> {
    entry: &'a Entry,
    window: Window,
}

/// All of them, and how many were found true.
pub(crate) struct Claims<'a> {
    /// Those whose time has not come, the earliest at the end.
    to_come: Vec<Claim<'a>>,
    open: Vec<Claim<'a>>,
    pub(crate) true_ones: usize,
}

impl<'a> Claims<'a> {
    pub(crate) fn of(entries: &'a [Entry], steps: &[Step], windows: &Windows) -> Self {
        let mut has_effect = vec![false; entries.len()];
        for step in steps {
            if let Step::Call { entry, .. } = step {
                has_effect[*entry] = true;
            }
        }
        let silent = entries.iter().zip(has_effect).filter(|(_, has_effect)| !has_effect);
        let mut to_come: Vec<Claim<'a>> =
            silent.map(|(entry, _)| Claim { entry, window: windows.of_entry(entry) }).collect();
        to_come.sort_by_key(|claim| std::cmp::Reverse(claim.window.from));
        Self { to_come, open: Vec::new(), true_ones: 0 }
    }

    /// Tries everything that may be true after so many steps.
    ///
    /// # Errors
    ///
    /// If something never was.
    pub(crate) fn look(
        &mut self,
        made: usize,
        model: &InMemoryProvider,
        tokens: &HashMap<String, String>,
    ) -> Result<(), String> {
        while let Some(claim) = self.to_come.pop_if(|claim| claim.window.from <= made) {
            self.open.push(claim);
        }
        let before = self.open.len();
        self.open.retain(|claim| !is_true(claim.entry, model, tokens));
        self.true_ones += before - self.open.len();
        match self.open.iter().find(|claim| claim.window.to <= made) {
            None => Ok(()),
            Some(claim) => {
                Err(format!("never true, from step {} to here: {:?}", claim.window.from, claim.entry))
            }
        }
    }
}

fn is_true(entry: &Entry, model: &InMemoryProvider, tokens: &HashMap<String, String>) -> bool {
    let family = Family(model);
    match (&entry.call, &entry.outcome) {
        (Call::Look(look), Outcome::Seen(seen)) => block_on(look.make(model)) == *seen,
        (Call::Delete { instance, force }, Outcome::Refused(refusal)) => {
            let expected = family.refusal_of_root(instance, *force);
            expected.is_some_and(|expected| expected.to_string() == refusal.message)
        }
        (Call::DeleteSet { ids, force }, Outcome::Refused(refusal)) => {
            let expected = family.refusal_of_set(ids, *force);
            expected.is_some_and(|expected| expected.to_string() == refusal.message)
        }
        (Call::DeleteSet { ids, .. }, Outcome::Deleted(deleted)) if is_nothing(deleted) => {
            !ids.iter().any(|id| family.is_instance(id))
        }
        (Call::Prune { instance, .. }, Outcome::Refused(_)) => !family.is_instance(instance),
        (Call::Prune { instance, .. }, Outcome::Pruned(_)) => family.is_instance(instance),
        (Call::Enqueue(WorkItem::QueueMessage { instance, .. }), Outcome::Done) => {
            !family.is_instance(instance) && !family.is_about_to_start(instance)
        }
        (_, Outcome::Refused(refusal)) => match refusal.rejection {
            Some(Rejection::LeaseLost) => is_lost(&entry.call, model, tokens),
            Some(Rejection::Busy) => true,
            Some(_) | None => false,
        },
        // Found nothing to do, or is dealt with where it is replayed.
        (_, Outcome::Instances(_) | Outcome::Work(_) | Outcome::Deleted(_) | Outcome::Pruned(_)) => true,
        (_, Outcome::Done | Outcome::Committed(_) | Outcome::Seen(_)) => false,
    }
}

pub(crate) fn is_nothing(deleted: &DeleteInstanceResult) -> bool {
    deleted.instances_deleted + deleted.queue_messages_deleted == 0
}

/// Whether the lease of a call is lost by now. Extending it by nothing asks just that.
fn is_lost(call: &Call, model: &InMemoryProvider, tokens: &HashMap<String, String>) -> bool {
    let Some(token) = call.token().and_then(|token| tokens.get(token)) else { return false };
    let is_of_work = if let Call::Commit(commit) = call {
        matches!(commit.authority, Authority::FinishedWork { .. })
    } else {
        matches!(call, Call::Finish(_) | Call::AbandonWork { .. })
    };
    if is_of_work {
        block_on(model.renew_work_item_lock(token, Duration::ZERO)).is_err()
    } else {
        block_on(model.renew_orchestration_item_lock(token, Duration::ZERO)).is_err()
    }
}
