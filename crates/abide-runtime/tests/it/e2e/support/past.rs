//! A past that no runtime of ours would have written.

use abide_model::{Event, EventKind, WorkItem};
use abide_provider::ExecutionMetadata;

use super::{World, seconds};

/// A turn to be committed by hand, for the mail that waits.
#[derive(Debug, Clone)]
pub(crate) struct Past {
    /// The version that its events are stamped with.
    stamp: String,
    /// What is recorded.
    events: Vec<EventKind>,
    pin: Pin,
    version: &'static str,
    status: Option<&'static str>,
}

/// Whether the store is told what an execution is pinned to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pin {
    Told,
    Untold,
}

impl Past {
    /// A turn of this build, in which an execution of `Main` begins.
    pub(crate) fn begins(events: impl IntoIterator<Item = EventKind>) -> Self {
        Self::begins_as("1.0.0", events)
    }

    /// The same with another version of the handler.
    pub(crate) fn begins_as(version: &'static str, events: impl IntoIterator<Item = EventKind>) -> Self {
        let started = EventKind::OrchestrationStarted {
            name: "Main".to_owned(),
            version: version.to_owned(),
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
            events: events.collect(),
            pin: Pin::Told,
            version,
            status: None,
        }
    }

    pub(crate) fn stamped(mut self, version: &str) -> Self {
        version.clone_into(&mut self.stamp);
        self
    }

    /// The store does not know what its execution is pinned to.
    pub(crate) fn without_pin(mut self) -> Self {
        self.pin = Pin::Untold;
        self
    }

    /// Its execution is a child that this event of the first execution of `parent` asked for.
    pub(crate) fn child_of(mut self, parent: &str, event_id: u64) -> Self {
        if let Some(EventKind::OrchestrationStarted {
            parent_instance, parent_id, parent_execution_id, ..
        }) = self.events.first_mut()
        {
            *parent_instance = Some(parent.to_owned());
            *parent_id = Some(event_id);
            *parent_execution_id = Some(1);
        }
        self
    }

    /// The events, as the first of an execution.
    pub(crate) fn events_of(self, instance: &str, execution_id: u64) -> Vec<Event> {
        let Self { stamp, events, .. } = self;
        let recorded = (1..).zip(events).map(|(id, kind)| {
            let mut event = Event::with_event_id(id, instance.to_owned(), execution_id, None, kind);
            event.duroxide_version.clone_from(&stamp);
            event
        });
        recorded.collect()
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
        let history = (first..).zip(past.events).map(|(id, kind)| {
            let mut event = Event::with_event_id(id, item.instance.clone(), execution_id, None, kind);
            event.duroxide_version.clone_from(&past.stamp);
            event
        });
        let history: Vec<Event> = history.collect();
        let begins = history.first().is_some_and(|event| event.event_id == 1);
        let metadata = ExecutionMetadata {
            status: past.status.map(str::to_owned),
            output: past.status.map(|_| String::new()),
            orchestration_name: begins.then(|| "Main".to_owned()),
            orchestration_version: begins.then(|| past.version.to_owned()),
            parent_instance_id: None,
            pinned_duroxide_version: match past.pin {
                Pin::Told if begins => past.stamp.parse().ok(),
                Pin::Told | Pin::Untold => None,
            },
        };
        let acked = self.store.ack_orchestration_item(
            &token,
            execution_id,
            history,
            vec![],
            vec![],
            metadata,
            vec![],
        );
        acked.await.unwrap();
    }

    /// Puts a message into the queue of an instance.
    pub(crate) async fn mail(&self, item: WorkItem) {
        self.store.enqueue_for_orchestrator(item, None).await.unwrap();
    }
}
