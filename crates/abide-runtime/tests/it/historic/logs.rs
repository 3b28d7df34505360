//! W18: payloads are nobody's business but their own code's.

use std::time::Duration;

use abide_model::WorkItem;
use abide_sim::{Fault, FaultPlan};
use metrics::with_local_recorder;
use tracing::subscriber::with_default;

use crate::lessons::listener::Listener;
use crate::lessons::scene::{Code, Scene, every_way};
use crate::recorder::Shown;

/// Is in every payload, and in no name.
const SECRET: &str = "canary-7f3a";

/// What code says when it fails. That is told once, in the line that says so, and nowhere else.
const WORDS: &str = "words-51c2";

/// Puts the secret into everything that has room for it.
fn telling() -> Code {
    Code::new()
        .activity("Panic", |_, input| async move { panic!("{input}") })
        .orchestration("Tells", |ctx, input| async move {
            ctx.set_custom_status(input.clone());
            ctx.set_kv_value("key", input.clone());
            ctx.schedule_activity("Echo", input.clone()).await?;
            let _failed = ctx.schedule_activity("Fail", input.clone()).await;
            let _panicked = ctx.schedule_activity("Panic", input.clone()).await;
            let _cancelled = ctx.schedule_activity("Sleep", "3600000");
            let _child = ctx.schedule_sub_orchestration("Hello", input.clone()).await;
            ctx.schedule_orchestration("Unknown", "detached", input.clone());
            let (signal, message) = (ctx.schedule_wait("go").await, ctx.dequeue_event("q").await);
            if ctx.execution_id() == 1 {
                return ctx.continue_as_new(format!("{input} {signal} {message}")).await;
            }
            Err(WORDS.to_owned())
        })
        .orchestration("Panics", |_, _| async move { panic!("{WORDS}") })
        .orchestration("Asks", |ctx, input| async move { ctx.schedule_activity("Unknown", input).await })
        .orchestration("Foreign", |_, input| async move {
            std::future::pending::<()>().await;
            Ok(input)
        })
}

/// Goes wrong in every way that is worth a line in a log.
async fn provoke(scene: &Scene) {
    let plan = FaultPlan::none()
        .at(scene.way.commit(), 1, Fault::NotApplied)
        .at(scene.way.commit(), 3, Fault::Unknown)
        .at(scene.way.finish(), 1, Fault::HangBefore)
        .at(scene.way.lease(), 2, Fault::Panic);
    scene.faults.set_plan(plan);
    let code = telling().options(|options| {
        options.max_attempts = 2;
        options.unregistered_backoff.max_delay = Duration::from_secs(1);
    });
    scene.node(code).await;
    let client = scene.client();
    scene.start("tells", "Tells", SECRET).await;
    scene.start("tells", "Tells", SECRET).await;
    for name in ["Panics", "Asks", "Foreign", "Nowhere"] {
        scene.start(name, name, SECRET).await;
    }
    client.raise_event("typo", "go", SECRET).await.unwrap();
    client.enqueue_event("typo", "q", SECRET).await.unwrap();
    for _ in 0..4 {
        scene.pass(Duration::from_secs(60)).await;
        client.raise_event("tells", "go", SECRET).await.unwrap();
        client.enqueue_event("tells", "q", SECRET).await.unwrap();
    }
    client.cancel_instance("Foreign", "it waits for nothing").await.unwrap();
    for name in ["tells", "Panics", "Asks", "Foreign", "Nowhere"] {
        assert!(scene.end_of(name).await.is_err());
    }
    let stale = WorkItem::ActivityCompleted {
        instance: "tells".to_owned(),
        execution_id: 1,
        id: 4,
        result: SECRET.to_owned(),
    };
    scene.deliver(stale).await;
    // What was sent to a typo waits for ever.
    scene
        .until(|dump| dump.messages.values().all(|mail| mail.mailbox == "typo") && dump.work.is_empty())
        .await;
    assert!(scene.faults.injected().len() >= 3, "{:?}", scene.faults.injected());
}

/// What is said about code that does not fit, and about a history that cannot be read.
async fn end_badly(scene: &Scene) {
    let waits = |said: &'static str| {
        Code::new().orchestration("Changes", move |ctx, input| async move {
            let _asked = ctx.schedule_activity("Echo", format!("{said} {input}"));
            Ok(ctx.schedule_wait("go").await)
        })
    };
    scene.node(waits("before")).await;
    for name in ["drifts", "damaged"] {
        scene.start(name, "Changes", SECRET).await;
        scene.until_idle(name).await;
    }
    scene.close().await;
    scene.world.memory.make_history_unreadable("damaged", 1);
    scene.node(waits("after")).await;
    for name in ["drifts", "damaged"] {
        scene.client().raise_event(name, "go", SECRET).await.unwrap();
        assert!(scene.end_of(name).await.is_err());
    }
}

#[test]
fn w18_no_payload_is_in_a_log_or_a_metric() {
    let (listener, shown) = (Listener::default(), Shown::default());
    with_local_recorder(&shown, || {
        with_default(listener.clone(), || {
            every_way(|scene| async move {
                provoke(&scene).await;
                scene.close().await;
                end_badly(&scene).await;
            });
        });
    });
    let lines = listener.lines();
    assert!(lines.len() > 100, "almost nothing was said: {lines:#?}");
    let told: Vec<_> = lines.iter().filter(|line| line.contains(SECRET)).collect();
    assert!(told.is_empty(), "{told:#?}");
    let words: Vec<_> = lines.iter().filter(|line| line.contains(WORDS)).collect();
    // Two instances, in four ways.
    assert_eq!(words.len(), 8, "{words:#?}");
    assert!(words.iter().all(|line| line.contains("message=the instance failed ")), "{words:#?}");
    assert!(!shown.text().contains(SECRET) && !shown.text().contains(WORDS));
}
