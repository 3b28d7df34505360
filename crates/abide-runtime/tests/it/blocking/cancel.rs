//! Cancelling and deleting what is blocked or has no code.

use std::sync::Arc;

use abide_model::{OrchestrationStatus, SemverRange, WorkItem};
use abide_provider::{BATCH_BYTES, BATCH_MESSAGES, InstanceLease, Operation, ProviderAdmin as _};
use abide_sim::FaultStore;
use semver::Version;

use super::*;
use crate::lessons::scene::ways;

/// An instance that is blocked by a panic, and a node of the build that refused it.
async fn blocked_order(scene: &Scene) {
    let old = scene.node(order("old")).await;
    scene.start("order", "Order", "o").await;
    scene.until_idle("order").await;
    old.shutdown(None).await;
    scene.node(panicking_order("bad")).await;
    scene.signal("order").await;
    scene.until_blocked("order").await;
}

#[test]
fn a_blocked_instance_can_be_canceled_without_its_code() {
    ways(&REMEMBERING, async |scene| {
        blocked_order(&scene).await;
        scene.client().cancel_instance("order", "not needed").await.unwrap();
        let error = scene.end_of("order").await.unwrap_err();
        assert_eq!(error, "canceled: not needed");
        assert_eq!(scene.blocked().await, 0);
    });
}

#[test]
fn a_cancel_behind_more_mail_than_a_lease_holds_ends_it_too() {
    ways(&REMEMBERING, async |scene| {
        blocked_order(&scene).await;
        for _ in 0..=BATCH_MESSAGES {
            scene.signal("order").await;
        }
        scene.client().cancel_instance("order", "not needed").await.unwrap();
        assert_eq!(scene.end_of("order").await.unwrap_err(), "canceled: not needed");
    });
}

/// More than one batch of messages holds.
fn large_input() -> String {
    "x".repeat(BATCH_BYTES + 1)
}

#[test]
fn a_blocked_start_that_fills_a_batch_alone_is_canceled() {
    ways(&REMEMBERING, async |scene| {
        scene.node(build("bad").orchestration("Order", |_, _| async move { panic!("broken") })).await;
        scene.start("order", "Order", &large_input()).await;
        scene.until_blocked("order").await;
        scene.client().cancel_instance("order", "not needed").await.unwrap();
        assert_eq!(scene.end_of("order").await.unwrap_err(), "canceled: not needed");
        assert_eq!(scene.blocked().await, 0);
    });
}

#[test]
fn a_blocked_successor_that_fills_a_batch_alone_is_canceled() {
    ways(&REMEMBERING, async |scene| {
        let code = build("bad").orchestration("Order", |ctx, input| async move {
            assert!(input.is_empty(), "broken");
            ctx.continue_as_new(large_input()).await
        });
        scene.node(code).await;
        scene.start("order", "Order", "").await;
        scene.until_blocked("order").await;
        scene.client().cancel_instance("order", "not needed").await.unwrap();
        assert_eq!(scene.end_of("order").await.unwrap_err(), "canceled: not needed");
    });
}

#[test]
fn a_start_that_no_node_serves_and_that_fills_a_batch_alone_is_canceled() {
    ways(&REMEMBERING, async |scene| {
        scene.node(build("b")).await;
        scene.start("order", "Order", &large_input()).await;
        scene.pass(MINUTE).await;
        scene.client().cancel_instance("order", "no code").await.unwrap();
        assert_eq!(scene.end_of("order").await.unwrap_err(), "canceled: no code");
    });
}

/// A store that grants a refused instance because of a cancel, and then does not hand the cancel out.
fn without_cancels(lease: &mut InstanceLease) {
    lease.messages.retain(|message| !matches!(message.item, WorkItem::CancelInstance { .. }));
}

#[test]
fn a_refused_instance_that_comes_without_its_cancel_is_handed_back_and_not_run_in_a_loop() {
    ways(&[Way::Fused], async |scene| {
        let odd = FaultStore::new(scene.faults.clone(), scene.world.clock.clone());
        let odd = Arc::new(odd.with_changed_leases(without_cancels));
        let old = scene.node(order("old")).await;
        scene.start("order", "Order", "o").await;
        scene.until_idle("order").await;
        old.shutdown(None).await;
        scene.node_on(odd, scene.world.clock.clone(), panicking_order("bad")).await;
        scene.signal("order").await;
        scene.until_blocked("order").await;
        let (calls, blocks) = (Operation::LeaseInstances, Operation::BlockInstance);
        let before = (scene.faults.count(calls), scene.faults.count(blocks));
        scene.client().cancel_instance("order", "not needed").await.unwrap();
        scene.pass(Duration::from_secs(30)).await;
        let leased = scene.faults.count(calls) - before.0;
        assert!((20..100).contains(&leased), "about once a second: {leased}");
        assert_eq!(scene.faults.count(blocks), before.1, "its code is not run");
        // The build is due for another try after at most a minute; then its code runs.
        scene.pass(MINUTE).await;
        assert!(scene.faults.count(blocks) > before.1, "it is tried again when it is time");
    });
}

