//! Which situations the sequences have met: a test that never gets anywhere finds nothing.
//!
//! Judged by the model's answer and its state before and after a step. What can be met must be met.

mod blocking;
mod bulk;
mod commits;
mod deleting;
mod leases;
mod looking;
mod outside;
mod waiting_mail;

use std::collections::BTreeMap;

use abide_memory::Dump;

use crate::op::{InstanceOp, Op, WorkOp};
use crate::pair::Done;
use crate::world::World;

/// Situations, and how often they were met.
#[derive(Debug, Default)]
pub(crate) struct Coverage {
    met: BTreeMap<&'static str, u64>,
}

/// What there is to judge by.
#[derive(Clone, Copy)]
struct Scene<'a> {
    before: &'a Dump,
    after: &'a Dump,
    world: &'a World,
    done: &'a Done,
}

impl Coverage {
    /// Notes what a step has met.
    pub(crate) fn observe(&mut self, op: &Op, before: &Dump, world: &World, done: &Done) {
        let scene = Scene { before, after: &world.dump, world, done };
        match op {
            Op::Advance(_) => self.time(scene),
            Op::Mail(op) => self.mail(op, scene),
            Op::Instance(op) => self.instance(op, scene),
            Op::Work(op) => self.work(op, scene),
            Op::Session(op) => self.session(op, scene),
            Op::Block(op) => self.block(op, scene),
            Op::Read(op) => self.read(op, scene),
            Op::Look(op) => self.look(op, scene),
            Op::Delete(op) => self.delete(op, scene),
            Op::Restart => self.restart(scene),
            Op::Damage(_) | Op::Listen => {}
        }
        self.waiting_mail(op, scene);
        self.tokens(op, scene);
        self.told(scene);
    }

    fn tokens(&mut self, op: &Op, scene: Scene<'_>) {
        let superseded = op.tokens().iter().any(|token| scene.world.is_superseded(token));
        let refused = superseded && scene.is_refused();
        match op {
            Op::Instance(InstanceOp::Renew { .. }) => {
                self.note("a lease on an instance was not renewed by its old token", refused);
            }
            Op::Instance(InstanceOp::Abandon { .. }) => {
                self.note("a lease on an instance was not given back by its old token", refused);
            }
            Op::Work(WorkOp::Renew { .. }) => {
                self.note("a lease on work was not renewed by its old token", refused);
            }
            Op::Work(WorkOp::Abandon { .. }) => {
                self.note("a lease on work was not given back by its old token", refused);
            }
            Op::Work(WorkOp::Finish(_) | WorkOp::Ack { .. }) => {
                self.note("work was not finished by its old token", refused);
            }
            Op::Instance(_) => self.note("a turn was not committed by an old token", refused),
            Op::Advance(_)
            | Op::Mail(_)
            | Op::Work(_)
            | Op::Session(_)
            | Op::Block(_)
            | Op::Read(_)
            | Op::Look(_)
            | Op::Delete(_)
            | Op::Damage(_)
            | Op::Listen
            | Op::Restart => {}
        }
        self.tokens_of_the_deleted(op, scene);
    }

    /// Counts a situation if it was met, and remembers that it can be.
    fn note(&mut self, situation: &'static str, met: impl Into<Met>) {
        let count = self.met.entry(situation).or_default();
        *count += u64::from(matches!(met.into(), Met::Yes));
    }

