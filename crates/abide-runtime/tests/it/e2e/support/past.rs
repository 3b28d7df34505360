//! A past that no runtime of ours would have written.

use abide_model::{Event, EventKind, WorkItem};
use abide_provider::ExecutionMetadata;

use super::{World, seconds};

/// A turn to be committed by hand, for the mail that waits.
#[derive(Debug, Clone)]
pub(crate) struct Past {
    /// The version that its events are stamped with.
    pub(crate) stamp: String,
    /// What is recorded, with the event that each answers.
    pub(crate) events: Vec<(EventKind, Option<u64>)>,
    pub(crate) status: Option<&'static str>,
    pub(crate) work: Vec<WorkItem>,
}

impl Past {
    /// A turn of this build, in which an execution of `Main` begins.
    pub(crate) fn begins(events: impl IntoIterator<Item = EventKind>) -> Self {
        let started = EventKind::OrchestrationStarted {
            name: "Main".to_owned(),
            version: "1.0.0".to_owned(),
            input: String::new(),
            parent_instance: None,
            parent_id: None,
            parent_execution_id: None,
            carry_forward_events: None,
            initial_custom_status: None,
        };
        let events = std::iter::once(started).chain(events);
        Self {
            stamp: abide_model::BUILD_VERSION.to_owned(),
            events: events.map(|kind| (kind, None)).collect(),
            status: None,
            work: Vec::new(),
        }
    }

    pub(crate) fn stamped(mut self, version: &str) -> Self {
        version.clone_into(&mut self.stamp);
        self
    }

    pub(crate) fn ended(mut self, status: &'static str) -> Self {
        self.status = Some(status);
        self
    }
}

impl World {
    /// Commits a turn for the only mail that is ready. No runtime may be at work.
    pub(crate) async fn write(&self, past: Past) {
        let fetched = self.store.fetch_orchestration_item(seconds(30), seconds(0), None).await.unwrap();
        let (item, token, _) = fetched.expect("mail for a turn");
        let execution_id = item.execution_id.max(1);
        let first = item.history.last().map_or(1, |event| event.event_id + 1);
        let history = (first..).zip(past.events).map(|(id, (kind, source))| {
            let mut event =
                Event::with_event_id(id, item.instance.clone(), execution_id, source, kind);
            event.duroxide_version.clone_from(&past.stamp);
            event
        });
        let history: Vec<Event> = history.collect();
        let begins = history.first().is_some_and(|event| event.event_id == 1);
        let metadata = ExecutionMetadata {
            status: past.status.map(str::to_owned),
            output: past.status.map(|_| String::new()),
            orchestration_name: begins.then(|| "Main".to_owned()),
            orchestration_version: begins.then(|| "1.0.0".to_owned()),
            parent_instance_id: None,
            pinned_duroxide_version: if begins { past.stamp.parse().ok() } else { None },
        };
        let acked =
            self.store.ack_orchestration_item(&token, execution_id, history, past.work, vec![], metadata, vec![]);
        acked.await.unwrap();
    }

    /// Puts a message into the queue of an instance.
    pub(crate) async fn mail(&self, item: WorkItem) {
        self.store.enqueue_for_orchestrator(item, None).await.unwrap();
    }
}
