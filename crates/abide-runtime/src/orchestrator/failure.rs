//! Ends that the code did not choose, and leases that cannot be used now.

use std::collections::BTreeMap;

use abide_engine::{Identity, Mail, MailId, TurnInput, TurnOutput, cancel_unstarted, condemn};
use abide_model::{ErrorDetails, Event, INITIAL_EXECUTION_ID, PoisonMessageType, WorkItem};
use abide_provider::{BlockKind, InstanceLease, ParentLink, StoreError, TurnCommit};
use tracing::{debug, error, warn};

use super::blocked::{Obstacle, cancel_reason};
use super::cache::Life;
use super::commit::{CommitEnd, Relatives, Written, commit, commit_of, unreadable_end};
use super::load::Hindrance;
use super::plan::{Stage, mail_of, resolve};
use super::{AFTER_CONFLICT, Held, LOOK_AGAIN, Orchestrator, report};
use crate::ProblemPolicy;
use crate::dispatch::{Attempt, GiveBack};
use crate::pacing::some_of;
use crate::reminders::Topic;

/// Whether the store took what was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Settled {
    Written,
    NotWritten,
}

/// Whether an execution has a history.
#[derive(Debug, Clone, Copy)]
enum Begun {
    Yes,
    No,
}

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
        if self.core.settings.problem_policies.crashes == ProblemPolicy::Block
            && !self.counts_misses(&held.lease)
        {
            match self.counts_unreadable_tries(held, is_new).await {
                Ok(true) => {}
                Ok(false) => return self.quarantine(held, &who).await,
                Err(hindrance) => return self.hindered(held, &who, hindrance).await,
            }
        }
        debug!(target: "abide::runtime", instance_id = %who.instance, attempt = held.lease.attempt,
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

    /// Returns whether the attempts of a lease are misses: it is on a start whose code is not registered
    /// here, and the policy counts that. No crash is among them, as no code ran here.
    pub(super) fn counts_misses(&self, lease: &InstanceLease) -> bool {
        if lease.attempt <= 1 || self.core.settings.problem_policies.missing == ProblemPolicy::Block {
            return false;
        }
        if let Stage::Begins { mut who } = Stage::of(lease) {
            resolve(&self.core.orchestrations, &mut who).is_none()
        } else {
            false
        }
    }

    /// Returns after how many attempts a lease is no longer tried. Misses need no attempt as a suspect.
    pub(super) fn most_attempts_on(&self, lease: &InstanceLease) -> u32 {
        let settings = &self.core.settings;
        if self.counts_misses(lease) { settings.max_attempts } else { settings.most_attempts() }
    }

    /// Returns whether the attempts of an execution are reads of a record that is unreadable, and the policy
    /// counts these.
    #[expect(clippy::fn_params_excessive_bools, reason = "one fact about the execution")]
    async fn counts_unreadable_tries(&self, held: &Held, is_new: bool) -> Result<bool, Hindrance> {
        let lease = &held.lease;
        if self.core.settings.problem_policies.corrupt == ProblemPolicy::Block || lease.status.is_none() {
            return Ok(false);
        }
        let history = if is_new { Ok(()) } else { self.read_history(lease, 0).await.map(|_| ()) };
        let values = match history {
            Ok(()) => self.read_values(lease).await.map(|_| ()),
            unread @ Err(_) => unread,
        };
        match values {
            Ok(()) => Ok(false),
            Err(Hindrance::Unreadable(_)) => Ok(true),
            Err(hindrance) => Err(hindrance),
        }
    }

    /// The turn was under way in too many crashes: an operator decides.
    async fn quarantine(&self, held: &Held, who: &Identity) {
        let crashes = held.lease.attempt.saturating_sub(1);
        let detail = format!(
            "a turn of execution {} was under way in {crashes} crashes; it is quarantined until it is retried or canceled",
            who.execution_id
        );
        self.block(held, who, Obstacle::new(BlockKind::Quarantine, detail)).await;
    }

    /// Ends an instance that is to be canceled and whose code is missing or refuses it, ahead of its other mail.
    pub(super) async fn cancel_without_code(&self, held: &Held, stage: Stage, reason: &str) {
        let details = ErrorDetails::cancelled(reason);
        match stage {
            Stage::Begins { who } | Stage::Gap { who } => self.end(held, who, details, Begun::No).await,
            Stage::GoesOn { who } => self.end(held, who, details, Begun::Yes).await,
            Stage::Over { who, outcome } => self.late_mail(held, who, outcome).await,
            Stage::Nothing { who } => self.late_mail(held, who, abide_engine::Outcome::Running).await,
        }
    }

    /// Ends an execution from its record, whatever version of abide recorded it, or from columns if the record cannot
    /// be read.
    async fn end(&self, held: &Held, who: Identity, details: ErrorDetails, begun: Begun) {
        let history = match begun {
            Begun::No => Ok(Vec::new()),
            Begun::Yes => self.read_history(&held.lease, 0).await,
        };
        match history {
            Ok(history) => self.end_by_history(held, who, details, history).await,
            Err(Hindrance::Unreadable(_)) => self.end_by_columns(held, &who, details).await,
            Err(hindrance) => self.hindered(held, &who, hindrance).await,
        }
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
        self.end_by_history(held, who, details, history).await;
    }

    async fn end_by_history(&self, held: &Held, who: Identity, details: ErrorDetails, history: Vec<Event>) {
        let lease = &held.lease;
        let is_new = history.is_empty();
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
        self.end_by_columns(held, who, details).await;
    }

    async fn end_by_columns(&self, held: &Held, who: &Identity, details: ErrorDetails) {
        let lease = &held.lease;
        let relatives = match (self.parent_of(lease).await, self.children_of(lease).await) {
            (Ok(parent), Ok(children)) => Relatives { parent, children },
            (Err(hindrance), _) | (_, Err(hindrance)) => return self.hindered(held, who, hindrance).await,
        };
        let now_ms = self.now(held).as_millis();
        let end = unreadable_end(lease, relatives, &details, now_ms, self.revocation(lease));
        let told = report::Told::of_unreadable_end(details);
        if self.commit_counted(held, who, &told, end).await == Settled::Written {
            self.core.new_mail.notify_one();
        }
    }

    /// Commits what was decided without the code, counted before the store takes it: a client that sees an end
    /// sees it counted.
    pub(super) async fn commit_counted(
        &self,
        held: &Held,
        who: &Identity,
        told: &report::Told,
        turn: TurnCommit,
    ) -> Settled {
        told.count(&self.core, who);
        let end = commit(&self.core, turn, held.lease.position.incarnation).await;
        let Some(written) = self.settle(held, who, end).await else {
            told.withdraw(&self.core);
            return Settled::NotWritten;
        };
        self.core.chances.forget(&who.instance);
        told.tell_counted(&self.core, who, &written.committed);
        Settled::Written
    }

    /// What was committed; if nothing was, what was leased is given back, on terms that fit the reason.
    pub(super) async fn settle(&self, held: &Held, who: &Identity, end: CommitEnd) -> Option<Written> {
        let back = match end {
            CommitEnd::Done(written) => return Some(written),
            CommitEnd::NotOurs => {
                self.spoiled(held);
                debug!(target: "abide::runtime", instance_id = %who.instance, "the lease is lost; the turn is discarded");
                return None;
            }
            CommitEnd::Outdated => {
                warn!(target: "abide::runtime", instance_id = %who.instance, "the store has another history; it will be replayed");
                let doubled = |conflicts: u32| {
                    let doublings = conflicts.saturating_sub(1).min(16);
                    AFTER_CONFLICT.saturating_mul(1 << doublings).min(LOOK_AGAIN)
                };
                let now = self.core.clock.monotonic();
                GiveBack::untried(self.conflicts.delay(&who.instance, now, doubled))
            }
            CommitEnd::Refused(error) => {
                // A store that cannot say that a lease is lost says this.
                self.spoiled(held);
                error!(target: "abide::runtime", instance_id = %who.instance, %error, "the store refuses to write the end of it");
                GiveBack::without_crash(&self.core.settings, LOOK_AGAIN)
            }
            CommitEnd::GivenUp => GiveBack::UNTRIED,
        };
        Box::pin(self.hand_back(&held.lease, back)).await;
        None
    }

    /// Notes that the store spoiled a turn. It has not if the turn took too long: that counts as a crash.
    fn spoiled(&self, held: &Held) {
        if !held.task.has_overrun() {
            self.core.chances.spoiled(&held.lease.instance);
        }
    }

    /// The execution cannot be run now.
    pub(super) async fn hindered(&self, held: &Held, who: &Identity, hindrance: Hindrance) {
        let policies = self.core.settings.problem_policies;
        let back = match hindrance {
            Hindrance::Unreadable(detail) if policies.corrupt == ProblemPolicy::Block => {
                let obstacle = Obstacle::new(BlockKind::Corrupt, detail);
                return self.block(held, who, obstacle).await;
            }
            Hindrance::Unreadable(problem) => {
                warn!(target: "abide::runtime", instance_id = %who.instance, %problem, "its history cannot be read");
                GiveBack::tried(LOOK_AGAIN.saturating_mul(held.lease.attempt.max(1)))
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
            return self.unregistered(held, who, Attempt::Counts).await;
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
        let turn = commit_of(lease, who.execution_id, output, self.at_most(held));
        self.commit_counted(held, &who, &told, turn).await;
    }

    /// Its code is not registered here: perhaps it is elsewhere, or will be.
    pub(super) async fn unregistered(&self, held: &Held, who: Identity, attempt: Attempt) {
        let lease = &held.lease;
        let waits = self.core.settings.problem_policies.missing == ProblemPolicy::Block;
        if waits && let Some(reason) = cancel_reason(lease) {
            return self.cancel_without_code(held, Stage::of(lease), reason).await;
        }
        let attempt = if waits { Attempt::DoesNotCount } else { attempt };
        let (backoff, now) = (&self.core.settings.unregistered_backoff, self.core.clock.monotonic());
        let delay = match attempt {
            Attempt::Counts => backoff.delay(lease.attempt),
            // Some of it, so that a node that has the code gets its turn.
            Attempt::DoesNotCount => self.unregistered.delay(&who.instance, now, backoff, |delay| {
                if waits { some_of(delay, &*self.core.entropy) } else { delay }
            }),
        };
        self.tell_of_unregistered(&who, lease.attempt, GiveBack { delay: Some(delay), attempt });
        self.hand_back(lease, GiveBack { delay: Some(delay), attempt }).await;
    }

    /// Once per name, version and minute: there may be very many such instances.
    fn tell_of_unregistered(&self, who: &Identity, tries: u32, back: GiveBack) {
        let (registry, retry_in) = (&self.core.orchestrations, back.delay);
        let topic = Topic::UnregisteredOrchestration {
            name: who.orchestration.clone(),
            version: who.version.clone(),
        };
        if !self.core.reminders.is_due(topic, self.core.clock.monotonic()) {
            debug!(target: "abide::runtime", instance_id = %who.instance, orchestration_name = %who.orchestration,
                version = %who.version, ?retry_in, "its code is not registered here");
            return;
        }
        let near = registry.nearest_name(&who.orchestration);
        let prospect = back.attempt.prospect(tries, self.core.settings.max_attempts);
        warn!(target: "abide::runtime", instance_id = %who.instance, orchestration_name = %who.orchestration,
            version = %who.version, did_you_mean = near.as_deref(), ?retry_in,
            "{}; {prospect}", registry.missing(&who.orchestration, &who.version));
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