    fn instance(&mut self, op: &InstanceOp, scene: Scene<'_>) {
        match op {
            InstanceOp::Fetch { capabilities, .. } => self.leased_instances(capabilities.as_ref(), scene),
            InstanceOp::Lease { capabilities, serving, .. } => {
                self.leased_instances(capabilities.as_ref(), scene);
                self.leased_by_a_node(serving.as_ref(), scene);
            }
            InstanceOp::Ack { turn, .. } => {
                self.healed(scene);
                self.note("an ack was refused", scene.is_refused());
                if scene.is_done() {
                    self.written(turn, scene);
                }
            }
            InstanceOp::Commit(commits) => {
                self.note("several turns were committed at once", commits.len() > 1 && scene.is_done());
                self.healed(scene);
                if let [commit] = commits.as_slice() {
                    self.committed(commit, scene);
                }
            }
            InstanceOp::Append { instance, .. } => {
                let leased = scene.before.instances.get(instance).and_then(|found| found.leased_until);
                self.note("events were appended", scene.is_done());
                self.note("events were appended under a lease", scene.is_done() && leased.is_some());
                self.note("events to append were refused", scene.is_refused());
            }
            InstanceOp::Renew { .. } => {
                self.note("a lease on an instance was renewed", scene.is_done());
                self.note("a lease on an instance could not be renewed", scene.is_refused());
            }
            InstanceOp::Abandon { delay, ignore_attempt, .. } => {
                let delayed = delay.is_some_and(|delay| !delay.is_zero());
                self.note("a lease on an instance was given back", scene.is_done());
                self.note("messages were given back for later", scene.is_done() && delayed);
                self.note("messages were given back uncounted", scene.is_done() && *ignore_attempt);
                self.note("a lease on an instance could not be given back", scene.is_refused());
            }
        }
    }

    fn work(&mut self, op: &WorkOp, scene: Scene<'_>) {
        match op {
            WorkOp::Fetch { session, tags, .. } => self.leased_work(session.as_ref(), tags, scene),
            WorkOp::Lease { session, tags, serving, .. } => {
                self.leased_work(session.as_ref(), tags, scene);
                self.work_leased_by_a_node(serving.as_ref(), scene);
            }
            WorkOp::Ack { completion, .. } => self.finished(completion.as_ref(), scene),
            WorkOp::Finish(finished) => {
                self.note("several activities were finished at once", finished.len() > 1 && scene.is_done());
                if let [(_, completion)] = finished.as_slice() {
                    self.finished(completion.as_ref(), scene);
                }
            }
            WorkOp::Renew { .. } => {
                self.note("a lease on work was renewed", scene.is_done());
                self.note("a lease on work could not be renewed", scene.is_refused());
                self.note("a session was used", scene.before.sessions != scene.after.sessions);
            }
            WorkOp::Abandon { delay, ignore_attempt, .. } => {
                let delayed = delay.is_some_and(|delay| !delay.is_zero());
                self.note("work was given back", scene.is_done());
                self.note("work was given back for later", scene.is_done() && delayed);
                self.note("work was given back uncounted", scene.is_done() && *ignore_attempt);
                self.note("work could not be given back", scene.is_refused());
            }
        }
    }

    fn told(&mut self, scene: Scene<'_>) {
        let told = |because: &str| scene.done.stolen.iter().any(|stolen| stolen.contains(because));
        self.note("a holder was told of a dropped activity", told("Dropped"));
        self.note("a holder was told of an ended orchestration", told("OrchestrationEnded"));
        self.note("a holder was told of a pruned execution", told("InstanceDeleted"));
    }

    /// The situations that were never met, if enough steps were made to meet all.
    pub(crate) fn missing(&self) -> Vec<&'static str> {
        self.met.iter().filter(|(_, count)| **count == 0).map(|(situation, _)| *situation).collect()
    }

    /// How many situations can be met.
    pub(crate) fn len(&self) -> usize {
        self.met.len()
    }
}

/// Whether a situation was met.
enum Met {
    Yes,
    No,
}

impl From<bool> for Met {
    fn from(is_met: bool) -> Self {
        if is_met { Self::Yes } else { Self::No }
    }
}

impl Scene<'_> {
    /// Whether everything that was asked for was done.
    fn is_done(&self) -> bool {
        let results = &self.done.memory.results;
        !results.is_empty() && results.iter().all(Result::is_ok)
    }

    fn is_refused(&self) -> bool {
        self.done.memory.results.iter().any(Result::is_err)
    }

    /// Whether it was refused for this reason.
    fn is_refused_as(&self, rejection: &str) -> bool {
        let mut refusals = self.done.memory.results.iter().filter_map(|result| result.as_ref().err());
        refusals.any(|refusal| refusal.contains(rejection))
    }

    fn answer(&self) -> &str {
        &self.done.memory.text
    }
}
