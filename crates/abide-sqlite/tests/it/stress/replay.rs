//! Doing to the model what the store has done, in the same order: it must answer the same and end up the same.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use abide_memory::InMemoryProvider;
use abide_model::{Clock as _, PruneOptions};
use abide_provider::{
    InstanceFilter, LeaseInstances, LeaseWork, Provider as _, ProviderAdmin as _, StolenLeases, TagFilter,
};
use futures::executor::block_on;
use futures::{FutureExt as _, StreamExt as _};

use super::call::{Call, LEASE, Outcome, plain_lease, plain_work};
use super::claims::Claims;
use super::crowd::{self, Entry};
use super::deletions::{Deletion, Top, counts};
use super::family::Family;
use super::order::{Step, Windows};
use crate::support::clock::{ManualClock, SeededEntropy};

/// The model, and what is known of it.
pub(crate) struct Replay<'a> {
    entries: &'a [Entry],
    steps: &'a [Step],
    windows: &'a Windows,
    pub(crate) model: InMemoryProvider,
    clock: ManualClock,
    /// From the store's tokens to the model's.
    tokens: HashMap<String, String>,
    listener: StolenLeases,
    pub(crate) deletions: Vec<Deletion>,
    pub(crate) pruned: Pruned,
    pub(crate) true_claims: usize,
}

/// What calls for pruning have removed.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pruned {
    pub(crate) executions: u64,
    pub(crate) events: u64,
}

impl<'a> Replay<'a> {
    /// The model's time begins when that of the store did: mail that waits for a start does not wait for ever.
    pub(crate) fn new(entries: &'a [Entry], steps: &'a [Step], windows: &'a Windows, begin: u64) -> Self {
        let clock = ManualClock::at(begin);
        let model = InMemoryProvider::with_seams(Arc::new(clock.clone()), Arc::new(SeededEntropy::new(1)));
        let listener = model.stolen_leases().expect("the model tells");
        Self {
            entries,
            steps,
            windows,
            model,
            clock,
            tokens: HashMap::new(),
            listener,
            deletions: Vec::new(),
            pruned: Pruned::default(),
            true_claims: 0,
        }
    }

    /// Makes every step.
    ///
    /// # Errors
    ///
    /// What the store did, and the model does not do.
    pub(crate) fn run(&mut self) -> Result<(), String> {
        let mut claims = Claims::of(self.entries, self.steps, self.windows);
        claims.look(0, &self.model, &self.tokens)?;
        for (number, step) in self.steps.iter().enumerate() {
            self.make(number, step)
                .map_err(|difference| format!("step {number}: {difference}\n{}", self.story(number)))?;
            claims
                .look(number + 1, &self.model, &self.tokens)
                .map_err(|never| format!("step {number}: {never}\n{}", self.story(number)))?;
        }
        claims.look(self.steps.len(), &self.model, &self.tokens)?;
        self.true_claims = claims.true_ones;
        Ok(())
    }

    fn make(&mut self, number: usize, step: &Step) -> Result<(), String> {
        match step {
            Step::Call { entry, index, at } => {
                if let Some(at) = at {
                    self.be_at(*at);
                }
                self.call(&self.entries[*entry], *index)
            }
            Step::Delete(gone) => self.delete(number, gone),
            Step::Prune { mailbox, executions } => self.prune(number, *mailbox, executions),
        }
    }

    /// The model's time goes to this one.
    pub(crate) fn be_at(&self, time: u64) {
        self.clock.advance(Duration::from_millis(time - self.clock.wall().as_millis()));
    }

