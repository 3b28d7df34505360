//! Scenes between two executions.

use std::sync::Arc;

use abide_engine::OrchestrationContext;
use abide_model::{Either2, ErrorDetails, EventKind, OrchestrationStatus, WorkItem, current_build_version};
use abide_provider::Provider;
use abide_runtime::registry::OrchestrationRegistry;

use super::stage::{PATIENCE, SHORT, Stage, started};

/// Continues as version 2, which may not be here.
async fn hand_over(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    ctx.continue_as_new_versioned("2.0.0", "handed over").await
}

async fn read_one(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    Ok(format!("{input}: {}", ctx.dequeue_event("q").await))
}

pub(super) async fn unregistered(store: Arc<dyn Provider>) {
    let stage = Stage::new(store);
    let old = OrchestrationRegistry::builder().register("Next", hand_over).build();
    let runtime = stage.runtime(old).await;
    stage.start("a", "Next", "1.0.0", "").await;
    until_continued(&stage).await;
    runtime.shutdown(None).await;
    stage.enqueue("a", "q", "message").await;
    let status = stage.client.get_orchestration_status("a").await.expect("its status is read");
    assert!(matches!(status, OrchestrationStatus::Running { .. }), "{status:?}");

    let new = OrchestrationRegistry::builder()
        .register_versioned("Next", "1.0.0", hand_over)
        .register_versioned("Next", "2.0.0", read_one)
        .build();
    let runtime = stage.runtime(new).await;
    assert_eq!(stage.output("a").await, "handed over: message");
    runtime.shutdown(None).await;
}

async fn until_continued(stage: &Stage) {
    let mut changes = 0;
    loop {
        let history = stage.history("a", 1).await;
        if history
            .last()
            .is_some_and(|event| matches!(event.kind, EventKind::OrchestrationContinuedAsNew { .. }))
        {
            return;
        }
        changes += 1;
        assert!(changes < 1_000, "the first execution never ends: {history:?}");
        // Nothing tells of the end of an execution whose instance goes on.
        let wait = stage.client.wait_for_status_change("a", u64::MAX, SHORT, SHORT).await;
        assert!(wait.is_err(), "the instance ended: {wait:?}");
    }
}

pub(super) async fn poisoned(store: Arc<dyn Provider>) {
    let stage = Stage::new(store);
    let runtime = stage.runtime(OrchestrationRegistry::builder().register("Next", hand_over).build()).await;
    stage.start("a", "Next", "1.0.0", "").await;
    let ended = stage.client.wait_for_orchestration("a", PATIENCE).await.expect("the instance ends");
    runtime.shutdown(None).await;
    assert!(
        matches!(ended, OrchestrationStatus::Failed { details: ErrorDetails::Poison { .. }, .. }),
        "a successor without code fails in the end: {ended:?}"
    );
    let first = stage.history("a", 1).await;
    assert!(
        matches!(first.last().map(|event| &event.kind), Some(EventKind::OrchestrationContinuedAsNew { .. })),
        "the first execution ended before, and stays so: {first:?}"
    );
    let second = stage.history("a", 2).await;
    assert!(
        matches!(
            second.iter().map(|event| &event.kind).collect::<Vec<_>>()[..],
            [EventKind::OrchestrationStarted { .. }, EventKind::OrchestrationFailed { .. }]
        ),
        "the failure is an execution of its own: {second:?}"
    );
}

fn successor(orchestration: &str, input: &str) -> WorkItem {
    WorkItem::ContinueAsNew {
        instance: "a".to_owned(),
        orchestration: orchestration.to_owned(),
        input: input.to_owned(),
        version: None,
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        carry_forward_events: Vec::new(),
        initial_custom_status: None,
    }
}

fn continued(orchestration: &str) -> Vec<EventKind> {
    vec![
        started(orchestration, "first"),
        EventKind::OrchestrationContinuedAsNew { input: "second".to_owned() },
    ]
}

pub(super) async fn duplicate_start(store: Arc<dyn Provider>) {
    let stage = Stage::new(store);
    let stamp = current_build_version().to_string();
    stage.past("a", 1, &stamp, continued("Echo")).await;
    stage.start("a", "Echo", "1.0.0", "duplicate").await;
    stage.send(successor("Echo", "second"), None).await;
    let echo = |_: OrchestrationContext, input: String| async move { Ok(input) };
    let runtime = stage.runtime(OrchestrationRegistry::builder().register("Echo", echo).build()).await;
    assert_eq!(stage.output("a").await, "second");
    runtime.shutdown(None).await;
    assert!(stage.history("a", 3).await.is_empty(), "the duplicate starts nothing");
}

pub(super) async fn transition(store: Arc<dyn Provider>, stamp: &str) {
    let stage = Stage::new(store);
    stage.past("a", 1, stamp, continued("Read")).await;
    // The messages are here before the start is visible: they wait for it.
    stage.enqueue("a", "q", "between").await;
    stage.send(successor("Read", "second"), Some(SHORT)).await;
    let registry = OrchestrationRegistry::builder().register("Read", read_one).build();
    let runtime = stage.runtime(registry).await;
    assert_eq!(stage.output("a").await, "second: between");
    runtime.shutdown(None).await;
}

pub(super) async fn queue_race(store: Arc<dyn Provider>) {
    let stage = Stage::new(store);
    let registry = OrchestrationRegistry::builder()
        .register("Race", |ctx: OrchestrationContext, input: String| async move {
            if input == "second" {
                let one = ctx.dequeue_event("q").await;
                let two = ctx.dequeue_event("q").await;
                return Ok(format!("{one}, {two}"));
            }
            let lost = ctx.select2(ctx.dequeue_event("q"), ctx.schedule_timer(SHORT)).await;
            if let Either2::First(message) = lost {
                return Err(format!("nobody sent {message}"));
            }
            ctx.set_custom_status("lost");
            // What comes now is recorded here, and read by the successor.
            let _word = ctx.schedule_wait("go").await;
            ctx.continue_as_new("second").await
        })
        .build();
    let runtime = stage.runtime(registry).await;
    stage.start("a", "Race", "1.0.0", "first").await;
    stage.until_status("a", "lost").await;
    stage.enqueue("a", "q", "one").await;
    stage.raise("a", "go", "now").await;
    stage.enqueue("a", "q", "two").await;
    assert_eq!(stage.output("a").await, "one, two");
    runtime.shutdown(None).await;
}
