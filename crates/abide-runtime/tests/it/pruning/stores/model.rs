//! What stores should do, in as few lines as possible.

use std::collections::BTreeMap;

use super::{BEGIN, Ending, MINUTE, NAMES, Op, Rule};

/// Instances by name, and what time it is.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) now: u64,
    instances: BTreeMap<usize, Instance>,
}

#[derive(Debug)]
struct Instance {
    /// The instance and the execution that asked for it.
    parent: Option<(usize, u64)>,
    /// When each ended; the last is the current one.
    executions: BTreeMap<u64, Option<u64>>,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Running,
    /// Continued as new, and the successor has not begun.
    Between,
    Ended(Ending),
}

/// How each execution of each instance stands.
pub(super) type Seen = BTreeMap<(usize, u64), &'static str>;

impl Instance {
    fn begun(parent: Option<(usize, u64)>) -> Self {
        Self { parent, executions: BTreeMap::from([(1, None)]), state: State::Running }
    }

    fn current(&self) -> u64 {
        *self.executions.last_key_value().unwrap().0
    }

    /// When it ended for good.
    fn ended_at(&self) -> Option<u64> {
        match self.state {
            State::Running | State::Between => None,
            State::Ended(_) => self.executions[&self.current()],
        }
    }

    fn prune(&mut self, rule: Rule, now: u64) {
        let kept = u64::from(rule.keep.unwrap_or(1).max(1));
        let current = self.current();
        let before = rule.options(now).completed_before.unwrap_or(u64::MAX);
        self.executions.retain(|id, ended| id + kept > current || ended.is_none_or(|ended| ended >= before));
    }
}

impl Model {
    pub(super) fn new() -> Self {
        Self { now: BEGIN, instances: BTreeMap::new() }
    }

    pub(super) fn current(&self, name: usize) -> u64 {
        self.instances[&name].current()
    }

    /// The instance and the execution that asked for it.
    pub(super) fn parent(&self, name: usize) -> Option<(usize, u64)> {
        self.instances[&name].parent
    }

    /// What must not go: the current execution of everything that has not ended.
    pub(super) fn needed(&self) -> Vec<(usize, u64)> {
        let living = self.instances.iter().filter(|(_, it)| it.ended_at().is_none());
        living.map(|(name, it)| (*name, it.current())).collect()
    }

    pub(super) fn look(&self) -> Seen {
        let mut seen = Seen::new();
        for (name, it) in &self.instances {
            seen.extend(it.executions.keys().map(|id| ((*name, *id), "ContinuedAsNew")));
            let stands = match it.state {
                State::Running => "Running",
                State::Between => "ContinuedAsNew",
                State::Ended(Ending::Completed) => "Completed",
                State::Ended(Ending::Failed) => "Failed",
            };
            seen.insert((*name, it.current()), stands);
        }
        seen
    }

    fn is(&self, name: usize, state: State) -> bool {
        self.instances.get(&name).is_some_and(|it| it.state == state)
    }

    /// Does it, if it can be done.
    pub(super) fn apply(&mut self, op: &Op) -> bool {
        let can = match *op {
            Op::Start(name) => !self.instances.contains_key(&name),
            Op::Child(parent, child) => {
                self.is(parent, State::Running) && !self.instances.contains_key(&child)
            }
            Op::Continue(name, _) | Op::End(name, _) => self.is(name, State::Running),
            Op::Resume(name) => self.is(name, State::Between),
            Op::Prune(name, _) => self.instances.contains_key(&name),
            Op::Pass(_) | Op::PruneAll(_) | Op::Retain(_) | Op::Orphans(_) => true,
        };
        if can {
            self.do_it(op);
        }
        can
    }

    fn do_it(&mut self, op: &Op) {
        let now = self.now;
        match *op {
            Op::Start(name) => drop(self.instances.insert(name, Instance::begun(None))),
            Op::Child(parent, child) => {
                let asked_by = Some((parent, self.current(parent)));
                self.instances.insert(child, Instance::begun(asked_by));
            }
            Op::Continue(name, rule) => {
                self.end(name, State::Between);
                if let Some(rule) = rule {
                    self.prune(name, rule);
                }
            }
            Op::Resume(name) => {
                let next = self.current(name) + 1;
                let it = self.instances.get_mut(&name).unwrap();
                it.executions.insert(next, None);
                it.state = State::Running;
            }
            Op::End(name, ending) => self.end(name, State::Ended(ending)),
            Op::Pass(minutes) => self.now += minutes * MINUTE,
            Op::Prune(name, rule) => self.prune(name, rule),
            Op::PruneAll(rule) => (0..NAMES).for_each(|name| self.prune(name, rule)),
            Op::Retain(age) => {
                let before = now.saturating_sub(age * MINUTE);
                self.sweep(|_, it| it.parent.is_none() && is_before(it.ended_at(), before));
            }
            Op::Orphans(age) => {
                let before = age.map_or(u64::MAX, |age| now.saturating_sub(age * MINUTE));
                self.sweep(|model, it| {
                    let Some((parent, asked_in)) = it.parent else { return false };
                    let asking = model.instances.get(&parent).and_then(|it| it.executions.get(&asked_in));
                    let over = asking.map_or(it.ended_at(), |ended| *ended);
                    it.ended_at().is_some() && is_before(over, before)
                });
            }
        }
    }

    fn end(&mut self, name: usize, state: State) {
        let (now, current) = (self.now, self.current(name));
        let it = self.instances.get_mut(&name).unwrap();
        it.executions.insert(current, Some(now));
        it.state = state;
    }

    fn prune(&mut self, name: usize, rule: Rule) {
        let now = self.now;
        if let Some(it) = self.instances.get_mut(&name) {
            it.prune(rule, now);
        }
    }

    /// Removes those that are meant, with everything below them, if all of that has ended.
    fn sweep(&mut self, is_meant: impl Fn(&Self, &Instance) -> bool) {
        let meant = self.instances.iter().filter(|(_, it)| is_meant(self, it)).map(|(name, _)| *name);
        let trees: Vec<Vec<usize>> = meant.map(|name| self.tree(name)).collect();
        let has_ended = |name: &usize| self.instances[name].ended_at().is_some();
        let doomed: Vec<usize> =
            trees.into_iter().filter(|tree| tree.iter().all(has_ended)).flatten().collect();
        self.instances.retain(|name, _| !doomed.contains(name));
    }

    fn tree(&self, root: usize) -> Vec<usize> {
        let below =
            self.instances.iter().filter(|(_, it)| it.parent.is_some_and(|(parent, _)| parent == root));
        let below: Vec<usize> = below.flat_map(|(name, _)| self.tree(*name)).collect();
        [vec![root], below].concat()
    }
}

fn is_before(ended: Option<u64>, before: u64) -> bool {
    ended.is_some_and(|ended| ended < before)
}
