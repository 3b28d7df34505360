//! S5, S6, S14, S15, S17, S21–S23: messages that come early, late, twice, or cannot be read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use abide_client::Client;
use abide_engine::OrchestrationContext;
use abide_model::{Either2, ErrorDetails, EventKind, OrchestrationStatus, WorkItem};
use abide_provider::{Provider, Rejection};
use abide_runtime::Runtime;
use abide_runtime::registry::{ActivityRegistry, OrchestrationRegistry};
use abide_sim::{Fault, FaultPlan};
use abide_sqlite::SqliteProvider;

use crate::lessons::scene::{Code, Scene, Way, every_way, is_leased, ways};

#[test]
fn s05_an_instance_given_back_with_a_delay_is_not_taken_again_before() {
    every_way(|scene| async move {
        let node = scene.node(Code::bare().orchestration("Other", |_, input| async move { Ok(input) })).await;
        scene.start("hello", "Hello", "you").await;
        scene.pass(Duration::from_secs(10)).await;
        // At once, and after 1, 2 and 4 seconds more.
        assert_eq!(node.metrics_snapshot().unwrap().orch_dispatcher_items_fetched, 4);
        // Meanwhile others are served.
        assert_eq!(scene.run("other", "Other", "me").await.unwrap(), "me");
    });
}

/// Everything that can be sent to an instance, before it is there.
fn early() -> Vec<WorkItem> {
    let (instance, name, data) = ("nobody".to_owned(), "go".to_owned(), "now".to_owned());
    let details = ErrorDetails::orchestration_failed("no");
    vec![
        WorkItem::QueueMessage { instance: instance.clone(), name: name.clone(), data: data.clone() },
        WorkItem::ExternalRaised { instance: instance.clone(), name, data: data.clone() },
        WorkItem::CancelInstance { instance: instance.clone(), reason: data.clone() },
        WorkItem::ActivityCompleted {
            instance: instance.clone(),
            execution_id: 1,
            id: 2,
            result: data.clone(),
        },
        WorkItem::ActivityFailed {
            instance: instance.clone(),
            execution_id: 1,
            id: 2,
            details: details.clone(),
        },
        WorkItem::TimerFired { instance: instance.clone(), execution_id: 1, id: 2, fire_at_ms: 1 },
        WorkItem::SubOrchCompleted {
            parent_instance: instance.clone(),
            parent_execution_id: 1,
            parent_id: 2,
            result: data,
        },
        WorkItem::SubOrchFailed { parent_instance: instance, parent_execution_id: 1, parent_id: 2, details },
    ]
}

#[test]
fn s06_mail_before_the_start_makes_nobody_busy() {
    every_way(|scene| async move {
        let node = scene.node(Code::new()).await;
        for item in early() {
            scene.deliver(item).await;
            assert_eq!(scene.run("hello", "Hello", "you").await.unwrap(), "hello you");
        }
        scene.pass(Duration::from_secs(600)).await;
        let leased = node.metrics_snapshot().unwrap().orch_dispatcher_items_fetched;
        assert!(leased <= 30, "{leased} turns for two that were needed");
    });
}

#[tokio::test]
async fn s06_mail_before_the_start_stops_nobody_on_sqlite() {
    let store = Arc::new(SqliteProvider::new_in_memory().await.unwrap());
    let orchestrations = OrchestrationRegistry::builder()
        .register("Echo", |_: OrchestrationContext, input: String| async move { Ok(input) })
        .build();
    let node =
        Runtime::start_with_store(store.clone(), ActivityRegistry::builder().build(), orchestrations).await;
    let client = Client::new(store.clone());
    for (number, item) in early().into_iter().enumerate() {
        store.enqueue_for_orchestrator(item, None).await.unwrap();
        let instance = format!("echo-{number}");
        client.start_orchestration(&instance, "Echo", "you").await.unwrap();
        let status = client.wait_for_orchestration(&instance, Duration::from_secs(30)).await.unwrap();
        assert!(matches!(status, OrchestrationStatus::Completed { .. }), "{status:?}");
    }
    node.shutdown(None).await;
}

/// Brings `it` between two executions, of which nobody can start the second.
async fn into_the_gap(scene: &Scene) {
    let first = Code::bare()
        .version("It", "1.0.0", |ctx, _| async move { ctx.continue_as_new_versioned("2.0.0", "").await });
    let node = scene.node(first).await;
    scene.start("it", "It", "").await;
    scene
        .until(|dump| {
            let status = dump.instances.get("it").and_then(|it| it.status.clone());
            status.as_deref() == Some("ContinuedAsNew") && !is_leased(dump)
        })
        .await;
    node.shutdown(None).await;
}

#[test]
fn s14_mail_in_the_gap_between_two_executions_is_not_lost() {
    every_way(|scene| async move {
        into_the_gap(&scene).await;
        for number in 0..200 {
            scene.client().enqueue_event("it", "q", number.to_string()).await.unwrap();
        }
        scene.pass(Duration::from_secs(2)).await;
        let second = Code::bare().version("It", "2.0.0", |ctx, _| async move {
            let mut read = Vec::new();
            for _ in 0..200 {
                read.push(ctx.dequeue_event("q").await);
            }
            Ok(read.join(" "))
        });
        scene.node(second).await;
        let all: Vec<_> = (0..200).map(|number| number.to_string()).collect();
        assert_eq!(scene.end_of("it").await.unwrap(), all.join(" "));
    });
}