#[test]
fn one_whose_history_cannot_be_read_too() {
    ways(&REMEMBERING, async |scene| {
        let old = scene.node(order("old")).await;
        scene.start("order", "Order", "o").await;
        scene.until_idle("order").await;
        old.shutdown(None).await;
        scene.world.memory.make_history_unreadable("order", 1);
        scene.node(order("new")).await;
        scene.signal("order").await;
        scene.until_blocked("order").await;
        scene.client().cancel_instance("order", "damaged").await.unwrap();
        let status = scene.client().wait_for_orchestration("order", MINUTE * 60).await.unwrap();
        assert!(matches!(status, OrchestrationStatus::Failed { .. }), "{status:?}");
    });
}

#[test]
fn a_blocked_child_ends_with_its_canceled_parent() {
    ways(&REMEMBERING, async |scene| {
        let code = build("bad")
            .orchestration("Child", |_, _| async move { panic!("broken") })
            .orchestration("Parent", |ctx, _| async move {
                ctx.schedule_sub_orchestration_with_id("Child", "child", "").await
            });
        scene.node(code).await;
        scene.start("parent", "Parent", "").await;
        scene.until_blocked("child").await;
        scene.client().cancel_instance("parent", "enough").await.unwrap();
        assert_eq!(scene.end_of("parent").await.unwrap_err(), "canceled: enough");
        scene.end_of("child").await.unwrap_err();
    });
}

#[test]
fn an_instance_that_no_node_serves_can_be_canceled() {
    ways(&REMEMBERING, async |scene| {
        scene.node(build("b")).await;
        scene.start("order", "Order", "o").await;
        scene.pass(MINUTE).await;
        assert_eq!(scene.events("order", 1).await, [], "no node took it");
        scene.client().cancel_instance("order", "nobody has it").await.unwrap();
        assert_eq!(scene.end_of("order").await.unwrap_err(), "canceled: nobody has it");
    });
}

#[test]
fn an_instance_whose_pin_no_node_replays_can_be_canceled_where_its_code_is() {
    ways(&REMEMBERING, async |scene| {
        let old = scene.node(order("old")).await;
        scene.start("order", "Order", "o").await;
        scene.until_idle("order").await;
        old.shutdown(None).await;
        let later = SemverRange::new(Version::new(99, 0, 0), Version::new(99, 0, 0));
        let narrow = order("new").options(|options| options.supported_replay_versions = Some(later));
        scene.node(narrow).await;
        scene.client().cancel_instance("order", "too old").await.unwrap();
        assert_eq!(scene.end_of("order").await.unwrap_err(), "canceled: too old");
    });
}

#[test]
fn code_that_is_due_for_another_try_hears_of_a_cancel() {
    ways(&REMEMBERING, async |scene| {
        let old = scene.node(order("old")).await;
        scene.start("order", "Order", "o").await;
        scene.until_idle("order").await;
        old.shutdown(None).await;
        let bad = scene.node(changed_order("bad")).await;
        scene.signal("order").await;
        scene.until_blocked("order").await;
        bad.shutdown(None).await;
        scene.pass(2 * MINUTE).await;
        scene.client().cancel_instance("order", "not needed").await.unwrap();
        let refusals = || scene.faults.count(Operation::BlockInstance);
        let before = refusals();
        scene.node(changed_order("bad")).await;
        assert_eq!(scene.end_of("order").await.unwrap_err(), "canceled: not needed");
        assert_eq!(refusals(), before + 1, "its code ran, refused again, and then the cancel needed no code");
    });
}

#[test]
fn a_blocked_instance_can_be_deleted() {
    ways(&REMEMBERING, async |scene| {
        blocked_order(&scene).await;
        scene.world.memory.delete_instance("order", true).await.unwrap();
        assert_eq!(scene.blocked().await, 0);
        assert!(scene.events("order", 1).await.is_empty());
    });
}
