//! Scenes within one execution.

use std::sync::Arc;

use abide_engine::OrchestrationContext;
use abide_model::{Either2, EventKind, current_build_version};
use abide_provider::Provider;
use abide_runtime::registry::OrchestrationRegistry;

use super::stage::{SHORT, Stage, started};

pub(super) async fn duplicate_start(store: Arc<dyn Provider>) {
    let stage = Stage::new(store);
    let say = |version: &'static str| {
        move |ctx: OrchestrationContext, input: String| async move {
            ctx.set_custom_status("waiting");
            let word = ctx.schedule_wait("go").await;
            Ok(format!("{version} {input} {word}"))
        }
    };
    let registry = OrchestrationRegistry::builder()
        .register_versioned("Say", "1.0.0", say("v1"))
        .register_versioned("Say", "2.0.0", say("v2"))
        .build();
    let runtime = stage.runtime(registry).await;
    stage.start("a", "Say", "1.0.0", "first").await;
    stage.until_status("a", "waiting").await;
    stage.start("a", "Say", "2.0.0", "second").await;
    stage.raise("a", "go", "now").await;
    assert_eq!(stage.output("a").await, "v1 first now");
    runtime.shutdown(None).await;
}

pub(super) async fn queue_race(store: Arc<dyn Provider>) {
    let stage = Stage::new(store);
    let registry = OrchestrationRegistry::builder()
        .register("Race", |ctx: OrchestrationContext, _: String| async move {
            let lost = match ctx.select2(ctx.dequeue_event("q"), ctx.schedule_timer(SHORT)).await {
                Either2::First(message) => return Err(format!("nobody sent {message}")),
                Either2::Second(()) => "timer first",
            };
            ctx.set_custom_status("lost");
            let one = ctx.dequeue_event("q").await;
            let two = ctx.dequeue_event("q").await;
            Ok(format!("{lost}, {one}, {two}"))
        })
        .build();
    let runtime = stage.runtime(registry).await;
    stage.start("a", "Race", "1.0.0", "").await;
    stage.until_status("a", "lost").await;
    stage.enqueue("a", "q", "one").await;
    stage.enqueue("a", "q", "two").await;
    assert_eq!(stage.output("a").await, "timer first, one, two");
    runtime.shutdown(None).await;
}

pub(super) async fn wait_race(store: Arc<dyn Provider>) {
    let stage = Stage::new(store);
    let registry = OrchestrationRegistry::builder()
        .register("Race", |ctx: OrchestrationContext, _: String| async move {
            let first = ctx.select2(ctx.schedule_wait("go"), ctx.schedule_timer(SHORT)).await;
            let second = ctx.schedule_wait("go");
            ctx.set_custom_status("lost");
            Ok(format!("{} {}", first.index(), second.await))
        })
        .build();
    let runtime = stage.runtime(registry).await;
    stage.start("a", "Race", "1.0.0", "").await;
    stage.until_status("a", "lost").await;
    stage.raise("a", "go", "signal").await;
    assert_eq!(stage.output("a").await, "1 signal");
    runtime.shutdown(None).await;
}

pub(super) async fn stamps(store: Arc<dyn Provider>) {
    let stage = Stage::new(store);
    let registry = OrchestrationRegistry::builder()
        .register("Read", |ctx: OrchestrationContext, _: String| async move {
            ctx.set_custom_status("reading");
            Ok(ctx.dequeue_event("q").await)
        })
        .build();
    let runtime = stage.runtime(registry).await;
    stage.start("a", "Read", "1.0.0", "").await;
    stage.until_status("a", "reading").await;
    stage.enqueue("a", "q", "message").await;
    assert_eq!(stage.output("a").await, "message");
    runtime.shutdown(None).await;
    let stamp = current_build_version().to_string();
    let history = stage.history("a", 1).await;
    assert!(history.len() >= 5, "{history:?}");
    for event in history {
        assert_eq!(event.duroxide_version, stamp, "of event {}", event.event_id);
    }
}

pub(super) async fn older_decision(store: Arc<dyn Provider>) {
    let stage = Stage::new(store);
    let queue = |name: &str| name.to_owned();
    let past = vec![
        started("Old", ""),
        EventKind::QueueSubscribed { name: queue("q") },
        EventKind::QueueEventDelivered { name: queue("q"), data: "first".to_owned() },
        EventKind::ExternalSubscribed { name: queue("go") },
    ];
    stage.past("a", 1, "0.1.30", past).await;
    let registry = OrchestrationRegistry::builder()
        .register("Old", |ctx: OrchestrationContext, _: String| async move {
            let message = ctx.dequeue_event("q").await;
            let word = ctx.schedule_wait("go").await;
            Ok(format!("{message} {word}"))
        })
        .build();
    let runtime = stage.runtime(registry).await;
    stage.enqueue("a", "q", "second").await;
    stage.raise("a", "go", "now").await;
    assert_eq!(stage.output("a").await, "first now");
    runtime.shutdown(None).await;
}