    fn call(&mut self, entry: &Entry, index: usize) -> Result<(), String> {
        let (theirs, ours) = match &entry.outcome {
            Outcome::Instances(leases) => {
                let theirs = &leases[index];
                let ours = block_on(self.model.lease_instances(one_instance())).unwrap().pop();
                let ours = ours.ok_or_else(|| format!("there is nothing to lease, but {theirs:?}"))?;
                self.tokens.insert(theirs.token.clone(), ours.token.clone());
                if theirs.store_time < ours.store_time {
                    return Err(format!(
                        "handed over before it was granted: {theirs:?}, {:?}",
                        ours.store_time
                    ));
                }
                (plain_lease(theirs), plain_lease(&ours))
            }
            Outcome::Work(leases) => {
                let theirs = &leases[index];
                let ours = block_on(self.model.lease_work(one_activity())).unwrap().pop();
                let ours = ours.ok_or_else(|| format!("there is no work, but {theirs:?}"))?;
                self.tokens.insert(theirs.token.clone(), ours.token.clone());
                (plain_work(theirs.clone()), plain_work(ours))
            }
            outcome @ (Outcome::Done
            | Outcome::Committed(_)
            | Outcome::Deleted(_)
            | Outcome::Pruned(_)
            | Outcome::Seen(_)
            | Outcome::Refused(_)) => {
                let ours = block_on(entry.call.with_token(&self.tokens).make(&self.model));
                (outcome.plain(), ours.plain())
            }
        };
        if theirs == ours {
            Ok(())
        } else {
            Err(format!("{:?}\n  store {theirs}\n  model {ours}", entry.call))
        }
    }

    /// Deletes what went together. Whoever asked for it is found out later.
    fn delete(&mut self, step: usize, gone: &[(u64, String)]) -> Result<(), String> {
        let family = Family(&self.model);
        let ids: Vec<String> = gone.iter().map(|(_, id)| id.clone()).collect();
        let is_top = |id: &&String| !family.parent(id).is_some_and(|parent| ids.contains(&parent));
        let tops: Vec<String> = ids.iter().filter(is_top).cloned().collect();
        let members = tops.iter().map(|top| self.member(top)).collect();
        let mut deletion = Deletion {
            step,
            needs_force: ids.iter().any(|id| !family.is_finished(id)),
            there: crowd::names_below(&root_of(&ids[0]))
                .into_iter()
                .filter(|id| family.is_instance(id))
                .collect(),
            tops: members,
            ids,
            counts: [0; 4],
            is_claimed: false,
        };
        // By force, because whether it was allowed is judged by who asked; that nothing is left behind is judged here.
        let deleted = block_on(self.model.delete_instances_atomic(&deletion.ids, true));
        deletion.counts = counts(&deleted.map_err(|error| format!("{:?}: {error}", deletion.ids))?);
        self.deletions.push(deletion);
        Ok(())
    }

    /// What the rules of deletion ask about one that is about to go.
    fn member(&self, id: &str) -> Top {
        let family = Family(&self.model);
        let dump = self.model.dump();
        let link = dump.instances.get(id).and_then(|instance| instance.parent.clone());
        let is_child = link.is_some();
        let asking =
            link.and_then(|(parent, execution, _)| family.execution(&parent, execution.unwrap_or(1)));
        let ended = family.ended(id);
        let asking_ended = asking.map_or(ended, |asking| asking.completed_at);
        Top { id: id.to_owned(), is_child, status: family.status(id), ended, asking_ended }
    }

    /// Prunes what went, by the options of a call that asked for just that; or of two, one after the other.
    fn prune(&mut self, number: usize, mailbox: u64, executions: &[u64]) -> Result<(), String> {
        let mut left = executions;
        while !left.is_empty() {
            let lengths = (1..=left.len()).rev();
            let fitting = lengths.map(|length| &left[..length]).find_map(|some| {
                let (id, options) = self.who_prunes(number, mailbox, some)?;
                Some((some.len(), id, options))
            });
            let (length, id, options) = fitting
                .ok_or_else(|| format!("nobody asked for {left:?} of mailbox {mailbox} to be pruned"))?;
            let pruned = block_on(self.model.prune_executions(&id, options)).unwrap();
            self.pruned.executions += pruned.executions_deleted;
            self.pruned.events += pruned.events_deleted;
            left = &left[length..];
        }
        Ok(())
    }

