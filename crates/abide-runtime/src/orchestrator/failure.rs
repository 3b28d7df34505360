//! Ends that the code did not choose, and leases that cannot be used now.

use std::collections::BTreeMap;

use abide_engine::{Identity, Mail, MailId, TurnInput, TurnOutput, cancel_unstarted, condemn};
use abide_model::{ErrorDetails, INITIAL_EXECUTION_ID, PoisonMessageType, WorkItem};
use abide_provider::{InstanceLease, ParentLink, StoreError};
use tracing::{debug, error, warn};

use super::cache::Life;
use super::commit::{CommitEnd, Relatives, Written, commit, commit_of, unreadable_end};
use super::load::Hindrance;
use super::plan::{Stage, mail_of};
use super::{AFTER_CONFLICT, Held, LOOK_AGAIN, Orchestrator, report};
use crate::dispatch::{Attempt, GiveBack};

impl Orchestrator {
    /// The messages were tried too often: the execution fails.
    pub(super) async fn poison(&self, held: &Held, stage: Stage) {
        let (who, is_new) = match stage {
            Stage::Begins { who } | Stage::Gap { who } => (who, true),
            Stage::GoesOn { who } => (who, false),
            Stage::Over { who, outcome } => return self.late_mail(held, who, outcome).await,
            Stage::Nothing { who } => {
                return self.late_mail(held, who, abide_engine::Outcome::Running).await;
            }
        };
        warn!(target: "abide::runtime", instance_id = %who.instance, attempt = held.lease.attempt,
            "its messages were tried too often; the instance fails");
        let details = self.poisoned(
            &held.lease,
            PoisonMessageType::Orchestration {
                instance: who.instance.clone(),
                execution_id: who.execution_id,
            },
        );
        self.condemn(held, who, details, is_new).await;
    }

    fn poisoned(&self, lease: &InstanceLease, message_type: PoisonMessageType) -> ErrorDetails {
        let messages: Vec<&WorkItem> = lease.messages.iter().map(|message| &message.item).collect();
        ErrorDetails::Poison {
            attempt_count: lease.attempt,
            max_attempts: self.core.settings.max_attempts,
            message_type,
            message: serde_json::to_string(&messages).unwrap_or_default(),
        }
    }

    /// The store will never write what the turn decided: the execution fails for that, if at least this can be written.
    pub(super) async fn refused(&self, held: &Held, who: Identity, refusal: StoreError) {
        error!(target: "abide::runtime", instance_id = %who.instance, error = %refusal,
            "the store refuses what the turn decided; the instance fails");
        let details = abide_provider::ProviderError::from(refusal).to_infrastructure_error();
        let is_new = held.lease.position.execution_id != who.execution_id;
        self.condemn(held, who, details, is_new).await;
    }

    /// Fails an execution without its code.
    #[expect(clippy::fn_params_excessive_bools, reason = "one fact about the execution")]
    async fn condemn(&self, held: &Held, who: Identity, details: ErrorDetails, is_new: bool) {
        let lease = &held.lease;
        // What this build cannot replay it must not end either.
        let history = if is_new { Ok(Vec::new()) } else { self.read_compatible_history(lease).await };
        let history = match history {
            Ok(history) => history,
            Err(Hindrance::Unreadable(problem)) => return self.end_unreadable(held, &who, problem).await,
            Err(hindrance) => return self.hindered(held, &who, hindrance).await,
        };
        let mut mail = mail_of(&lease.messages);
        if is_new && !mail.iter().any(|mail| begins(&mail.item, &who)) {
            match self.parent_of(lease).await {
                Ok(parent) => mail.push(lost_start(parent, &who)),
                Err(hindrance) => return self.hindered(held, &who, hindrance).await,
            }
        }
        let mut life = Life::default();
        life.relive(&history);
        let input =
            TurnInput { identity: who.clone(), history, mail, kv: BTreeMap::new(), now: self.now(held) };
        let output = condemn(input, details);
        life.relive(&output.events);
        self.write_end(held, who, output, &life).await;
    }

    /// A history that cannot be read: it is looked at again, and given up when it was looked at too often.
    async fn end_unreadable(&self, held: &Held, who: &Identity, problem: String) {
        let lease = &held.lease;
        let details = self.poisoned(
            lease,
            PoisonMessageType::FailedDeserialization {
                instance: who.instance.clone(),
                execution_id: who.execution_id,
                error: problem,
            },
        );
        let relatives = match (self.parent_of(lease).await, self.children_of(lease).await) {
            (Ok(parent), Ok(children)) => Relatives { parent, children },
            (Err(hindrance), _) | (_, Err(hindrance)) => return self.hindered(held, who, hindrance).await,
        };
        let end = unreadable_end(lease, relatives, &details, self.now(held).as_millis());
        let end = commit(&self.core, end).await;
        if self.settle(held, who, end).await.is_some() {
            report::count_unreadable_end(&self.core, who, details);
        }
    }

