//! Activities of an instance that ended although its history cannot be read.

use abide_model::{Event, EventKind, INITIAL_EXECUTION_ID, OrchestrationStatus};
use abide_provider::{Operation, ProviderAdmin as _};
use abide_sim::Gate;

use super::*;
use crate::lessons::scene::ways;

/// More than two calls take back.
const ACTIVITIES: usize = 600;

/// An order that asks for many activities at once.
fn fan(name: &str) -> Code {
    build(name).orchestration("Fan", |ctx, _| async move {
        let asked = (0..ACTIVITIES).map(|_| ctx.schedule_activity("Nowhere", ""));
        ctx.join(asked.collect()).await;
        Ok(String::new())
    })
}

/// An instance whose activities nobody runs, and whose history cannot be read any more.
async fn unreadable_fan(scene: &Scene) {
    let old = scene.node(fan("old")).await;
    scene.start("fan", "Fan", "").await;
    scene.until(|dump| dump.work.len() == ACTIVITIES).await;
    old.shutdown(None).await;
    scene.world.memory.make_history_unreadable("fan", 1);
}

fn has_failed(scene: &Scene) -> bool {
    let dump = scene.world.memory.dump();
    dump.instances.get("fan").is_some_and(|fan| fan.status.as_deref() == Some("Failed"))
}

#[test]
fn activities_of_an_unreadable_instance_are_taken_back_after_its_end_in_parts() {
    ways(&REMEMBERING, async |scene| {
        unreadable_fan(&scene).await;
        let gate = Gate::closed();
        scene.faults.hold(Operation::RevokeWork, &gate);
        scene.node(fan("new")).await;
        scene.client().cancel_instance("fan", "damaged").await.unwrap();
        for taken_back in [0, 256, 512] {
            gate.waiting().await;
            assert!(has_failed(&scene), "the end is committed first");
            assert_eq!(scene.world.memory.dump().work.len(), ACTIVITIES - taken_back);
            gate.let_one();
        }
        scene.until(|dump| dump.work.is_empty() && dump.messages.is_empty()).await;
        assert_eq!(scene.faults.count(Operation::RevokeWork), 3);
    });
}

#[test]
fn a_node_that_dies_in_between_leaves_the_rest_to_the_next() {
    ways(&REMEMBERING, async |scene| {
        unreadable_fan(&scene).await;
        let gate = Gate::closed();
        scene.faults.hold_answers(Operation::RevokeWork, &gate);
        let doomed = scene.doomed_node(fan("new")).await;
        scene.client().cancel_instance("fan", "damaged").await.unwrap();
        gate.waiting().await;
        doomed.kill();
        gate.open();
        assert!(has_failed(&scene));
        assert_eq!(scene.world.memory.dump().work.len(), ACTIVITIES - 256);
        scene.node(fan("new")).await;
        scene.until(|dump| dump.work.is_empty() && dump.messages.is_empty()).await;
    });
}

#[test]
fn an_activity_that_runs_meanwhile_is_told_to_stop() {
    ways(&REMEMBERING, async |scene| {
        let stuck = |name| {
            build(name)
                .orchestration("Stuck", |ctx, _| async move { ctx.schedule_activity("Stuck", "").await })
                .activity("Stuck", |ctx, _| async move {
                    ctx.cancelled().await;
                    Err("stopped".to_owned())
                })
        };
        let orchestrator = |code: Code| code.options(|options| options.worker_concurrency = 0);
        let worker = |code: Code| code.options(|options| options.orchestration_concurrency = 0);
        let old = scene.node(orchestrator(stuck("old"))).await;
        scene.node(worker(stuck("new"))).await;
        scene.start("stuck", "Stuck", "").await;
        scene.until(|dump| dump.work.values().any(|work| work.leased_until.is_some())).await;
        old.shutdown(None).await;
        scene.world.memory.make_history_unreadable("stuck", 1);
        scene.node(orchestrator(stuck("new"))).await;
        scene.client().cancel_instance("stuck", "damaged").await.unwrap();
        // A node shuts down at once only if the activity has ended.
        scene.until(|dump| dump.work.is_empty()).await;
    });
}

/// The end of a history of 500,000 events names no id of an activity, and no call takes back more than a
/// batch.
#[test]
fn ending_a_long_history_that_cannot_be_read_names_no_ids() {
    const EVENTS: u64 = 500_000;
    ways(&[Way::Cold], async |scene| {
        unreadable_fan(&scene).await;
        let memory = &scene.world.memory;
        let first = u64::try_from(ACTIVITIES).unwrap() + 2;
        let event = |id| {
            let kind = EventKind::ExternalEvent { name: "noise".to_owned(), data: String::new() };
            Event::with_event_id(id, "fan", INITIAL_EXECUTION_ID, None, kind)
        };
        let noise = (first..=EVENTS).map(event).collect();
        memory.append_with_execution("fan", INITIAL_EXECUTION_ID, noise).await.unwrap();
        memory.make_history_unreadable("fan", 1);
        let gate = Gate::closed();
        scene.faults.hold(Operation::RevokeWork, &gate);
        scene.node(fan("new")).await;
        scene.client().cancel_instance("fan", "damaged").await.unwrap();
        gate.waiting().await;
        let status = scene.client().wait_for_orchestration("fan", MINUTE).await.unwrap();
        assert!(matches!(status, OrchestrationStatus::Failed { .. }), "{status:?}");
        let queued = memory.get_queue_depths().await.unwrap().worker_queue;
        assert_eq!(
            queued, ACTIVITIES,
            "the commit of the end named ids, which are among those of the events"
        );
        gate.open();
        while memory.get_queue_depths().await.unwrap().worker_queue > 0 {
            scene.pass(Duration::from_millis(10)).await;
        }
        assert_eq!(scene.faults.count(Operation::RevokeWork), 3, "256 at a time");
    });
}
