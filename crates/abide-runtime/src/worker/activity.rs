//! What a lease on an activity says, and what can be told of it.

use abide_model::{AppErrorKind, ErrorDetails, PoisonMessageType, StepTry, WorkItem};
use abide_provider::{Suspicion, WorkLease};
use tracing::{Span, info_span};

use crate::chances::Tried;
use crate::orchestrator::FinishedStep;
use crate::renewal::Subject;
use crate::store_time::{HandedOver, StoreTime};
use crate::task_state::TaskState;

/// An activity that is leased.
#[derive(Debug)]
pub(crate) struct Activity {
    pub(super) instance: String,
    pub(super) execution_id: u64,
    pub(super) id: u64,
    pub(super) name: String,
    pub(super) input: String,
    pub(super) session: Option<String>,
    pub(super) tag: Option<String>,
    /// Empty if the store does not know it, and so is the version.
    pub(super) orchestration_name: String,
    pub(super) orchestration_version: String,
    pub(super) token: String,
    /// By which its orchestration tells the time.
    pub(super) store_time: StoreTime,
    /// How often it has been leased, this time included.
    pub(super) attempt: u32,
    /// Which try of its step it is.
    pub(super) step: StepTry,
}

impl Activity {
    /// What is leased; the lease itself if that is no activity.
    pub(super) fn of(lease: WorkLease, handed_over: HandedOver) -> Result<Self, Box<WorkLease>> {
        let store_time = StoreTime::of_work(&lease, handed_over);
        let WorkItem::ActivityExecute { instance, execution_id, id, name, input, session_id, tag } =
            lease.item
        else {
            return Err(Box::new(lease));
        };
        Ok(Self {
            instance,
            execution_id,
            id,
            name,
            input,
            session: session_id,
            tag,
            orchestration_name: lease.orchestration_name,
            orchestration_version: lease.orchestration_version,
            token: lease.token,
            store_time,
            attempt: lease.attempt,
            step: lease.step,
        })
    }

    /// What it is called, the same for every lease on it.
    pub(super) fn key(&self) -> Tried {
        Tried::Activity { instance: self.instance.clone(), execution_id: self.execution_id, id: self.id }
    }

    pub(super) fn span(&self) -> Span {
        info_span!(target: "abide::runtime", "activity", instance_id = %self.instance,
            execution_id = self.execution_id, orchestration_name = %self.orchestration_name,
            activity_name = %self.name, activity_id = self.id, attempt = self.attempt)
    }

    /// What its orchestration is told when it has run.
    pub(super) fn completion(&self, result: Result<String, String>) -> WorkItem {
        match result {
            Ok(result) => WorkItem::ActivityCompleted {
                instance: self.instance.clone(),
                execution_id: self.execution_id,
                id: self.id,
                result,
            },
            Err(message) => {
                let kind = AppErrorKind::ActivityFailed;
                self.failed(ErrorDetails::Application { kind, message, retryable: false })
            }
        }
    }

    /// What a turn may be committed by, once it has run.
    pub(super) fn finished_step<'a>(&'a self, task: &'a TaskState) -> FinishedStep<'a> {
        FinishedStep {
            task,
            instance: &self.instance,
            execution_id: self.execution_id,
            activity_id: self.id,
            token: &self.token,
            store_time: self.store_time,
        }
    }

    /// Whether it was under way in so many crashes that it runs alone.
    pub(super) fn is_suspect(&self) -> bool {
        Suspicion::after(self.attempt.saturating_sub(1)).is_suspect()
    }

    /// What its orchestration is told when it was tried too often.
    pub(super) fn poison(&self, max_attempts: u32) -> WorkItem {
        self.failed(ErrorDetails::Poison {
            attempt_count: self.attempt,
            max_attempts,
            message_type: PoisonMessageType::Activity {
                instance: self.instance.clone(),
                execution_id: self.execution_id,
                activity_name: self.name.clone(),
                activity_id: self.id,
            },
            message: serde_json::to_string(&self.item()).unwrap_or_default(),
        })
    }

    fn failed(&self, details: ErrorDetails) -> WorkItem {
        let (instance, execution_id, id) = (self.instance.clone(), self.execution_id, self.id);
        WorkItem::ActivityFailed { instance, execution_id, id, details }
    }

    /// As it was enqueued.
    fn item(&self) -> WorkItem {
        WorkItem::ActivityExecute {
            instance: self.instance.clone(),
            execution_id: self.execution_id,
            id: self.id,
            name: self.name.clone(),
            input: self.input.clone(),
            session_id: self.session.clone(),
            tag: self.tag.clone(),
        }
    }
}

impl Subject for Activity {
    fn instance(&self) -> &str {
        &self.instance
    }

    fn orchestration(&self) -> String {
        self.orchestration_name.clone()
    }

    fn activity(&self) -> Option<&str> {
        Some(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const AT_ONCE: HandedOver = HandedOver { since: Duration::ZERO, by: Duration::ZERO };

    fn leased(item: WorkItem) -> WorkLease {
        WorkLease {
            item,
            orchestration_name: "Main".to_owned(),
            orchestration_version: "1.0.0".to_owned(),
            token: "token".to_owned(),
            attempt: 3,
            step: StepTry::first(2),
            store_time: None,
            store_time_slack: Duration::ZERO,
        }
    }

    fn item() -> WorkItem {
        WorkItem::ActivityExecute {
            instance: "i".to_owned(),
            execution_id: 1,
            id: 2,
            name: "Echo".to_owned(),
            input: "in".to_owned(),
            session_id: Some("s".to_owned()),
            tag: Some("gpu".to_owned()),
        }
    }

    #[test]
    fn what_is_no_activity_is_left_as_it_is() {
        let lease = leased(WorkItem::CancelInstance { instance: "i".to_owned(), reason: String::new() });
        let left = Activity::of(lease.clone(), AT_ONCE).map(|activity| activity.name);
        assert_eq!(left, Err(Box::new(lease)));
    }

    #[test]
    fn poison_tells_everything_of_the_activity() {
        let poison = Activity::of(leased(item()), AT_ONCE).map(|activity| activity.poison(2));
        let Ok(WorkItem::ActivityFailed { details: ErrorDetails::Poison { message, .. }, .. }) = poison
        else {
            panic!("{poison:?}")
        };
        assert_eq!(serde_json::from_str::<WorkItem>(&message).ok(), Some(item()));
    }
}
