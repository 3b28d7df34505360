//! A result that the store does not take.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use abide_provider::{Operation, Rejection};
use abide_sim::{Fault, FaultPlan};

use super::race;
use crate::lessons::scene::{Code, Scene, Way, every_way, ways};

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

/// The first results of activities are refused, alone and with their turns.
fn refuse(scene: &Scene, rejection: Rejection, times: u64) {
    let (fused, second) = Way::Fused.first_result();
    let way = scene.way;
    scene.faults.set_plan(FaultPlan::none().when(move |call| {
        let is_told = call.operation == Operation::FinishWork && call.ordinal <= times;
        let is_fused = way == Way::Fused && call.operation == fused && call.ordinal == second;
        (is_told || is_fused).then_some(Fault::Rejected(rejection))
    }));
}

/// What the store was asked to write in one of the ways that know more than the required methods.
fn assert_asked(scene: &Scene, commits: u64, results: u64) {
    assert_eq!(scene.faults.count(Operation::CommitTurn), commits);
    assert_eq!(scene.faults.count(Operation::FinishWork), results);
}

#[test]
fn a_cancellation_while_the_result_is_written_is_no_trouble_of_the_store() {
    every_way(|scene| async move {
        let (operation, ordinal) = scene.way.first_result();
        // Shorter than anybody waits for an answer.
        let slow = Fault::Delay(super::seconds(3));
        scene.faults.set_plan(FaultPlan::none().at(operation, ordinal, slow));
        let code = race(Code::bare(), "Echo")
            .orchestration("Asks", |ctx, _| async move { ctx.schedule_activity("Nobody", "").await })
            .options(|options| options.max_attempts = 1);
        scene.node(code).await;
        scene.start("i", "Race", "").await;
        while !scene.faults.fired() {
            scene.pass(Duration::from_millis(1)).await;
        }
        let before = scene.time();
        scene.client().raise_event("i", "go", "").await.unwrap();
        assert_eq!(scene.end_of("i").await.unwrap(), "dropped");
        assert!(scene.time() - before < super::seconds(1), "nobody waits for the result");
        scene.pass(super::seconds(3)).await;
        // A runtime that has met trouble would try it once more.
        let end = scene.run("poor", "Asks", "").await.unwrap_err();
        assert_eq!(end, "poison: activity Nobody#2 exceeded 2 attempts (max 1)");
    });
}

#[test]
fn a_lease_that_is_lost_while_the_result_is_written_is_trouble_of_the_store() {
    every_way(|scene| async move {
        let (operation, ordinal) = scene.way.first_result();
        scene.faults.set_plan(FaultPlan::none().at(operation, ordinal, Fault::LoseLease));
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

#[test]
fn a_refusal_after_a_lost_answer_is_a_refusal() {
    ways(&[Way::Fused, Way::Resident, Way::Cold], |scene| async move {
        let refused = Fault::Rejected(Rejection::Invalid);
        let plan = FaultPlan::none().at(Operation::FinishWork, 1, Fault::UnknownBefore).at(
            Operation::FinishWork,
            2,
            refused,
        );
        // Fused, the same happens to it once more before.
        let plan = if scene.way == Way::Fused {
            plan.at(Operation::CommitTurn, 2, Fault::UnknownBefore).at(Operation::CommitTurn, 3, refused)
        } else {
            plan
        };
        scene.faults.set_plan(plan);
        let (code, runs) = counting();
        let node = scene.node(code).await;
        let end = scene.run("i", "Main", "").await.unwrap_err();
        assert!(end.starts_with("the result of activity 'Count' (7 bytes) cannot be stored:"), "{end}");
        assert_eq!(runs.load(Ordering::Relaxed), 1);
        assert_eq!(node.metrics_snapshot().unwrap().activity_app_errors, 1);
        assert_asked(&scene, if scene.way == Way::Fused { 4 } else { 2 }, 3);
    });
}

#[test]
fn a_lost_lease_after_a_lost_answer_may_be_our_own_doing() {
    every_way(|scene| async move {
        let (operation, ordinal) = scene.way.first_result();
        scene.faults.set_plan(FaultPlan::none().at(operation, ordinal, Fault::Unknown));
        let (code, runs) = counting();
        let node = scene.node(code).await;
        assert_eq!(scene.run("i", "Main", "").await.unwrap(), "counted");
        scene.until(|dump| dump.work.is_empty()).await;
        scene.pass(super::seconds(1)).await;
        assert!(scene.faults.fired());
        assert_eq!(runs.load(Ordering::Relaxed), 1);
        assert_eq!(node.metrics_snapshot().unwrap().activity_success, 1);
    });
}

#[test]
fn a_result_that_the_store_never_takes_is_a_failure_at_once() {
    ways(&[Way::Fused, Way::Resident, Way::Cold], |scene| async move {
        refuse(&scene, Rejection::Invalid, 1);
        let (code, runs) = counting();
        scene.node(code).await;
        let end = scene.run("i", "Main", "").await.unwrap_err();
        assert!(end.starts_with("the result of activity 'Count' (7 bytes) cannot be stored:"), "{end}");
        assert_eq!(runs.load(Ordering::Relaxed), 1);
        assert_asked(&scene, if scene.way == Way::Fused { 3 } else { 2 }, 2);
    });
}

#[test]
fn an_activity_of_which_the_store_takes_nothing_is_not_run_for_ever() {
    ways(&[Way::Fused, Way::Resident, Way::Cold], |scene| async move {
        refuse(&scene, Rejection::Invalid, 20);
        let (code, runs) = counting();
        scene.node(code).await;
        let end = scene.run("i", "Main", "").await.unwrap_err();
        assert_eq!(end, "poison: activity Count#2 exceeded 11 attempts (max 10)");
        assert_eq!(runs.load(Ordering::Relaxed), 10);
        // Each time the result and the failure in its place, and then the poison; none is tried fused after the first.
        assert_asked(&scene, if scene.way == Way::Fused { 3 } else { 2 }, 21);
    });
    // A store with the required methods only says the same of a lost lease and of a result that it will never take.
    ways(&[Way::Plain], |scene| async move {
        let refused = Fault::Rejected(Rejection::Invalid);
        scene.faults.set_plan(FaultPlan::none().when(move |call| {
            (call.operation == Operation::AckWorkItem && call.ordinal <= 20).then_some(refused)
        }));
        let (code, runs) = counting();
        scene.node(code).await;
        let end = scene.run("i", "Main", "").await.unwrap_err();
        assert!(end.starts_with("poison: activity Count#2 exceeded"), "{end}");
        assert!(runs.load(Ordering::Relaxed) <= 20);
    });
}

#[test]
fn a_result_that_is_refused_for_a_while_is_taken_in_the_end() {
    ways(&[Way::Fused, Way::Resident, Way::Cold], |scene| async move {
        refuse(&scene, Rejection::Busy, 30);
        let (code, _) = counting();
        scene.node(code).await;
        assert_eq!(scene.run("i", "Main", "").await.unwrap(), "counted");
        assert!(scene.faults.fired());
        // After the first refusal it is not in memory any more, so nothing is fused.
        assert_asked(&scene, if scene.way == Way::Fused { 3 } else { 2 }, 31);
    });
}
