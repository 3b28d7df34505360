//! A past: turns that a runtime would have committed.

use std::time::Duration;

use abide_model::{ErrorDetails, Event, EventKind, ExecutionStatus, Timestamp, WorkItem};
use abide_provider::{ExecutionMetadata, Provider};

const LEASE: Duration = Duration::from_secs(30);

/// Writes histories into a store.
pub(crate) struct Past<'a>(pub(crate) &'a dyn Provider);

impl Past<'_> {
    /// The first turn of a root instance that goes on.
    pub(crate) async fn started(&self, instance: &str) {
        self.0.enqueue_for_orchestrator(start(instance, None), None).await.unwrap();
        self.taken_up(instance).await;
    }

    /// The first turn of an instance whose start is in the queue.
    pub(crate) async fn taken_up(&self, instance: &str) {
        self.turn(instance, vec![started(None)], None).await;
    }

    /// The first turn of a child.
    pub(crate) async fn started_child(&self, instance: &str, parent: &str) {
        self.0.enqueue_for_orchestrator(start(instance, Some(parent)), None).await.unwrap();
        self.turn(instance, vec![started(Some(parent))], None).await;
    }

    /// The start of a child that no node has taken.
    pub(crate) async fn queued_child(&self, instance: &str, parent: &str) {
        self.0.enqueue_for_orchestrator(start(instance, Some(parent)), None).await.unwrap();
    }

    pub(crate) async fn completed(&self, instance: &str, output: &str) {
        self.nudged(instance).await;
        let kind = EventKind::OrchestrationCompleted { output: output.to_owned() };
        self.turn(instance, vec![kind], Some((ExecutionStatus::Completed, output))).await;
    }

    pub(crate) async fn failed(&self, instance: &str, details: ErrorDetails) {
        self.nudged(instance).await;
        let text = details.display_message();
        let kind = EventKind::OrchestrationFailed { details };
        self.turn(instance, vec![kind], Some((ExecutionStatus::Failed, &text))).await;
    }

    /// A turn in which the code says something about its progress.
    pub(crate) async fn said(&self, instance: &str, status: &str) {
        self.nudged(instance).await;
        self.turn(instance, vec![EventKind::CustomStatusUpdated { status: Some(status.to_owned()) }], None)
            .await;
    }

    /// A turn in which the code keeps a value.
    pub(crate) async fn kept(&self, instance: &str, key: &str, value: &str) {
        self.nudged(instance).await;
        let (key, value) = (key.to_owned(), value.to_owned());
        self.turn(instance, vec![EventKind::KeyValueSet { key, value, last_updated_at_ms: 9 }], None).await;
    }

    /// The turn in which an execution ends, and the first one of its successor.
    pub(crate) async fn continued(&self, instance: &str, input: &str) {
        self.nudged(instance).await;
        let kind = EventKind::OrchestrationContinuedAsNew { input: input.to_owned() };
        let next = WorkItem::ContinueAsNew {
            instance: instance.to_owned(),
            orchestration: "Order".to_owned(),
            input: input.to_owned(),
            version: None,
            parent_instance: None,
            parent_id: None,
            parent_execution_id: None,
            carry_forward_events: Vec::new(),
            initial_custom_status: None,
        };
        let end = Some((ExecutionStatus::ContinuedAsNew, input));
        self.turn_with_mail(instance, vec![kind], end, vec![next]).await;
        self.turn(instance, vec![started(None)], None).await;
    }

    /// What is in the queue for this instance. It stays there, leased.
    pub(crate) async fn mail(&self, instance: &str) -> Vec<WorkItem> {
        let fetched = self.0.fetch_orchestration_item(LEASE, Duration::ZERO, None).await.unwrap();
        let Some((item, _, _)) = fetched else { return Vec::new() };
        assert_eq!(item.instance, instance, "another instance was ready");
        item.messages
    }

    async fn nudged(&self, instance: &str) {
        let (name, data) = ("go".to_owned(), String::new());
        let nudge = WorkItem::ExternalRaised { instance: instance.to_owned(), name, data };
        self.0.enqueue_for_orchestrator(nudge, None).await.unwrap();
    }

    async fn turn(&self, instance: &str, kinds: Vec<EventKind>, end: Option<(ExecutionStatus, &str)>) {
        self.turn_with_mail(instance, kinds, end, Vec::new()).await;
    }

    async fn turn_with_mail(
        &self,
        instance: &str,
        kinds: Vec<EventKind>,
        end: Option<(ExecutionStatus, &str)>,
        mail: Vec<WorkItem>,
    ) {
        let fetched = self.0.fetch_orchestration_item(LEASE, Duration::ZERO, None).await.unwrap();
        let (item, token, _) = fetched.expect("mail for a turn");
        assert_eq!(item.instance, instance, "another instance was ready");
        let is_first = matches!(kinds.first(), Some(EventKind::OrchestrationStarted { .. }));
        let continues = item.messages.iter().any(|mail| matches!(mail, WorkItem::ContinueAsNew { .. }));
        let (execution_id, first_id) = match (is_first, continues) {
            (true, true) => (item.execution_id + u64::from(!item.history.is_empty()), 1),
            (true, false) => (1, 1),
            (false, _) => (item.execution_id, item.history.last().map_or(1, |event| event.event_id + 1)),
        };
        let parent_instance_id = kinds.first().and_then(|kind| match kind {
            EventKind::OrchestrationStarted { parent_instance, .. } => parent_instance.clone(),
            _ => None,
        });
        let event = |(id, kind)| Event::recorded(id, instance, execution_id, Timestamp::EPOCH, kind);
        let events = (first_id..).zip(kinds).map(event).collect();
        let metadata = ExecutionMetadata {
            status: end.map(|(status, _)| status.as_str().to_owned()),
            output: end.map(|(_, output)| output.to_owned()),
            orchestration_name: Some("Order".to_owned()),
            orchestration_version: Some("1.0.0".to_owned()),
            parent_instance_id,
            pinned_duroxide_version: None,
        };
        let (work, cancelled) = (Vec::new(), Vec::new());
        self.0
            .ack_orchestration_item(&token, execution_id, events, work, mail, metadata, cancelled)
            .await
            .unwrap();
    }
}

fn start(instance: &str, parent: Option<&str>) -> WorkItem {
    WorkItem::StartOrchestration {
        instance: instance.to_owned(),
        orchestration: "Order".to_owned(),
        input: "{}".to_owned(),
        version: Some("1.0.0".to_owned()),
        parent_instance: parent.map(ToOwned::to_owned),
        parent_id: parent.map(|_| 2),
        parent_execution_id: parent.map(|_| 1),
        execution_id: 1,
    }
}

fn started(parent: Option<&str>) -> EventKind {
    EventKind::OrchestrationStarted {
        name: "Order".to_owned(),
        version: "1.0.0".to_owned(),
        input: "{}".to_owned(),
        parent_instance: parent.map(ToOwned::to_owned),
        parent_id: parent.map(|_| 2),
        parent_execution_id: parent.map(|_| 1),
        carry_forward_events: None,
        initial_custom_status: None,
    }
}
