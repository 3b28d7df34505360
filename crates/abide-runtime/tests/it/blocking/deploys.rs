//! A bad deploy: nothing fails, and the old build, a repaired one, or an operator makes everything go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use abide_model::{EventKind, OrchestrationStatus};
use abide_provider::{BlockKind, Operation, Provider as _};
use abide_runtime::ProblemPolicy;

use super::*;
use crate::lessons::scene::ways;

#[test]
fn code_that_does_not_fit_blocks_the_instance_and_the_old_build_heals_it() {
    ways(&REMEMBERING, async |scene| {
        let old = scene.node(order("old")).await;
        scene.start("order", "Order", "o").await;
        scene.until_idle("order").await;
        old.shutdown(None).await;
        let recorded = scene.events("order", 1).await;

        let bad = scene.node(changed_order("bad")).await;
        scene.signal("order").await;
        scene.until_blocked("order").await;
        let blocked = scene.blocks("order").await.remove(0);
        assert_eq!((blocked.block.kind, blocked.block.build.as_str()), (BlockKind::Nondeterminism, "bad"));
        assert_eq!(blocked.block.event_id, Some(2), "where the history holds the first activity");
        assert!(blocked.block.detail.contains("mismatch"), "{}", blocked.block.detail);
        assert!(!blocked.block.detail.contains("first o"), "a payload: {}", blocked.block.detail);
        assert_eq!(blocked.orchestration_name, "Order");
        assert_eq!(scene.events("order", 1).await, recorded, "nothing is recorded");
        bad.shutdown(None).await;

        scene.node(order("old")).await;
        assert_eq!(scene.end_of("order").await.unwrap(), "first o, second o");
        assert_eq!(scene.blocked().await, 0);
        let tried = |kind: &EventKind| matches!(kind, EventKind::ActivityScheduled { .. });
        assert_eq!(scene.count("order", 1, tried).await, 2, "each effect once");
    });
}

#[test]
fn a_panic_blocks_the_instance_also_in_its_first_turn() {
    ways(&REMEMBERING, async |scene| {
        let broken = build("bad").orchestration("Order", |_, _| async move { panic!("no") });
        let bad = scene.node(broken).await;
        scene.start("order", "Order", "o").await;
        scene.until_blocked("order").await;
        assert_eq!(scene.kind_of_block("order").await, Some(BlockKind::Panic));
        assert_eq!(scene.events("order", 1).await, []);
        bad.shutdown(None).await;

        scene.node(order("good")).await;
        scene.until_idle("order").await;
        scene.signal("order").await;
        assert_eq!(scene.end_of("order").await.unwrap(), "first o, second o");
    });
}

#[test]
fn both_builds_at_once_leave_each_other_what_they_started() {
    ways(&REMEMBERING, async |scene| {
        let old = scene.node(order("old")).await;
        for number in 0..10 {
            scene.start(&format!("order-{number}"), "Order", "o").await;
        }
        scene.until(|dump| dump.executions.values().filter(|it| it.event_ids.len() > 3).count() == 10).await;
        scene.node(panicking_order("new")).await;
        for number in 0..10 {
            scene.signal(&format!("order-{number}")).await;
        }
        for number in 0..10 {
            assert_eq!(scene.end_of(&format!("order-{number}")).await.unwrap(), "first o, second o");
        }
        drop(old);
    });
}

#[test]
fn a_build_that_refused_tries_again_after_a_minute_and_ever_later() {
    ways(&[Way::Cold], async |scene| {
        let old = scene.node(order("old")).await;
        scene.start("order", "Order", "o").await;
        scene.until_idle("order").await;
        old.shutdown(None).await;
        scene.node(changed_order("bad")).await;
        scene.signal("order").await;
        scene.until_blocked("order").await;
        let since = scene.blocks("order").await[0].block.since;
        let refusals = || scene.faults.count(Operation::BlockInstance);
        scene.pass(MINUTE / 2).await;
        assert_eq!(refusals(), 1, "not yet");
        scene.pass(MINUTE).await;
        assert_eq!(refusals(), 2, "again after a minute");
        scene.pass(MINUTE / 2).await;
        assert_eq!(refusals(), 2, "then after twice as long");
        scene.pass(MINUTE * 2).await;
        assert_eq!(refusals(), 3);
        assert_eq!(scene.blocks("order").await[0].block.since, since, "it was blocked all the time");
    });
}

#[test]
fn a_build_that_runs_what_it_refused_takes_the_next_mail_at_once() {
    ways(&REMEMBERING, async |scene| {
        let is_broken = Arc::new(AtomicBool::new(true));
        let breaks = Arc::clone(&is_broken);
        let code = build("same").orchestration("Order", move |ctx, _| {
            let breaks = Arc::clone(&breaks);
            async move {
                for _ in 0..4 {
                    ctx.schedule_wait("go").await;
                    assert!(!breaks.load(Ordering::Relaxed), "broken");
                }
                Ok("done".to_owned())
            }
        });
        scene.node(code).await;
        scene.start("order", "Order", "").await;
        scene.until_idle("order").await;
        scene.signal("order").await;
        scene.until_blocked("order").await;
        is_broken.store(false, Ordering::Relaxed);
        scene.pass(2 * MINUTE).await;
        assert_eq!(scene.blocked().await, 0, "its retry was due");
        for _ in 0..3 {
            let sent = scene.time();
            scene.signal("order").await;
            scene.until_no_mail("order").await;
            assert!(scene.time() - sent < MINUTE / 6, "it waited for another retry");
        }
        assert_eq!(scene.end_of("order").await.unwrap(), "done");
    });
}

