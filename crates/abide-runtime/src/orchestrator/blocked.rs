//! Instances that this build cannot run: they are blocked, not failed.
//!
//! The turn is discarded and nothing is recorded. The store keeps the mail, remembers that this build refused the
//! execution, and offers the instance to other builds, to this one after a while, and to all when an operator says so.
//! A cancellation ends a blocked instance without its code.

use std::sync::Arc;
use std::time::Duration;

use abide_engine::{Identity, Outcome, TurnOutput};
use abide_model::{AppErrorKind, ConfigErrorKind, ErrorDetails, WorkItem};
use abide_provider::{BlockInstance, BlockKind, InstanceLease, Operation, Refusals, Rejection, cut_detail};
use futures_util::FutureExt;
use tracing::{debug, error};

use super::{Held, Orchestrator};
use crate::ProblemPolicy;
use crate::block_log::Line;
use crate::core::Core;
use crate::insist::Told;
use crate::pacing::some_of;
use crate::problem_policy::ProblemPolicies;

/// How long mail waits until a build that refused its execution tries again, at first. It doubles with each refusal.
const FIRST_RETRY: Duration = Duration::from_secs(60);

/// How long it waits at most.
const LONGEST_RETRY: Duration = Duration::from_secs(3_600);

/// Why a turn cannot be committed and its instance is to be blocked.
#[derive(Debug)]
pub(super) struct Obstacle {
    pub(super) kind: BlockKind,
    /// For people, as long as stores keep it. Contains no payload, except what a panic message says.
    pub(super) detail: String,
    pub(super) event_id: Option<u64>,
}

impl Obstacle {
    /// The reason to block what a turn came to, if the policies say that it is one.
    pub(super) fn of(output: &TurnOutput, policies: ProblemPolicies) -> Option<Self> {
        let Outcome::Failed { details } = &output.outcome else { return None };
        let (kind, policy) = match details {
            // The failure of a child ends its parent with the same details: no build can repair that.
            ErrorDetails::Configuration { kind: ConfigErrorKind::Nondeterminism, .. }
                if output.fault_summary.is_some() =>
            {
                (BlockKind::Nondeterminism, policies.nondeterminism)
            }
            ErrorDetails::Application { kind: AppErrorKind::Panicked, .. } => {
                (BlockKind::Panic, policies.panic)
            }
            ErrorDetails::Application { .. }
            | ErrorDetails::Configuration { .. }
            | ErrorDetails::Infrastructure { .. }
            | ErrorDetails::Poison { .. } => return None,
        };
        let detail = || output.fault_summary.clone().unwrap_or_else(|| details.display_message());
        let obstacle = || Self { event_id: output.fault_event_id, ..Self::new(kind, detail()) };
        (policy == ProblemPolicy::Block).then(obstacle)
    }

    /// An obstacle that is not about an event.
    pub(super) fn new(kind: BlockKind, detail: String) -> Self {
        Self { kind, detail: cut_detail(detail), event_id: None }
    }
}

impl Orchestrator {
    /// Blocks a leased instance. If the store does not hear it, the lease runs out and the turn is tried again.
    pub(super) async fn block(&self, held: &Held, who: &Identity, obstacle: Obstacle) {
        let lease = &held.lease;
        self.core.chances.handed_back(&lease.instance, crate::dispatch::Attempt::DoesNotCount);
        let request = BlockInstance {
            token: lease.token.clone(),
            kind: obstacle.kind,
            detail: obstacle.detail.clone(),
            build: self.core.settings.build_id.clone(),
            event_id: obstacle.event_id,
            retry_after: self.retry_after(lease, obstacle.kind),
        };
        let store = Arc::clone(&self.core.store);
        let call = move || {
            let (store, request) = (Arc::clone(&store), request.clone());
            async move { store.block_instance(request).await }.boxed()
        };
        match self.core.insist(Operation::BlockInstance, call).await {
            Told::Done(()) => {
                self.core.chances.forget(&lease.instance);
                self.core.blocked.note();
                self.tell_of_block(lease, who, &obstacle);
            }
            // A try whose answer was lost ended the lease.
            Told::Refused { error, perhaps_applied: true }
                if error.rejection() == Some(Rejection::LeaseLost) =>
            {
                self.core.chances.forget(&lease.instance);
                self.core.blocked.note();
                self.tell_of_block(lease, who, &obstacle);
            }
            Told::Refused { error, .. } => {
                debug!(target: "abide::runtime", instance_id = %who.instance, %error, "the instance was not blocked");
            }
            Told::GivenUp => {}
        }
    }

