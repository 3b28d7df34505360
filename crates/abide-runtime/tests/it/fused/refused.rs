//! A store that refuses a fused step: the result is told by itself, and the turn is as if nothing had been tried.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use abide_provider::Operation;
use abide_sim::{Fault, FaultPlan, Gate};
use tracing::subscriber::set_default;

use super::{Written, chain, recorded, until_fired, written};
use crate::lessons::listener::Listener;
use crate::lessons::scene::{Code, Scene, Way, ways};

/// So many steps of an instance are not tried after one was refused.
const UNFUSED: u64 = 16;

/// One step during which something happens, four and sixteen more, and then a signal that may have come before.
fn interrupted(runs: &Arc<AtomicU64>) -> Code {
    chain(runs).orchestration("Interrupted", |ctx, _| async move {
        let signal = ctx.schedule_wait("go");
        ctx.schedule_activity("Count", "first").await?;
        ctx.trace_info("the first step is done");
        for step in 0..UNFUSED + 4 {
            ctx.schedule_activity("Count", step.to_string()).await?;
        }
        Ok(signal.await)
    })
}

async fn ends_right(scene: &Scene, runs: &AtomicU64) {
    assert_eq!(scene.end_of("i").await.unwrap(), "now");
    assert_eq!(runs.load(Ordering::Relaxed), UNFUSED + 5, "nothing ran twice");
    assert_eq!(recorded(scene, "i").await, 21, "nothing is recorded twice");
}

/// A message that nobody has looked at yet.
#[test]
fn mail_that_is_there_already_keeps_a_step_from_being_fused() {
    ways(&[Way::Fused], |scene| async move {
        let listener = Listener::default();
        let hearing = set_default(listener.clone());
        let (runs, leases) = (Arc::new(AtomicU64::new(0)), Gate::closed());
        scene.faults.hold(Operation::LeaseInstances, &leases);
        scene.start("i", "Interrupted", "").await;
        scene.faults.set_plan(FaultPlan::none().at(
            Operation::CommitTurn,
            2,
            Fault::Delay(Duration::from_secs(1)),
        ));
        scene.node(interrupted(&runs)).await;
        leases.waiting().await;
        leases.let_one();
        until_fired(&scene).await;
        // The step is about to be committed, and nobody leases the instance.
        scene.client().raise_event("i", "go", "now").await.unwrap();
        scene.pass(Duration::from_secs(2)).await;
        assert_eq!(written(&scene), Written { commits: 2, results: 1 });
        leases.open();
        ends_right(&scene, &runs).await;
        drop(hearing);
        // The first turn; the one that was refused; again with the message; and one for each step.
        assert_eq!(written(&scene), Written { commits: 3 + UNFUSED + 4, results: 1 + UNFUSED });
        assert_eq!(listener.count("a step could not be fused"), 1);
        assert_eq!(listener.count("the first step is done"), 1, "what is not committed is not told");
    });
}

/// A message that was taken in by a turn of its own.
#[test]
fn a_turn_that_came_between_keeps_a_step_from_being_fused() {
    ways(&[Way::Fused], |scene| async move {
        let runs = Arc::new(AtomicU64::new(0));
        let slow = Fault::Delay(Duration::from_secs(1));
        scene.faults.set_plan(FaultPlan::none().at(Operation::CommitTurn, 2, slow));
        scene.node(interrupted(&runs)).await;
        scene.start("i", "Interrupted", "").await;
        until_fired(&scene).await;
        scene.client().raise_event("i", "go", "now").await.unwrap();
        ends_right(&scene, &runs).await;
        assert_eq!(written(&scene), Written { commits: 4 + UNFUSED + 4, results: 1 + UNFUSED });
    });
}

#[test]
fn a_cancellation_wins_over_a_step_that_is_about_to_be_committed() {
    ways(&[Way::Fused], |scene| async move {
        let runs = Arc::new(AtomicU64::new(0));
        let slow = Fault::Delay(Duration::from_secs(1));
        scene.faults.set_plan(FaultPlan::none().at(Operation::CommitTurn, 2, slow));
        scene.node(chain(&runs)).await;
        scene.start("i", "Chain", "3").await;
        until_fired(&scene).await;
        scene.client().cancel_instance("i", "enough").await.unwrap();
        assert_eq!(scene.end_of("i").await.unwrap_err(), "canceled: enough");
        let ended = scene.events("i", 1).await;
        scene.pass(Duration::from_secs(60)).await;
        assert_eq!(scene.events("i", 1).await, ended);
        assert_eq!(recorded(&scene, "i").await, 0);
        // Its work went with the turn that cancelled it, and with that its right to commit.
        assert_eq!(written(&scene), Written { commits: 3, results: 0 });
        assert_eq!(runs.load(Ordering::Relaxed), 1);
        let dump = scene.world.memory.dump();
        assert!(dump.work.is_empty() && dump.messages.is_empty(), "{dump:?}");
    });
}

/// A deleted instance does not come back, and one that is started anew under its name is another.
#[test]
fn a_step_of_an_instance_that_is_deleted_meanwhile_is_nobodys() {
    ways(&[Way::Fused], |scene| async move {
        let runs = Arc::new(AtomicU64::new(0));
        let slow = Fault::Delay(Duration::from_secs(1));
        scene.faults.set_plan(FaultPlan::none().at(Operation::CommitTurn, 2, slow));
        scene.node(chain(&runs)).await;
        scene.start("i", "Chain", "3").await;
        until_fired(&scene).await;
        scene.client().delete_instance("i", true).await.unwrap();
        assert_eq!(scene.run("i", "Chain", "2").await.unwrap(), "done");
        let ended = scene.events("i", 1).await;
        scene.pass(Duration::from_secs(60)).await;
        assert_eq!(scene.events("i", 1).await, ended);
        assert_eq!(recorded(&scene, "i").await, 2);
        assert_eq!(runs.load(Ordering::Relaxed), 3);
    });
}