    /// The name of a mailbox, and options with which somebody asked for just these executions.
    fn who_prunes(&self, step: usize, mailbox: u64, executions: &[u64]) -> Option<(String, PruneOptions)> {
        let dump = self.model.dump();
        let (id, instance) = dump.instances.iter().find(|(_, instance)| instance.incarnation == mailbox)?;
        let of_it = dump.executions.iter().filter(|((owner, _), _)| owner == id);
        let past: Vec<Past> = of_it
            .map(|((_, number), execution)| Past {
                number: *number,
                has_ended: execution.status != "Running",
                completed: execution.completed,
            })
            .collect();
        let askers = self.entries.iter().filter(|entry| self.windows.of_entry(entry).holds(step));
        let mut options = askers.filter_map(|entry| options_for(&entry.call, id));
        let fitting = options.find(|options| outdated(&past, instance.execution, options) == executions)?;
        Some((id.clone(), fitting))
    }

    /// The leases that were taken away, as the store would name them.
    pub(crate) fn stolen(&mut self) -> Vec<String> {
        let names: HashMap<&String, &String> =
            self.tokens.iter().map(|(theirs, ours)| (ours, theirs)).collect();
        let mut told = Vec::new();
        while let Some(Some(stolen)) = self.listener.next().now_or_never() {
            told.push(format!("{} {:?}", names[&stolen.token], stolen.because));
        }
        told.sort();
        told
    }

    /// Tokens of leases that have ended or were taken away.
    pub(crate) fn tokens_of_the_past(&self) -> Vec<String> {
        let is_past = |token: &str| {
            block_on(self.model.renew_orchestration_item_lock(token, Duration::ZERO)).is_err()
                && block_on(self.model.renew_work_item_lock(token, Duration::ZERO)).is_err()
        };
        self.tokens.iter().filter(|(_, ours)| is_past(ours)).map(|(theirs, _)| theirs.clone()).collect()
    }

    /// The last steps before this one, to look at.
    fn story(&self, until: usize) -> String {
        let from = until.saturating_sub(40);
        let line = |number: usize| match &self.steps[number] {
            Step::Call { entry, index, .. } => {
                let Entry { began, ended, call, outcome, .. } = &self.entries[*entry];
                let text = format!("{number}. [{began}, {ended}] {call:?} #{index}: {}", outcome.plain());
                text.chars().take(1_000).collect()
            }
            step @ (Step::Delete(_) | Step::Prune { .. }) => format!("{number}. {step:?}"),
        };
        (from..=until).map(line).collect::<Vec<_>>().join("\n")
    }
}

/// How a call for pruning would prune this instance.
fn options_for(call: &Call, id: &String) -> Option<PruneOptions> {
    if let Call::Prune { instance, options } = call {
        return (instance == id).then(|| options.clone());
    }
    let Call::PruneBulk { filter: InstanceFilter { instance_ids, .. }, options } = call else { return None };
    let is_meant = instance_ids.as_ref().is_none_or(|ids| ids.contains(id));
    is_meant.then(|| options.clone())
}

/// An execution that may be pruned.
struct Past {
    number: u64,
    has_ended: bool,
    completed: Option<u64>,
}

/// What these options remove: not the current execution, not a running one, not the last few.
fn outdated(past: &[Past], current: u64, options: &PruneOptions) -> Vec<u64> {
    let keep = usize::try_from(options.keep_last.unwrap_or(1).max(1)).unwrap();
    let older = past.iter().rev().skip(keep).rev();
    let is_meant = |past: &&Past| {
        let is_old =
            options.completed_before.is_none_or(|before| past.completed.is_some_and(|at| at < before));
        past.number != current && past.has_ended && is_old
    };
    older.filter(is_meant).map(|past| past.number).collect()
}

fn root_of(id: &str) -> String {
    id.split('.').next().unwrap_or_default().to_owned()
}

fn one_instance() -> LeaseInstances {
    LeaseInstances { limit: 1, lease_for: LEASE, wait: Duration::ZERO, capabilities: None, serving: None }
}

fn one_activity() -> LeaseWork {
    let (wait, session, tags) = (Duration::ZERO, None, TagFilter::DefaultOnly);
    LeaseWork { limit: 1, lease_for: LEASE, wait, session, tags, serving: None }
}
