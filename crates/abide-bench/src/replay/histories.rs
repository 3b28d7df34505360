//! Histories to replay, recorded by the engine itself.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use abide_engine::{
    Execution, FnOrchestration, Identity, Mail, MailId, OrchestrationContext, OrchestrationHandler, Step,
    TurnOutput,
};
use abide_model::{Event, EventKind, Timestamp, WorkItem};

/// A kind of orchestration, and the world that answers it.
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    code: fn() -> Arc<dyn OrchestrationHandler>,
    /// How many events one unit of work leaves.
    events_per_unit: usize,
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shape").field("name", &self.name).finish_non_exhaustive()
    }
}

pub(crate) const SHAPES: &[Shape] = &[
    Shape { name: "chain", code: chain, events_per_unit: 2 },
    Shape { name: "fan-out", code: fan_out, events_per_unit: 2 },
    Shape { name: "mixed", code: mixed, events_per_unit: 9 },
];

const PAYLOAD: &str = r#"{"order":4711,"customer":"c-0815","amount":"19.99","currency":"EUR"}"#;

/// One activity after the other.
fn chain() -> Arc<dyn OrchestrationHandler> {
    Arc::new(FnOrchestration(|ctx: OrchestrationContext, units: String| async move {
        for _ in 0..units.parse().unwrap_or(0) {
            ctx.schedule_activity("charge", PAYLOAD).await?;
        }
        ctx.schedule_wait("end").await;
        Ok(String::new())
    }))
}

/// All activities at once, joined.
fn fan_out() -> Arc<dyn OrchestrationHandler> {
    Arc::new(FnOrchestration(|ctx: OrchestrationContext, units: String| async move {
        let units = units.parse().unwrap_or(0);
        let all = (0..units).map(|_| ctx.schedule_activity("charge", PAYLOAD)).collect();
        ctx.join(all).await;
        ctx.schedule_wait("end").await;
        Ok(String::new())
    }))
}

/// A bit of everything: an activity with a deadline, a queue message, key-value state and status.
fn mixed() -> Arc<dyn OrchestrationHandler> {
    Arc::new(FnOrchestration(|ctx: OrchestrationContext, units: String| async move {
        for unit in 0..units.parse().unwrap_or(0) {
            let deadline = Duration::from_secs(60);
            ctx.timeout(deadline, ctx.schedule_activity("charge", PAYLOAD)).await??;
            ctx.set_kv_value(format!("key-{}", unit % 10), PAYLOAD);
            ctx.set_custom_status(format!("unit {unit}"));
            ctx.dequeue_event("orders").await;
            ctx.schedule_timer(Duration::from_secs(1)).await;
        }
        ctx.schedule_wait("end").await;
        Ok(String::new())
    }))
}

impl Shape {
    /// An execution of this shape that has not begun.
    pub(crate) fn execution(&self) -> Execution {
        let who = Identity {
            instance: "bench-1".to_owned(),
            execution_id: 1,
            orchestration: self.name.to_owned(),
            version: "1.0.0".to_owned(),
        };
        Execution::new(who, BTreeMap::new(), (self.code)())
    }

    /// Runs the shape until its history has about `events` events.
    pub(crate) fn record(&self, events: usize) -> Vec<Event> {
        let units = events.div_ceil(self.events_per_unit);
        let mut execution = self.execution();
        let mut history = Vec::with_capacity(events);
        let mut mail = vec![start(units)];
        while !mail.is_empty() {
            let output = take(&mut execution, std::mem::take(&mut mail));
            mail = answers(&output);
            history.extend(output.events);
        }
        history
    }
}

fn take(execution: &mut Execution, items: Vec<WorkItem>) -> TurnOutput {
    let mail = (0..).zip(items).map(|(id, item)| Mail { id: MailId(id), item }).collect();
    match execution.turn(mail, Timestamp::from_millis(1_700_000_000_000)) {
        Ok(Step::Done(output)) => *output,
        other => unreachable!("the shapes start with a start and ask nothing of their host: {other:?}"),
    }
}

/// What the world says to what a turn asked for. A queue message follows every activity.
fn answers(output: &TurnOutput) -> Vec<WorkItem> {
    let mut answers = Vec::new();
    for item in &output.worker_items {
        if let WorkItem::ActivityExecute { instance, execution_id, id, .. } = item {
            answers.push(WorkItem::ActivityCompleted {
                instance: instance.clone(),
                execution_id: *execution_id,
                id: *id,
                result: PAYLOAD.to_owned(),
            });
        }
    }
    let dequeues =
        output.events.iter().filter(|event| matches!(event.kind, EventKind::QueueSubscribed { .. })).count();
    for _ in 0..dequeues {
        answers.push(WorkItem::QueueMessage {
            instance: "bench-1".to_owned(),
            name: "orders".to_owned(),
            data: PAYLOAD.to_owned(),
        });
    }
    // A deadline does not fire here: its activity is answered in the same breath.
    let only_timer = output.worker_items.is_empty();
    answers.extend(
        output
            .orchestrator_items
            .iter()
            .filter(|item| only_timer && matches!(item, WorkItem::TimerFired { .. }))
            .cloned(),
    );
    answers
}

fn start(units: usize) -> WorkItem {
    WorkItem::StartOrchestration {
        instance: "bench-1".to_owned(),
        orchestration: "bench".to_owned(),
        input: units.to_string(),
        version: None,
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        execution_id: 1,
    }
}
