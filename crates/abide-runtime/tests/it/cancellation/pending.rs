//! Activities that nobody has begun when nobody wants them any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use abide_model::EventKind;
use abide_sim::Gate;

use super::{begun, cancel, held_open, seconds};
use crate::lessons::scene::{Code, Scene, Way, every_way, ways};

/// `Counts` counts how often it begins.
fn counting(code: Code) -> (Code, Arc<AtomicUsize>) {
    let begun = Arc::new(AtomicUsize::new(0));
    let counts = begun.clone();
    let code = code.activity("Counts", move |_, _| {
        counts.fetch_add(1, Ordering::Relaxed);
        async move { Ok("ran".to_owned()) }
    });
    (held_open(code, "Counts"), begun)
}

/// A node whose only slot is taken until the gate is opened.
async fn busy(scene: &Scene, code: Code) -> Gate {
    let gate = Gate::closed();
    let held = gate.clone();
    let code = code
        .activity("Held", move |_, _| {
            let held = held.clone();
            async move {
                held.pass().await;
                Ok("free".to_owned())
            }
        })
        .orchestration("Busy", |ctx, _| async move { ctx.schedule_activity("Held", "").await })
        .options(|options| options.worker_concurrency = 1);
    scene.node(code).await;
    scene.start("busy", "Busy", "").await;
    gate.waiting().await;
    gate
}

/// Waits until the instance has asked for its activity, which waits for a slot.
async fn asked(scene: &Scene, instance: &str) {
    scene.until(|dump| dump.work.values().any(|work| work.instance == instance)).await;
}

#[test]
fn what_waits_when_its_instance_is_cancelled_or_deleted_never_starts() {
    every_way(|scene| async move {
        let (code, begun) = counting(Code::new());
        let gate = busy(&scene, code).await;
        for instance in ["cancelled", "deleted"] {
            scene.start(instance, "Open", "").await;
            asked(&scene, instance).await;
        }
        cancel(&scene, "cancelled").await;
        assert_eq!(scene.end_of("cancelled").await.unwrap_err(), "canceled: enough");
        scene.client().delete_instance("deleted", true).await.unwrap();
        gate.open();
        assert_eq!(scene.end_of("busy").await.unwrap(), "free");
        scene.pass(seconds(120)).await;
        assert_eq!(begun.load(Ordering::Relaxed), 0);
        let dump = scene.world.memory.dump();
        assert!(dump.work.is_empty() && dump.messages.is_empty(), "{dump:?}");
    });
}

/// It was leased, and the answer of the store is on its way, when it is cancelled: word of it comes first.
#[test]
fn what_is_cancelled_on_its_way_to_the_worker_does_not_begin() {
    ways(&[Way::Fused, Way::Resident, Way::Cold], |scene| async move {
        let (code, begun) = counting(Code::new());
        let gate = Gate::closed();
        scene.faults.hold_answers(scene.way.lease_work(), &gate);
        scene.node(code).await;
        scene.start("i", "Open", "").await;
        gate.waiting().await;
        cancel(&scene, "i").await;
        assert_eq!(scene.end_of("i").await.unwrap_err(), "canceled: enough");
        gate.open();
        scene.pass(seconds(1)).await;
        assert_eq!(begun.load(Ordering::Relaxed), 0);
    });
}

/// The next execution asks for an activity in the same place; what the first one's would have said does not reach it.
#[test]
fn an_activity_of_the_execution_before_does_not_answer_for_the_next() {
    every_way(|scene| async move {
        let code = Code::new()
            .activity("Slow", |ctx, round| async move {
                if round == "1" {
                    ctx.cancelled().await;
                }
                Ok(format!("of {round}"))
            })
            .orchestration("Eternal", |ctx, round| async move {
                let work = ctx.schedule_activity("Slow", round.clone());
                if round == "2" {
                    return work.await;
                }
                ctx.schedule_wait("go").await;
                ctx.continue_as_new("2").await
            });
        scene.node(code).await;
        scene.start("i", "Eternal", "1").await;
        begun(&scene, "i").await;
        scene.client().raise_event("i", "go", "").await.unwrap();
        assert_eq!(scene.end_of("i").await.unwrap(), "of 2");
        scene.pass(seconds(60)).await;
        let completed = |kind: &EventKind| matches!(kind, EventKind::ActivityCompleted { .. });
        let requested = |kind: &EventKind| matches!(kind, EventKind::ActivityCancelRequested { .. });
        let counts = [scene.count("i", 1, completed).await, scene.count("i", 1, requested).await];
        assert_eq!(counts, [0, 1]);
        assert_eq!(scene.count("i", 2, completed).await, 1);
    });
}