#[test]
fn s14_a_cancel_in_the_gap_cancels_the_successor() {
    every_way(|scene| async move {
        into_the_gap(&scene).await;
        scene.client().cancel_instance("it", "enough").await.unwrap();
        scene.pass(Duration::from_secs(2)).await;
        scene
            .node(
                Code::bare().version(
                    "It",
                    "2.0.0",
                    |ctx, _| async move { Ok(ctx.schedule_wait("never").await) },
                ),
            )
            .await;
        assert_eq!(scene.end_of("it").await.unwrap_err(), "canceled: enough");
        assert_eq!(scene.world.memory.dump().instances["it"].execution, 2);
    });
}

#[test]
fn s15_a_hundred_starts_are_one() {
    every_way(|scene| async move {
        let runs = Arc::new(AtomicU32::new(0));
        let seen = Arc::clone(&runs);
        let code = Code::new()
            .activity("Once", move |_, input| {
                seen.fetch_add(1, Ordering::Relaxed);
                async move { Ok(input) }
            })
            .orchestration("It", |ctx, input| async move { ctx.schedule_activity("Once", input).await });
        let node = scene.node(code).await;
        for number in 0..50 {
            scene.start("it", "It", &number.to_string()).await;
        }
        assert_eq!(scene.end_of("it").await.unwrap(), "0");
        for number in 50..100 {
            scene.start("it", "Hello", &number.to_string()).await;
        }
        scene.until(|dump| dump.messages.is_empty()).await;
        assert_eq!(scene.end_of("it").await.unwrap(), "0");
        assert_eq!(runs.load(Ordering::Relaxed), 1);
        assert_eq!(node.metrics_snapshot().unwrap().orch_starts, 1);
    });
}

#[test]
fn s17_a_dropped_wait_catches_nothing_and_an_unread_message_is_carried_over() {
    every_way(|scene| async move {
        let code = Code::new().orchestration("It", |ctx, round| async move {
            if round == "2" {
                return Ok(format!("{} {}", ctx.dequeue_event("q").await, ctx.dequeue_event("q").await));
            }
            let (dropped, kept) = (ctx.schedule_wait("go"), ctx.schedule_wait("go"));
            match ctx.select2(dropped, ctx.schedule_timer(Duration::from_secs(1))).await {
                Either2::First(signal) => return Err(format!("too early: {signal}")),
                Either2::Second(()) => {}
            }
            let signal = kept.await;
            // The second of two dequeues is read, the first is not.
            let (first, second) = (ctx.dequeue_event("q"), ctx.dequeue_event("q"));
            let read = second.await;
            drop(first);
            ctx.set_kv_value("read", format!("{signal} {read}"));
            ctx.continue_as_new("2").await
        });
        scene.node(code).await;
        scene.start("it", "It", "1").await;
        scene.pass(Duration::from_secs(2)).await;
        let client = scene.client();
        client.raise_event("it", "go", "signal").await.unwrap();
        for message in ["m1", "m2", "m3"] {
            client.enqueue_event("it", "q", message).await.unwrap();
        }
        assert_eq!(scene.end_of("it").await.unwrap(), "m1 m3");
        assert_eq!(client.get_kv_value("it", "read").await.unwrap().as_deref(), Some("signal m2"));
    });
}

#[test]
fn s21_a_history_that_cannot_be_read_is_not_looked_at_for_ever() {
    ways(&[Way::Cold, Way::Plain], |scene| async move {
        let node = scene.node(Code::new()).await;
        scene.start("it", "Wait", "").await;
        scene.until_idle("it").await;
        scene.world.memory.make_history_unreadable("it", 1);
        scene.client().raise_event("it", "go", "now").await.unwrap();
        scene.until(|dump| dump.instances["it"].status.as_deref() == Some("Failed")).await;
        let leased = || node.metrics_snapshot().unwrap().orch_dispatcher_items_fetched;
        let then = leased();
        scene.pass(Duration::from_secs(3_600)).await;
        assert_eq!(leased(), then);
        assert_eq!(scene.run("hello", "Hello", "you").await.unwrap(), "hello you");
    });
}

#[test]
fn s22_a_damaged_event_is_an_error_and_not_one_event_less() {
    every_way(|scene| async move {
        scene.node(Code::new()).await;
        scene.run("it", "Hello", "you").await.unwrap();
        let client = scene.client();
        assert_eq!(client.read_execution_history("it", 1).await.unwrap().len(), 4);
        scene.world.memory.make_history_unreadable("it", 1);
        assert!(client.read_execution_history("it", 1).await.is_err());
        assert!(client.get_orchestration_stats("it").await.is_err());
        // How it ended is known without its history.
        assert_eq!(scene.end_of("it").await.unwrap(), "hello you");
    });
}

#[test]
fn s23_a_successor_whose_first_turn_is_refused_fails_itself_and_not_its_predecessor() {
    every_way(|scene| async move {
        let code = Code::new().orchestration("It", |ctx, round| async move {
            match round.as_str() {
                "1" => ctx.continue_as_new("2").await,
                _ => Ok("unreachable".to_owned()),
            }
        });
        let refused = Fault::Rejected(Rejection::Invalid);
        scene.faults.set_plan(FaultPlan::none().at(scene.way.commit(), 2, refused));
        scene.node(code).await;
        let end = scene.run("it", "It", "1").await.unwrap_err();
        assert!(end.starts_with("infrastructure"), "{end}");
        let failed = |kind: &EventKind| matches!(kind, EventKind::OrchestrationFailed { .. });
        assert_eq!((scene.count("it", 1, failed).await, scene.count("it", 2, failed).await), (0, 1));
        let first = scene.events("it", 1).await;
        let last = &first.last().unwrap().kind;
        assert!(matches!(last, EventKind::OrchestrationContinuedAsNew { .. }), "{last:?}");
    });
}
