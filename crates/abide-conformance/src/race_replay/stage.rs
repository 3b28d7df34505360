//! A runtime on the provider, in the smallest form that plays a scene.

use std::sync::Arc;
use std::time::Duration;

use abide_client::Client;
use abide_model::{Event, EventKind, OrchestrationStatus, WorkItem};
use abide_provider::Provider;
use abide_runtime::registry::{ActivityRegistry, OrchestrationRegistry};
use abide_runtime::{Runtime, RuntimeOptions, UnregisteredBackoffConfig};

/// Longer than any scene takes.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// Short enough not to be noticed, long enough to be a delay.
pub(super) const SHORT: Duration = Duration::from_millis(20);

pub(super) struct Stage {
    pub(super) store: Arc<dyn Provider>,
    pub(super) client: Client,
}

impl Stage {
    pub(super) fn new(store: Arc<dyn Provider>) -> Self {
        Self { client: Client::new(Arc::clone(&store)), store }
    }

    /// A runtime that keeps nothing in memory between two turns.
    pub(super) async fn runtime(&self, orchestrations: OrchestrationRegistry) -> Arc<Runtime> {
        let options = RuntimeOptions {
            instance_cache_bytes: 0,
            dispatcher_min_poll_interval: Duration::from_millis(5),
            max_attempts: 10,
            unregistered_backoff: UnregisteredBackoffConfig { base_delay: SHORT, max_delay: SHORT },
            ..RuntimeOptions::default()
        };
        let activities = ActivityRegistry::builder().build();
        Runtime::start_with_options(Arc::clone(&self.store), activities, orchestrations, options).await
    }

    pub(super) async fn start(&self, instance: &str, orchestration: &str, version: &str, input: &str) {
        let sent = self.client.start_orchestration_versioned(instance, orchestration, version, input).await;
        sent.expect("a start is sent");
    }

    pub(super) async fn raise(&self, instance: &str, name: &str, data: &str) {
        self.client.raise_event(instance, name, data).await.expect("an event is sent");
    }

    pub(super) async fn enqueue(&self, instance: &str, queue: &str, data: &str) {
        self.client.enqueue_event(instance, queue, data).await.expect("a message is sent");
    }

    /// Waits until the code says this about its progress.
    pub(super) async fn until_status(&self, instance: &str, wanted: &str) {
        let mut seen = 0;
        loop {
            let changed = self.client.wait_for_status_change(instance, seen, SHORT, PATIENCE).await;
            let (status, version) = match changed.expect("its status changes") {
                OrchestrationStatus::Running { custom_status, custom_status_version }
                | OrchestrationStatus::Completed { custom_status, custom_status_version, .. }
                | OrchestrationStatus::Failed { custom_status, custom_status_version, .. } => {
                    (custom_status, custom_status_version)
                }
                OrchestrationStatus::NotFound => (None, 0),
            };
            if status.as_deref() == Some(wanted) {
                return;
            }
            assert!(version > seen, "the instance ended before its status was '{wanted}'");
            seen = version;
        }
    }

    /// Waits for the end and gives the output.
    pub(super) async fn output(&self, instance: &str) -> String {
        let ended = self.client.wait_for_orchestration(instance, PATIENCE).await;
        match ended.expect("the instance ends") {
            OrchestrationStatus::Completed { output, .. } => output,
            failed @ (OrchestrationStatus::Failed { .. }
            | OrchestrationStatus::NotFound
            | OrchestrationStatus::Running { .. }) => panic!("'{instance}' did not complete: {failed:?}"),
        }
    }

    /// An execution that was recorded before, by whatever version `stamp` says.
    pub(super) async fn past(&self, instance: &str, execution_id: u64, stamp: &str, kinds: Vec<EventKind>) {
        let events = (1..)
            .zip(kinds)
            .map(|(id, kind)| {
                let mut event = Event::with_event_id(id, instance, execution_id, None, kind);
                stamp.clone_into(&mut event.duroxide_version);
                event
            })
            .collect();
        let appended = self.store.append_with_execution(instance, execution_id, events).await;
        appended.expect("a past is appended");
    }

    pub(super) async fn send(&self, item: WorkItem, delay: Option<Duration>) {
        self.store.enqueue_for_orchestrator(item, delay).await.expect("a message is enqueued");
    }

    pub(super) async fn history(&self, instance: &str, execution_id: u64) -> Vec<Event> {
        self.store.read_with_execution(instance, execution_id).await.expect("a history is read")
    }
}

pub(super) fn started(name: &str, input: &str) -> EventKind {
    EventKind::OrchestrationStarted {
        name: name.to_owned(),
        version: "1.0.0".to_owned(),
        input: input.to_owned(),
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        carry_forward_events: None,
        initial_custom_status: None,
    }
}