#[test]
fn an_operator_can_have_it_tried_at_once() {
    ways(&[Way::Cold], async |scene| {
        let old = scene.node(order("old")).await;
        scene.start("order", "Order", "o").await;
        scene.until_idle("order").await;
        old.shutdown(None).await;
        scene.node(changed_order("bad")).await;
        scene.signal("order").await;
        scene.until_blocked("order").await;
        let first = scene.blocks("order").await[0].block.since;
        scene.pass(MINUTE / 10).await;
        assert!(scene.world.memory.retry_blocked("order").await.unwrap());
        scene.until_blocked("order").await;
        assert!(scene.blocks("order").await[0].block.since > first);
        assert!(!scene.world.memory.retry_blocked("unknown").await.unwrap());
    });
}

#[test]
fn an_unreadable_history_blocks_and_keeps_the_mail() {
    ways(&REMEMBERING, async |scene| {
        let old = scene.node(order("old")).await;
        scene.start("order", "Order", "o").await;
        scene.until_idle("order").await;
        old.shutdown(None).await;
        scene.world.memory.make_history_unreadable("order", 1);
        scene.node(order("new")).await;
        scene.signal("order").await;
        scene.until_blocked("order").await;
        assert_eq!(scene.kind_of_block("order").await, Some(BlockKind::Corrupt));
        let mail =
            |dump: &abide_memory::Dump| dump.messages.values().filter(|it| it.mailbox == "order").count();
        assert_eq!(mail(&scene.world.memory.dump()), 1);
    });
}

/// The reference's constructors fail what the builder blocks.
#[test]
fn with_the_policies_of_the_reference_the_instance_fails() {
    ways(&Way::ALL, async |scene| {
        let code = Code::bare().orchestration("Order", |_, _| async move { panic!("no") });
        scene.node(code).await;
        let error = scene.run("order", "Order", "o").await.unwrap_err();
        assert!(error.contains("panicked"), "{error}");
    });
}

#[test]
fn each_problem_has_a_policy_of_its_own() {
    ways(&[Way::Fused], async |scene| {
        let code = panicking_order("bad").options(|options| options.on_panic = Some(ProblemPolicy::Fail));
        scene.node(code).await;
        scene.start("order", "Order", "o").await;
        scene.until_idle("order").await;
        scene.signal("order").await;
        scene.end_of("order").await.unwrap_err();
    });
}

/// What a node cannot run, for a reason that is no crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Obstacle {
    MissingActivity,
    MissingStart,
    UnreadableHistory,
}

impl Obstacle {
    const ALL: [Self; 3] = [Self::MissingActivity, Self::MissingStart, Self::UnreadableHistory];

    /// Starts the instance `order`, which this keeps from ending, and a node with that policy for it.
    async fn meet(self, scene: &Scene, policy: ProblemPolicy) {
        let code = || {
            build("b")
                .options(|options| {
                    options.max_attempts = 5;
                    options.unregistered_backoff.base_delay = Duration::from_secs(1);
                })
                .orchestration("Waits", |ctx, _| async move { Ok(ctx.schedule_wait("go").await) })
                .orchestration("Asks", |ctx, _| async move { ctx.schedule_activity("Chrage", "").await })
        };
        match self {
            Self::MissingActivity => {
                scene.node(code().options(|options| options.on_missing = Some(policy))).await;
                scene.start("order", "Asks", "").await;
            }
            Self::MissingStart => {
                scene.node(code().options(|options| options.on_missing = Some(policy))).await;
                scene.start("order", "Ordr", "").await;
            }
            Self::UnreadableHistory => {
                let node = scene.node(code()).await;
                scene.start("order", "Waits", "").await;
                scene.until_idle("order").await;
                node.shutdown(None).await;
                scene.world.memory.make_history_unreadable("order", 1);
                scene.node(code().options(|options| options.on_corrupt = Some(policy))).await;
                scene.signal("order").await;
            }
        }
    }
}

#[test]
fn what_is_missing_or_unreadable_fails_by_its_own_policy_and_is_never_taken_for_a_crash() {
    for obstacle in Obstacle::ALL {
        println!("{obstacle:?}");
        ways(&REMEMBERING, |scene| async move {
            obstacle.meet(&scene, ProblemPolicy::Fail).await;
            scene.pass(30 * MINUTE).await;
            assert_eq!(scene.blocks("order").await, [], "{obstacle:?} is no crash");
            let error = scene.end_of("order").await.unwrap_err();
            assert!(error.contains("poison"), "{obstacle:?}: {error}");
        });
        ways(&REMEMBERING, |scene| async move {
            obstacle.meet(&scene, ProblemPolicy::Block).await;
            scene.pass(30 * MINUTE).await;
            let kind = scene.kind_of_block("order").await;
            let expected = (obstacle == Obstacle::UnreadableHistory).then_some(BlockKind::Corrupt);
            assert_eq!(kind, expected, "{obstacle:?}");
            let status = scene.client().get_orchestration_status("order").await.unwrap();
            assert!(matches!(status, OrchestrationStatus::Running { .. }), "{obstacle:?}: {status:?}");
        });
    }
}

/// A store that remembers nothing: the instance is tried again and again, and never fails.
#[test]
fn on_a_store_with_the_required_methods_only_it_waits_and_is_healed() {
    ways(&[Way::Plain], async |scene| {
        let bad = scene.node(build("bad").orchestration("Order", |_, _| async move { panic!("no") })).await;
        scene.start("order", "Order", "o").await;
        scene.pass(MINUTE * 60).await;
        bad.shutdown(None).await;
        scene.node(order("good")).await;
        scene.until_idle("order").await;
        scene.signal("order").await;
        assert_eq!(scene.end_of("order").await.unwrap(), "first o, second o");
    });
}