    /// What was committed; if nothing was, what was leased is given back, on terms that fit the reason.
    pub(super) async fn settle(&self, held: &Held, who: &Identity, end: CommitEnd) -> Option<Written> {
        let back = match end {
            CommitEnd::Done(written) => return Some(written),
            CommitEnd::NotOurs => {
                self.core.chances.spoiled(&who.instance);
                debug!(target: "abide::runtime", instance_id = %who.instance, "the lease is lost; the turn is discarded");
                return None;
            }
            CommitEnd::Outdated => {
                warn!(target: "abide::runtime", instance_id = %who.instance, "the store has another history; it will be replayed");
                let doublings = self.conflicts.add(who.instance.clone()).saturating_sub(1).min(16);
                GiveBack::untried(AFTER_CONFLICT.saturating_mul(1 << doublings).min(LOOK_AGAIN))
            }
            CommitEnd::Refused(error) => {
                // A store that cannot say that a lease is lost says this.
                self.core.chances.spoiled(&who.instance);
                error!(target: "abide::runtime", instance_id = %who.instance, %error, "the store refuses to write the end of it");
                GiveBack::tried(LOOK_AGAIN)
            }
            CommitEnd::GivenUp => GiveBack::UNTRIED,
        };
        Box::pin(self.hand_back(&held.lease, back)).await;
        None
    }

    /// The execution cannot be run now.
    pub(super) async fn hindered(&self, held: &Held, who: &Identity, hindrance: Hindrance) {
        let back = match hindrance {
            Hindrance::Unreadable(problem) => {
                warn!(target: "abide::runtime", instance_id = %who.instance, %problem, "its history cannot be read");
                GiveBack::tried(LOOK_AGAIN)
            }
            Hindrance::Incompatible { version } => {
                warn!(target: "abide::runtime", instance_id = %who.instance, %version,
                    "pinned to an incompatible version: left to other nodes");
                GiveBack::untried(LOOK_AGAIN)
            }
            Hindrance::Refused(error) => {
                warn!(target: "abide::runtime", instance_id = %who.instance, %error, "cannot be read now");
                GiveBack::untried(LOOK_AGAIN)
            }
            Hindrance::GivenUp => GiveBack::UNTRIED,
        };
        self.hand_back(&held.lease, back).await;
    }

    /// Ends an execution that was canceled before it started, which needs no code. Any other waits for a node
    /// that has its code.
    pub(super) async fn begin_without_code(&self, held: &Held, who: Identity) {
        let lease = &held.lease;
        let Some(output) = cancel_unstarted(who.clone(), mail_of(&lease.messages), self.now(held)) else {
            return self.unregistered(held, &who, Attempt::Counts).await;
        };
        let mut life = Life::default();
        life.relive(&output.events);
        self.write_end(held, who, output, &life).await;
    }

    /// Commits the end of an execution that was decided without its code.
    pub(super) async fn write_end(&self, held: &Held, who: Identity, mut output: TurnOutput, life: &Life) {
        let lease = &held.lease;
        if let Err(hindrance) = self.address_answers(&who.instance, &mut output).await {
            return self.hindered(held, &who, hindrance).await;
        }
        let last = output.events.last().map_or(lease.position.last_event_id, abide_model::Event::event_id);
        let told = report::Told::of(&output, life, last);
        let end = commit(&self.core, commit_of(lease, who.execution_id, output, self.at_most(held))).await;
        if let Some(written) = self.settle(held, &who, end).await {
            told.tell(&self.core, &who, &written.committed);
        }
    }

    /// Its code is not registered here: perhaps it is elsewhere, or will be.
    pub(super) async fn unregistered(&self, held: &Held, who: &Identity, attempt: Attempt) {
        let lease = &held.lease;
        let tries = match attempt {
            Attempt::Counts => lease.attempt,
            Attempt::DoesNotCount => self.misses.add(who.instance.clone()),
        };
        let delay = self.core.settings.unregistered_backoff.delay(tries);
        let near = self.core.orchestrations.nearest_name(&who.orchestration);
        warn!(target: "abide::runtime", instance_id = %who.instance, orchestration_name = %who.orchestration,
            version = %who.version, did_you_mean = near.as_deref(), retry_in = ?delay,
            "orchestration is not registered here; {}", attempt.prospect(tries, self.core.settings.max_attempts));
        self.hand_back(lease, GiveBack { delay: Some(delay), attempt }).await;
    }
}

/// Whether a message begins this execution. A successor is begun by its continue-as-new only: a start that
/// waits between two executions is one for an instance that exists.
fn begins(item: &WorkItem, who: &Identity) -> bool {
    matches!(item, WorkItem::ContinueAsNew { .. })
        || (who.execution_id == INITIAL_EXECUTION_ID && matches!(item, WorkItem::StartOrchestration { .. }))
}

/// The successor's start never came: the failure is recorded as an execution of its own, with what is known of it.
fn lost_start(parent: Option<ParentLink>, who: &Identity) -> Mail {
    let item = WorkItem::ContinueAsNew {
        instance: who.instance.clone(),
        orchestration: who.orchestration.clone(),
        input: String::new(),
        version: Some(who.version.clone()),
        parent_instance: parent.as_ref().map(|parent| parent.instance.clone()),
        parent_id: parent.as_ref().and_then(|parent| parent.event_id),
        parent_execution_id: parent.and_then(|parent| parent.execution_id),
        carry_forward_events: Vec::new(),
        initial_custom_status: None,
    };
    Mail { id: MailId(u64::MAX), item }
}
