//! What was leased too often because of the store: given back untried, it loses nothing, however often.

use std::sync::Arc;

use abide_provider::{Operation, Provider as _, Rejection, SessionFetchConfig, TagFilter};
use abide_runtime::Runtime;
use abide_sim::{Fault, FaultPlan, Gate};

use super::{HOUR, is_running, seconds};
use crate::lessons::scene::{Code, Scene, Way, every_way, ways};

/// More often than anything is tried.
const IN_VAIN: u32 = 20;

/// Leases the only mail there is and gives it back, as nodes do whose store took their leases away.
async fn mail_leased_in_vain(scene: &Scene, times: u32) {
    let store = &scene.world.memory;
    for _ in 0..times {
        let fetched = store.fetch_orchestration_item(seconds(30), seconds(0), None).await.unwrap();
        store.abandon_orchestration_item(&fetched.unwrap().1, None, false).await.unwrap();
    }
}

/// The same with the only activity there is.
async fn work_leased_in_vain(scene: &Scene, times: u32) {
    let store = &scene.world.memory;
    let somebody = SessionFetchConfig { owner_id: "somebody".to_owned(), lock_timeout: seconds(1) };
    for _ in 0..times {
        let filter = TagFilter::default();
        let fetched = store.fetch_work_item(seconds(30), seconds(0), Some(&somebody), &filter).await.unwrap();
        store.abandon_work_item(&fetched.unwrap().1, None, false).await.unwrap();
    }
    // Nobody's session any more.
    scene.pass(seconds(2)).await;
}

/// A node whose first call for something to do fails: it does not take the store's counts at their word.
async fn troubled_node(scene: &Scene, code: Code, plan: FaultPlan) -> Arc<Runtime> {
    scene.faults.set_plan(plan.at(scene.way.lease(), 1, Fault::NotApplied));
    let node = scene.node(code).await;
    scene.pass(seconds(1)).await;
    assert!(scene.faults.fired());
    node
}

/// Runs what does not need activities, and lets go again.
async fn scheduled(scene: &Scene, code: Code) {
    let node = scene.node(code.options(|options| options.worker_concurrency = 0)).await;
    scene.until(|dump| !dump.work.is_empty()).await;
    node.shutdown(None).await;
}

#[test]
fn a_running_instance_waits_for_its_code_after_trouble_too() {
    every_way(|scene| async move {
        let node = scene.node(Code::new()).await;
        scene.start("i", "Wait", "").await;
        scene.until_idle("i").await;
        node.shutdown(None).await;
        scene.client().raise_event("i", "go", "x").await.unwrap();
        mail_leased_in_vain(&scene, IN_VAIN).await;

        let without_code = troubled_node(&scene, Code::bare(), FaultPlan::none()).await;
        scene.pass(10 * HOUR).await;
        assert!(is_running(&scene, "i").await);
        without_code.shutdown(None).await;
        troubled_node(&scene, Code::new(), FaultPlan::none()).await;
        assert_eq!(scene.end_of("i").await.unwrap(), "x");
    });
}

#[test]
fn work_of_a_session_waits_for_its_handler_after_trouble_too() {
    every_way(|scene| async move {
        let code = || {
            Code::bare().orchestration("Session", |ctx, _| async move {
                ctx.schedule_activity_on_session("Later", "x", "s").await
            })
        };
        scene.start("i", "Session", "").await;
        scheduled(&scene, code()).await;
        work_leased_in_vain(&scene, IN_VAIN).await;

        let without_code = troubled_node(&scene, code(), FaultPlan::none()).await;
        scene.pass(10 * HOUR).await;
        assert!(is_running(&scene, "i").await);
        without_code.shutdown(None).await;
        let later = code().activity("Later", |_, input| async move { Ok(input) });
        troubled_node(&scene, later, FaultPlan::none()).await;
        assert_eq!(scene.end_of("i").await.unwrap(), "x");
    });
}

#[test]
fn a_history_that_is_another_than_ours_is_no_try() {
    ways(&[Way::Fused, Way::Resident, Way::Cold], |scene| async move {
        scene.start("i", "Hello", "you").await;
        mail_leased_in_vain(&scene, IN_VAIN).await;
        let plan = FaultPlan::none().when(|call| {
            let conflicts = call.operation == Operation::CommitTurn && call.ordinal <= 30;
            conflicts.then_some(Fault::Rejected(Rejection::Conflict))
        });
        troubled_node(&scene, Code::new(), plan).await;
        assert_eq!(scene.end_of("i").await.unwrap(), "hello you");
    });
}

#[test]
fn what_was_really_tried_is_poison_after_as_many_tries_again() {
    every_way(|scene| async move {
        let code = Code::bare()
            .orchestration("Asks", |ctx, _| async move { ctx.schedule_activity("Nobody", "").await })
            .options(|options| options.max_attempts = 3);
        troubled_node(&scene, code, FaultPlan::none()).await;
        let end = scene.run("i", "Asks", "").await.unwrap_err();
        assert_eq!(end, "poison: activity Nobody#2 exceeded 7 attempts (max 3)");
    });
}

#[test]
fn an_instance_is_not_taken_for_an_activity_that_is_called_alike() {
    ways(&[Way::Fused, Way::Resident, Way::Cold], |scene| async move {
        let code = || Code::new().options(|options| options.max_attempts = 2);
        // Its activity is the second event of its first execution.
        scene.start("a", "Hello", "you").await;
        scheduled(&scene, code()).await;
        work_leased_in_vain(&scene, 2).await;

        let gate = Gate::closed();
        scene.faults.hold(Operation::LeaseWork, &gate);
        troubled_node(&scene, code(), FaultPlan::none()).await;
        let end = scene.run("a/1/2", "Nobody", "").await.unwrap_err();
        assert!(end.starts_with("poison: orchestration a/1/2 exceeded 5 attempts"), "{end}");
        gate.open();
        assert_eq!(scene.end_of("a").await.unwrap(), "hello you");
    });
}