    /// A minute at first, then twice as long as the last time, by chance somewhat less.
    fn retry_after(&self, lease: &InstanceLease, kind: BlockKind) -> Option<Duration> {
        if kind == BlockKind::Quarantine {
            return None;
        }
        let last = lease.refused.as_ref().and_then(|refused| refused.retry_after);
        let next = last.map_or(FIRST_RETRY, |last| last.saturating_mul(2).clamp(FIRST_RETRY, LONGEST_RETRY));
        Some(next.saturating_sub(some_of(next / 5, &*self.core.entropy)))
    }

    /// Once per change: a build that refuses again for the same reason says nothing new.
    fn tell_of_block(&self, lease: &InstanceLease, who: &Identity, obstacle: &Obstacle) {
        let Obstacle { kind, detail, event_id } = obstacle;
        let build = &self.core.settings.build_id;
        let before = lease.refused.as_ref().and_then(|refused| refused.block.as_ref());
        if before.is_some_and(|block| block.kind == *kind && block.build == *build && block.detail == *detail)
        {
            debug!(target: "abide::runtime", instance_id = %who.instance, %kind, "still blocked");
            return;
        }
        match self.core.blocks.next(&who.orchestration, *kind, self.core.clock.monotonic()) {
            Line::Say { withheld_before } => {
                error!(target: "abide::runtime", instance_id = %who.instance, execution_id = who.execution_id,
                    orchestration_name = %who.orchestration, version = %who.version, build = %build, kind = %kind,
                    event_id, withheld_before, "instance blocked; deploy a build that can run it, or call client.retry: {detail}");
            }
            Line::SayThatMoreAreCounted => {
                debug!(target: "abide::runtime", instance_id = %who.instance, %kind, "blocked: {detail}");
                error!(target: "abide::runtime", orchestration_name = %who.orchestration, build = %build, kind = %kind,
                    "more blocks of this kind are not logged for a minute; a count follows");
            }
            Line::Withhold => {
                debug!(target: "abide::runtime", instance_id = %who.instance, %kind, "blocked: {detail}");
            }
        }
    }
}

/// Whether this build has refused the execution of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It has not.
    None,
    /// It has, and is due for another try, or the node runs what its build has refused.
    RetryIsDue,
    /// It has, and must not run it. The store grants such a lease only so that a cancel ends the instance without code.
    Stands,
}

impl Refusal {
    pub(super) fn of(lease: &InstanceLease, core: &Core) -> Self {
        let Some(refused) = &lease.refused else { return Self::None };
        if !refused.by.contain(&core.settings.build_id) {
            return Self::None;
        }
        if refused.is_retry_due || core.serving.takes_refused() { Self::RetryIsDue } else { Self::Stands }
    }
}

/// The builds that still refuse an execution after a turn of this one, which had refused it.
pub(super) fn still_refused(lease: &InstanceLease, build: &str) -> Option<Refusals> {
    let refused = lease.refused.as_ref().filter(|refused| refused.by.contain(build))?;
    Some(refused.by.clone().without(build))
}

/// Why the instance is to be canceled, if that is among its mail.
pub(super) fn cancel_reason(lease: &InstanceLease) -> Option<&str> {
    lease.messages.iter().find_map(|message| {
        if let WorkItem::CancelInstance { reason, .. } = &message.item { Some(reason.as_str()) } else { None }
    })
}
