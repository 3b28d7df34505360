//! Turns, put together by a sentence.

use abide_model::{EventKind, ExecutionStatus, PruneOptions, WorkItem};
use abide_provider::{Authority, Consumed, InstanceLease, MessageId, Position, Turn, TurnCommit, WorkLease};

use super::{event, identifier, started};

#[derive(Debug, Clone, Default)]
pub(crate) struct TurnBuilder(Turn);

impl TurnBuilder {
    /// A turn of this execution that writes nothing yet.
    pub(crate) fn of_execution(execution_id: u64) -> Self {
        Self(Turn { execution_id, ..Turn::default() })
    }

    /// The first turn of this execution: its start is event 1.
    pub(crate) fn starting(execution_id: u64) -> Self {
        Self::of_execution(execution_id).event(1, started())
    }

    pub(crate) fn event(mut self, id: u64, kind: EventKind) -> Self {
        self.0.events.push(event(id, kind));
        self
    }

    pub(crate) fn events(self, first: u64, kinds: impl IntoIterator<Item = EventKind>) -> Self {
        (first..).zip(kinds).fold(self, |turn, (id, kind)| turn.event(id, kind))
    }

    pub(crate) fn work(mut self, item: WorkItem) -> Self {
        self.0.worker_items.push(item);
        self
    }

    pub(crate) fn mail(mut self, item: WorkItem) -> Self {
        self.0.orchestrator_items.push(item);
        self
    }

    pub(crate) fn revoking(mut self, instance: &str, activity: u64) -> Self {
        self.0.cancelled_activities.push(identifier(instance, activity));
        self
    }

    pub(crate) fn removing_timer(mut self, event_id: u64) -> Self {
        self.0.removed_timers.push(event_id);
        self
    }

    pub(crate) fn ending(mut self, status: ExecutionStatus, output: &str) -> Self {
        self.0.metadata.status = Some(status.as_str().to_owned());
        self.0.metadata.output = Some(output.to_owned());
        self
    }

    pub(crate) fn pinned(mut self, version: &str) -> Self {
        self.0.metadata.pinned_duroxide_version = Some(version.parse().unwrap());
        self
    }

    pub(crate) fn with_parent(mut self, instance: &str) -> Self {
        self.0.metadata.parent_instance_id = Some(instance.to_owned());
        self
    }

    pub(crate) fn named(mut self, name: &str, version: &str) -> Self {
        self.0.metadata.orchestration_name = Some(name.to_owned());
        self.0.metadata.orchestration_version = Some(version.to_owned());
        self
    }

    pub(crate) fn status(mut self, status: &str) -> Self {
        self.0.metadata.status = Some(status.to_owned());
        self
    }

    pub(crate) fn pruning(mut self, options: PruneOptions) -> Self {
        self.0.prune = Some(options);
        self
    }

    pub(crate) fn into_turn(self) -> Turn {
        self.0
    }

    /// Committed under a lease, with everything consumed.
    pub(crate) fn under(self, lease: &InstanceLease) -> TurnCommit {
        TurnCommit {
            instance: lease.instance.clone(),
            authority: Authority::Lease { token: lease.token.clone() },
            consumed: Consumed::All,
            left: Vec::new(),
            turn: self.0,
        }
    }

    /// Committed under a lease, with these messages consumed.
    pub(crate) fn consuming(self, lease: &InstanceLease, numbers: &[u64]) -> TurnCommit {
        let these = numbers.iter().copied().map(MessageId).collect();
        TurnCommit { consumed: Consumed::These(these), ..self.under(lease) }
    }

    /// Committed as a fused step of instance `a`.
    pub(crate) fn fused(self, work: &WorkLease, expected: Position) -> TurnCommit {
        TurnCommit {
            instance: "a".to_owned(),
            authority: Authority::FinishedWork { token: work.token.clone(), expected },
            consumed: Consumed::All,
            left: Vec::new(),
            turn: self.0,
        }
    }
}
