//! Messages, work, events and turns, as short as a test needs them.

use abide_model::{
    Event, EventKind, ExecutionStatus, PruneOptions, ScheduledActivityIdentifier, Timestamp, WorkItem,
};
use abide_provider::{Authority, Consumed, InstanceLease, MessageId, Position, Turn, TurnCommit, WorkLease};

pub(crate) fn start(instance: &str) -> WorkItem {
    WorkItem::StartOrchestration {
        instance: instance.to_owned(),
        orchestration: "Order".to_owned(),
        input: "{}".to_owned(),
        version: Some("1.0.0".to_owned()),
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        execution_id: 1,
    }
}

/// The start of another orchestration.
pub(crate) fn start_of(instance: &str, name: &str) -> WorkItem {
    let mut item = start(instance);
    if let WorkItem::StartOrchestration { orchestration, .. } = &mut item {
        name.clone_into(orchestration);
    }
    item
}

/// Another activity of instance `a`.
pub(crate) fn activity_named(name: &str, id: u64) -> WorkItem {
    let mut item = activity("a", id);
    if let WorkItem::ActivityExecute { name: named, .. } = &mut item {
        name.clone_into(named);
    }
    item
}

pub(crate) fn continue_as_new(instance: &str) -> WorkItem {
    WorkItem::ContinueAsNew {
        instance: instance.to_owned(),
        orchestration: "Order".to_owned(),
        input: "next".to_owned(),
        version: None,
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        carry_forward_events: Vec::new(),
        initial_custom_status: None,
    }
}

pub(crate) fn signal(instance: &str, data: &str) -> WorkItem {
    WorkItem::ExternalRaised { instance: instance.to_owned(), name: "go".to_owned(), data: data.to_owned() }
}

pub(crate) fn queue_message(instance: &str, data: &str) -> WorkItem {
    WorkItem::QueueMessage { instance: instance.to_owned(), name: "inbox".to_owned(), data: data.to_owned() }
}

pub(crate) fn cancel(instance: &str) -> WorkItem {
    WorkItem::CancelInstance { instance: instance.to_owned(), reason: "no longer needed".to_owned() }
}

pub(crate) fn timer(instance: &str, id: u64, fire_at_ms: u64) -> WorkItem {
    WorkItem::TimerFired { instance: instance.to_owned(), execution_id: 1, id, fire_at_ms }
}

pub(crate) fn activity(instance: &str, id: u64) -> WorkItem {
    activity_with(instance, id, None, None)
}

pub(crate) fn activity_with(instance: &str, id: u64, session: Option<&str>, tag: Option<&str>) -> WorkItem {
    WorkItem::ActivityExecute {
        instance: instance.to_owned(),
        execution_id: 1,
        id,
        name: "charge".to_owned(),
        input: "{}".to_owned(),
        session_id: session.map(ToOwned::to_owned),
        tag: tag.map(ToOwned::to_owned),
    }
}

pub(crate) fn completed(instance: &str, id: u64) -> WorkItem {
    WorkItem::ActivityCompleted {
        instance: instance.to_owned(),
        execution_id: 1,
        id,
        result: "done".to_owned(),
    }
}

pub(crate) fn event(event_id: u64, kind: EventKind) -> Event {
    Event::recorded(event_id, "a", 1, Timestamp::EPOCH, kind)
}

pub(crate) fn started() -> EventKind {
    EventKind::OrchestrationStarted {
        name: "Order".to_owned(),
        version: "1.0.0".to_owned(),
        input: "{}".to_owned(),
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        carry_forward_events: None,
        initial_custom_status: None,
    }
}

pub(crate) fn status_said(status: Option<&str>) -> EventKind {
    EventKind::CustomStatusUpdated { status: status.map(ToOwned::to_owned) }
}

pub(crate) fn value_set(key: &str, value: &str) -> EventKind {
    EventKind::KeyValueSet { key: key.to_owned(), value: value.to_owned(), last_updated_at_ms: 9 }
}

pub(crate) fn value_cleared(key: &str) -> EventKind {
    EventKind::KeyValueCleared { key: key.to_owned() }
}

/// The data of signals and queue messages, the kind of everything else.
pub(crate) fn said(item: &WorkItem) -> String {
    if let WorkItem::ExternalRaised { data, .. } | WorkItem::QueueMessage { data, .. } = item {
        return data.clone();
    }
    abide_model::kind_of(item).to_owned()
}

/// What a lease handed out, in its order.
pub(crate) fn contents(lease: &InstanceLease) -> Vec<String> {
    lease.messages.iter().map(|message| said(&message.item)).collect()
}

/// The numbers of the messages that a lease handed out, in its order.
pub(crate) fn numbers(lease: &InstanceLease) -> Vec<u64> {
    lease.messages.iter().map(|message| message.id.0).collect()
}

/// How often each message of a lease was handed out.
pub(crate) fn attempts(lease: &InstanceLease) -> Vec<u32> {
    lease.messages.iter().map(|message| message.attempt).collect()
}

/// Which instances were leased, in the order of the leases.
pub(crate) fn names(leases: &[InstanceLease]) -> Vec<&str> {
    leases.iter().map(|lease| lease.instance.as_str()).collect()
}

/// The activity of a lease.
pub(crate) fn activity_of(work: &WorkLease) -> u64 {
    if let WorkItem::ActivityExecute { id, .. } = &work.item { *id } else { 0 }
}

/// The activities of leases, in their order.
pub(crate) fn activities(leases: &[WorkLease]) -> Vec<u64> {
    leases.iter().map(activity_of).collect()
}

/// A turn, put together by a sentence.
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

    pub(crate) fn event(self, id: u64, kind: EventKind) -> Self {
        self.recorded(event(id, kind))
    }

    pub(crate) fn recorded(mut self, event: Event) -> Self {
        self.0.events.push(event);
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

    pub(crate) fn revoking(mut self, instance: &str, activity_id: u64) -> Self {
        let instance = instance.to_owned();
        let activity = ScheduledActivityIdentifier { instance, execution_id: 1, activity_id };
        self.0.cancelled_activities.push(activity);
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

    pub(crate) fn pruning(mut self, options: PruneOptions) -> Self {
        self.0.prune = Some(options);
        self
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
