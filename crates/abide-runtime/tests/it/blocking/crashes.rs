//! Turns and activities that are under way in crash after crash: they are quarantined, and nothing else is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use abide_provider::{BlockKind, Operation, Provider as _, SUSPECT_AFTER};
use futures::future::{Either, select};

use super::*;
use crate::lessons::scene::ways;

/// So many crashes are allowed.
const MOST: u32 = 5;

/// An activity that is under way when the process dies, as long as it is not repaired.
fn deadly(repaired: &Arc<AtomicBool>, reached: &Arc<tokio::sync::Notify>) -> Code {
    let (repaired, reached) = (Arc::clone(repaired), Arc::clone(reached));
    build("b")
        .options(|options| {
            options.max_attempts = MOST;
            options.worker_lock_timeout = Duration::from_secs(1);
            options.orchestrator_lock_timeout = Duration::from_secs(1);
        })
        .activity("Deadly", move |_, input| {
            let (repaired, reached) = (Arc::clone(&repaired), Arc::clone(&reached));
            async move {
                if !repaired.load(Ordering::Relaxed) {
                    reached.notify_one();
                    std::future::pending::<()>().await;
                }
                Ok(input)
            }
        })
        .orchestration("Hello", |ctx, name| async move { ctx.schedule_activity("Echo", name).await })
        .orchestration("Dies", |ctx, input| async move { ctx.schedule_activity("Deadly", input).await })
        .orchestration("Races", |ctx, input| async move {
            let deadly = ctx.schedule_activity("Deadly", input);
            let timer = ctx.schedule_timer(Duration::from_secs(3_600));
            match select(deadly, timer).await {
                Either::Left((result, _)) => result,
                Either::Right(_) => Ok("the timer wins".to_owned()),
            }
        })
}

/// Starts nodes that die as soon as the deadly activity is under way, until one lives for long.
async fn crash_until_quarantined(scene: &Scene, repaired: &Arc<AtomicBool>) -> u32 {
    for crashes in 0..50 {
        let reached = Arc::new(tokio::sync::Notify::new());
        let node = scene.doomed_node(deadly(repaired, &reached)).await;
        let lived = select(Box::pin(scene.pass(MINUTE)), Box::pin(reached.notified())).await;
        node.kill();
        match lived {
            Either::Left(_) => return crashes,
            Either::Right(_) => {}
        }
    }
    panic!("it is never quarantined")
}

#[test]
fn an_activity_is_quarantined_alone_and_retried_with_a_repaired_handler() {
    ways(&REMEMBERING, async |scene| {
        let repaired = Arc::new(AtomicBool::new(false));
        scene.start("dies", "Dies", "x").await;
        for number in 0..20 {
            scene.start(&format!("hello-{number}"), "Hello", "world").await;
        }
        let crashes = crash_until_quarantined(&scene, &repaired).await;
        assert_eq!(crashes, MOST);
        let begun = scene.faults.count(Operation::BeginSuspect);
        assert_eq!(begun, u64::from(MOST - SUSPECT_AFTER), "once for each time that a suspect ran");
        let held = scene.blocks("dies").await;
        assert_eq!(held.len(), 1, "{held:?}");
        assert_eq!(held[0].block.kind, BlockKind::Quarantine);
        assert!(held[0].block.holds_activity && held[0].block.detail.contains("'Deadly'"), "{held:?}");
        for number in 0..20 {
            assert_eq!(scene.end_of(&format!("hello-{number}")).await.unwrap(), "world");
        }
        repaired.store(true, Ordering::Relaxed);
        scene.node(deadly(&repaired, &Arc::default())).await;
        scene.pass(MINUTE * 120).await;
        assert_eq!(scene.blocked().await, 1, "it is not tried by itself");
        assert!(scene.world.memory.retry_blocked("dies").await.unwrap());
        assert_eq!(scene.end_of("dies").await.unwrap(), "x");
        assert_eq!(scene.blocked().await, 0);
    });
}

#[test]
fn a_timer_raced_against_a_quarantined_activity_still_wins() {
    ways(&[Way::Fused, Way::Cold], async |scene| {
        let repaired = Arc::new(AtomicBool::new(false));
        scene.start("races", "Races", "x").await;
        crash_until_quarantined(&scene, &repaired).await;
        scene.node(deadly(&repaired, &Arc::default())).await;
        assert_eq!(scene.end_of("races").await.unwrap(), "the timer wins");
        assert_eq!(scene.blocked().await, 0, "the activity went with its cancellation");
    });
}
