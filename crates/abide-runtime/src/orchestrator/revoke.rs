//! Taking back the activities of an execution that ended without its record.
//!
//! Nobody can tell from a history that cannot be read which activities are queued or running. If it is short,
//! the commit of its end names all of its ids. Otherwise the node commits the end with a cancel that the
//! instance sends to itself. A node that leases the ended instance for that cancel takes its activities back,
//! a part at a time, and consumes the cancel afterwards. If it crashes in between, the cancel is still there,
//! and the next node goes on. An activity that finishes before it is taken back reports to an instance that
//! has ended, which drops the result.

use std::sync::Arc;

use abide_engine::Identity;
use abide_model::ExecutionStatus;
use abide_provider::{
    Ability, InstanceLease, Operation, REVOKE_BATCH, Rejection, RevokeWork, RevokedWork, StolenBecause,
};
use futures_util::FutureExt;
use tracing::{debug, warn};

use super::blocked::cancel_reason;
use super::commit::UNREADABLE_END;
use super::{Held, Orchestrator};
use crate::dispatch::GiveBack;
use crate::insist::Told;

/// How many parts are taken back under one lease. Then the instance goes back to the queue, behind the
/// others.
const PARTS: usize = 64;

/// How the activities of an execution that cannot be read are taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Revocation {
    /// By the store, after the end, in parts.
    ByExecution,
    /// With the end, by all ids that may be those of activities: of a short history, or if the store has only
    /// the required methods.
    ById,
}

/// Whether the mail of an ended instance can be consumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LateWork {
    /// No activity of it is left.
    TakenBack,
    /// The lease was given back, or is lost: the next one goes on.
    Left,
}

impl Orchestrator {
    pub(super) fn revocation(&self, lease: &InstanceLease) -> Revocation {
        let is_short = lease.position.last_event_id <= u64::from(REVOKE_BATCH);
        if !is_short && self.core.store.abilities().has(Ability::RevokedExecutions) {
            Revocation::ByExecution
        } else {
            Revocation::ById
        }
    }

    /// Takes back what is left of the activities of an ended instance that is canceled.
    pub(super) async fn take_back_late_work(&self, held: &Held, who: &Identity) -> LateWork {
        let lease = &held.lease;
        let ended_without_record = lease.status == Some(ExecutionStatus::Failed)
            && lease.position.last_event_id >= UNREADABLE_END
            && cancel_reason(lease).is_some();
        if !ended_without_record || self.revocation(lease) == Revocation::ById {
            return LateWork::TakenBack;
        }
        for _ in 0..PARTS {
            match self.take_back_part(lease).await {
                Told::Done(RevokedWork { more: true, .. }) if !held.lost.is_cancelled() => {}
                Told::Done(RevokedWork { more: false, .. }) => return LateWork::TakenBack,
                Told::Refused { error, .. } if error.rejection() != Some(Rejection::LeaseLost) => {
                    // The activities run to their end, and their results are dropped.
                    warn!(target: "abide::runtime", instance_id = %who.instance, %error,
                        "the store refuses to take back activities of an ended instance");
                    return LateWork::TakenBack;
                }
                Told::Done(_) | Told::Refused { .. } => {
                    debug!(target: "abide::runtime", instance_id = %who.instance,
                        "the lease is lost; the next one goes on with taking back activities");
                    return LateWork::Left;
                }
                Told::GivenUp => break,
            }
        }
        Box::pin(self.hand_back(lease, GiveBack::UNTRIED)).await;
        LateWork::Left
    }

    async fn take_back_part(&self, lease: &InstanceLease) -> Told<RevokedWork> {
        let store = Arc::clone(&self.core.store);
        let revoke = RevokeWork {
            token: lease.token.clone(),
            execution_id: lease.position.execution_id,
            limit: REVOKE_BATCH,
            because: StolenBecause::OrchestrationEnded { status: ExecutionStatus::Failed },
        };
        let call = move || {
            let (store, revoke) = (Arc::clone(&store), revoke.clone());
            async move { store.revoke_work(revoke).await }.boxed()
        };
        self.core.insist(Operation::RevokeWork, call).await
    }
}
