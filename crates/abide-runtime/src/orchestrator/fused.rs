//! Fused steps: a finished activity and the turn that takes its result in, in one commit.
//!
//! The orchestration must be in memory here and wait for nothing but this activity. Its result is fed to it at once, and what it
//! decides is written by the right of the activity's lease: no message, no lease on the instance, one commit less. The store refuses
//! if anything else has happened to the instance meanwhile. Then the execution, which is ahead of the store, is forgotten, and the
//! result is told the plain way, as if nothing had been tried.
//!
//! Deliberately absent: turns that stop for their host. They have a lease.

use std::sync::Arc;

use abide_engine::{Identity, Mail, MailId, Step};
use abide_model::{EventId, WorkItem};
use abide_provider::{Ability, Authority, Rejection};
use tracing::{Instrument, debug, info_span};

use super::blocked::Obstacle;
use super::cache::Resident;
use super::commit::{Written, fused_commit_of, insist_on, is_stored};
use super::prune::Promises;
use super::{Decided, Orchestrator};
use crate::insist::Told;
use crate::store_time::StoreTime;
use crate::task_state::TaskState;

/// The only message there is has no number in the store.
const THE_RESULT: MailId = MailId(0);

/// An instance that gets mail beside its activities is replayed after a refusal, so it is not tried again at once.
const STEPS_UNFUSED: u32 = 16;

/// An activity that has run, and whose lease is held.
pub(crate) struct FinishedStep<'a> {
    pub(crate) instance: &'a str,
    pub(crate) execution_id: u64,
    pub(crate) activity_id: u64,
    pub(crate) token: &'a str,
    pub(crate) store_time: StoreTime,
    /// The task of the activity, which runs the turn.
    pub(crate) task: &'a TaskState,
}

/// What a fused step came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fused {
    /// It is committed.
    Done,
    /// The activity's lease was lost.
    TooLate,
    /// The runtime gave up.
    GivenUp,
    /// It cannot be done: the result is to be told the plain way.
    No,
}

impl Orchestrator {
    /// Takes the result of an activity in and commits what comes of it, if that can be done in one.
    pub(crate) async fn fuse(&self, step: &FinishedStep<'_>, result: &WorkItem) -> Fused {
        if !self.core.abilities.has(Ability::FusedSteps) || self.refusals.is_counted(step.instance) {
            self.refusals.take_back(step.instance);
            return Fused::No;
        }
        let wanted = |kept: &Resident| {
            kept.position.execution_id == step.execution_id
                && kept.execution.waits_only_for(EventId::new(step.activity_id))
        };
        let Some(resident) = self.take_if(step.instance, wanted).await else { return Fused::No };
        let who = resident.execution.identity().clone();
        let span = info_span!(target: "abide::runtime", parent: None, "turn", instance_id = %who.instance,
            execution_id = who.execution_id, orchestration_name = %who.orchestration);
        self.fused_turn(step, result, who, resident).instrument(span).await
    }

    async fn fused_turn(
        &self,
        step: &FinishedStep<'_>,
        result: &WorkItem,
        who: Identity,
        mut resident: Box<Resident>,
    ) -> Fused {
        crate::test_hooks::delay(&*self.core.clock, &who.instance).await;
        let mail = vec![Mail { id: THE_RESULT, item: result.clone() }];
        let now = resident.life.not_before_latest(step.store_time.now(&*self.core.clock));
        let in_turn = step.task.enter_turn();
        let ran = resident.execution.turn(mail, now);
        drop(in_turn);
        let Ok(Step::Done(mut output)) = ran else { return Fused::No };
        // The result is told the plain way; the turn that takes it in finds the same obstacle, and has a lease to block.
        if Obstacle::of(&output, self.core.settings.problem_policies).is_some() {
            return Fused::No;
        }
        if !output.unaddressed.is_empty() {
            // Whom to answer is read from the store, under a lease on the instance.
            return Fused::No;
        }
        output.prune = self.prune_with_commit(&who, &output, &Promises::default(), now);
        let prunes = output.prune.is_some();
        let expected = resident.position;
        let decided = Decided::of(&self.core, &mut resident, &output);
        let authority = Authority::FinishedWork { token: step.token.to_owned(), expected };
        let at_most = step.store_time.at_most(&*self.core.clock);
        decided.told.count(&self.core, &who);
        let commit = Arc::new(fused_commit_of(authority, &who, *output, at_most));
        match insist_on(&self.core, &commit).await {
            Told::Done(written) => {
                if prunes {
                    self.tell_pruned(&who, &written.committed);
                }
                self.committed(who, resident, &decided, &written);
                Fused::Done
            }
            Told::GivenUp => {
                decided.told.withdraw(&self.core);
                Fused::GivenUp
            }
            Told::Refused { error, perhaps_applied } => {
                let is_lost = error.rejection() == Some(Rejection::LeaseLost);
                // A try whose answer was lost may have ended the lease: then this refuses what is done.
                if is_lost
                    && perhaps_applied
                    && Box::pin(is_stored(&self.core, &commit, expected.incarnation)).await
                {
                    self.committed(who, resident, &decided, &Written::without_answer());
                    return Fused::Done;
                }
                debug!(target: "abide::runtime", instance_id = %who.instance, %error, "a step could not be fused");
                decided.told.withdraw(&self.core);
                match error.rejection() {
                    // It counted nothing, or another turn has removed what that try appended.
                    Some(Rejection::LeaseLost) if perhaps_applied => Fused::Done,
                    Some(Rejection::LeaseLost) => Fused::TooLate,
                    Some(_) | None => {
                        self.refusals.add_times(who.instance, STEPS_UNFUSED);
                        Fused::No
                    }
                }
            }
        }
    }
}
