//! A result that the store does not take.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use abide_sim::{Fault, FaultPlan, Gate};

use super::race;
use crate::lessons::scene::{Code, every_way};

/// An activity `Count` that counts its runs, and an orchestration `Main` that asks for it.
fn counting() -> (Code, Arc<AtomicU64>) {
    let runs = Arc::new(AtomicU64::new(0));
    let count = runs.clone();
    let code = Code::bare()
        .activity("Count", move |_, _| {
            count.fetch_add(1, Ordering::Relaxed);
            async move { Ok("counted".to_owned()) }
        })
        .orchestration("Main", |ctx, _| async move { ctx.schedule_activity("Count", "").await });
    (code, runs)
}

#[test]
fn a_cancellation_while_the_result_is_written_is_no_trouble_of_the_store() {
    every_way(|scene| async move {
        let gate = Gate::closed();
        scene.faults.hold(scene.way.finish(), &gate);
        let code = race(Code::bare(), "Echo")
            .orchestration("Asks", |ctx, _| async move { ctx.schedule_activity("Nobody", "").await })
            .options(|options| options.max_attempts = 1);
        scene.node(code).await;
        scene.start("i", "Race", "").await;
        gate.waiting().await;
        scene.client().raise_event("i", "go", "").await.unwrap();
        assert_eq!(scene.end_of("i").await.unwrap(), "dropped");
        gate.open();
        // A runtime that has met trouble would try it once more.
        let end = scene.run("poor", "Asks", "").await.unwrap_err();
        assert_eq!(end, "poison: activity Nobody#2 exceeded 2 attempts (max 1)");
    });
}

#[test]
fn a_lease_that_is_lost_while_the_result_is_written_is_trouble_of_the_store() {
    every_way(|scene| async move {
        scene.faults.set_plan(FaultPlan::none().at(scene.way.finish(), 1, Fault::LoseLease));
        let (code, runs) = counting();
        let code = code
            .orchestration("Asks", |ctx, _| async move { ctx.schedule_activity("Nobody", "").await })
            .options(|options| options.max_attempts = 1);
        scene.node(code).await;
        assert_eq!(scene.run("i", "Main", "").await.unwrap(), "counted");
        assert_eq!(runs.load(Ordering::Relaxed), 2);
        let end = scene.run("poor", "Asks", "").await.unwrap_err();
        assert_eq!(end, "poison: activity Nobody#2 exceeded 3 attempts (max 1)");
    });
}
