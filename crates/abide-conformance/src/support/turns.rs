//! A turn to be acked, put together by a sentence.

use abide_model::{Event, EventKind, ExecutionStatus, ScheduledActivityIdentifier, WorkItem};
use abide_provider::ExecutionMetadata;

use super::{ORCHESTRATION, VERSION, event, started};

/// The arguments of `ack_orchestration_item`, but for the token.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ack {
    pub(crate) instance: String,
    pub(crate) execution_id: u64,
    pub(crate) events: Vec<Event>,
    pub(crate) worker_items: Vec<WorkItem>,
    pub(crate) orchestrator_items: Vec<WorkItem>,
    pub(crate) metadata: ExecutionMetadata,
    pub(crate) cancelled: Vec<ScheduledActivityIdentifier>,
}

impl Ack {
    /// A turn of this execution that writes nothing yet.
    pub(crate) fn of(instance: &str, execution_id: u64) -> Self {
        Self { instance: instance.to_owned(), execution_id, ..Self::default() }
    }

    /// The first turn of the first execution: it creates the instance, and its start is event 1.
    pub(crate) fn first(instance: &str) -> Self {
        Self::first_of(instance, 1)
    }

    /// The first turn of this execution: its start is event 1.
    pub(crate) fn first_of(instance: &str, execution_id: u64) -> Self {
        Self::of(instance, execution_id).named(ORCHESTRATION, VERSION).event(1, started())
    }

    pub(crate) fn event(mut self, id: u64, kind: EventKind) -> Self {
        self.events.push(event(&self.instance, self.execution_id, id, kind));
        self
    }

    /// Appends a signal that came in, the plainest event there is.
    pub(crate) fn signalled(self, id: u64) -> Self {
        self.event(id, EventKind::ExternalEvent { name: "go".to_owned(), data: format!("data of {id}") })
    }

    /// Records that an activity was asked for, and enqueues it.
    pub(crate) fn scheduling(self, item: WorkItem) -> Self {
        let WorkItem::ActivityExecute { id, ref name, ref input, ref session_id, ref tag, .. } = item else {
            panic!("only an activity can be scheduled: {item:?}");
        };
        let kind = EventKind::ActivityScheduled {
            name: name.clone(),
            input: input.clone(),
            session_id: session_id.clone(),
            tag: tag.clone(),
        };
        self.event(id, kind).work(item)
    }

    /// Enqueues an activity, without recording it.
    pub(crate) fn work(mut self, item: WorkItem) -> Self {
        self.worker_items.push(item);
        self
    }

    /// Enqueues a message.
    pub(crate) fn mail(mut self, item: WorkItem) -> Self {
        self.orchestrator_items.push(item);
        self
    }

    /// Takes an activity back.
    pub(crate) fn cancelling(mut self, activity: ScheduledActivityIdentifier) -> Self {
        self.cancelled.push(activity);
        self
    }

    pub(crate) fn named(mut self, name: &str, version: &str) -> Self {
        self.metadata.orchestration_name = Some(name.to_owned());
        self.metadata.orchestration_version = Some(version.to_owned());
        self
    }

    pub(crate) fn child_of(mut self, parent: &str) -> Self {
        self.metadata.parent_instance_id = Some(parent.to_owned());
        self
    }

    pub(crate) fn pinned(mut self, version: &str) -> Self {
        let version = semver::Version::parse(version);
        self.metadata.pinned_duroxide_version = version.ok();
        self
    }

    /// Ends the execution: the metadata says how, and the terminal event is `id`.
    pub(crate) fn ending(mut self, id: u64, status: ExecutionStatus, output: &str) -> Self {
        let kind = match status {
            ExecutionStatus::Completed => EventKind::OrchestrationCompleted { output: output.to_owned() },
            ExecutionStatus::Failed => EventKind::OrchestrationFailed {
                details: abide_model::ErrorDetails::Application {
                    kind: abide_model::AppErrorKind::OrchestrationFailed,
                    message: output.to_owned(),
                    retryable: false,
                },
            },
            ExecutionStatus::ContinuedAsNew => {
                EventKind::OrchestrationContinuedAsNew { input: output.to_owned() }
            }
            ExecutionStatus::Running => panic!("running is not an end"),
        };
        self.metadata.status = Some(status.as_str().to_owned());
        self.metadata.output = Some(output.to_owned());
        self.event(id, kind)
    }

    /// Completes the execution with event `id`.
    pub(crate) fn completing(self, id: u64) -> Self {
        self.ending(id, ExecutionStatus::Completed, "done")
    }

    /// Fails the execution with event `id`.
    pub(crate) fn failing(self, id: u64) -> Self {
        self.ending(id, ExecutionStatus::Failed, "broken")
    }

    /// Continues as new with event `id`: the successor's message is enqueued too.
    pub(crate) fn continuing(self, id: u64) -> Self {
        let next = super::continue_as_new(&self.instance);
        self.ending(id, ExecutionStatus::ContinuedAsNew, "next").mail(next)
    }
}
