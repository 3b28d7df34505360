//! Answers that are lost, leases that are lost, and nodes that die, around a fused step.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use abide_provider::Operation;
use abide_sim::{Fault, FaultPlan};

use super::{Written, chain, recorded, until_fired, written};
use crate::lessons::scene::{Scene, Way, ways};

/// What came of a chain of three when the first fused step went wrong.
struct Outcome {
    written: Written,
    runs: u64,
    replays: u64,
}

async fn goes_wrong(scene: &Scene, fault: Fault) -> Outcome {
    let runs = Arc::new(AtomicU64::new(0));
    scene.faults.set_plan(FaultPlan::none().at(Operation::CommitTurn, 2, fault));
    scene.node(chain(&runs)).await;
    assert_eq!(scene.run("i", "Chain", "3").await.unwrap(), "done");
    scene.pass(Duration::from_secs(60)).await;
    assert!(scene.faults.fired());
    assert_eq!(recorded(scene, "i").await, 3);
    let dump = scene.world.memory.dump();
    assert!(dump.work.is_empty() && dump.messages.is_empty(), "{dump:?}");
    Outcome {
        written: written(scene),
        runs: runs.load(Ordering::Relaxed),
        replays: scene.faults.count(Operation::ReadHistoryAfter),
    }
}

#[test]
fn a_step_whose_answer_is_lost_counts_once() {
    ways(&[Way::Fused], |scene| async move {
        let came = goes_wrong(&scene, Fault::Unknown).await;
        assert_eq!(came.runs, 3, "nothing ran twice");
        // The repetition is refused, because the first try was taken. Who does not know what was taken replays for the next step,
        // which so is told by itself.
        assert_eq!(came.written, Written { commits: 5, results: 1 });
        assert_eq!(came.replays, 1);
    });
}

#[test]
fn a_step_that_did_not_arrive_is_repeated() {
    for fault in [Fault::UnknownBefore, Fault::NotApplied, Fault::Panic] {
        ways(&[Way::Fused], |scene| async move {
            let came = goes_wrong(&scene, fault).await;
            assert_eq!(came.runs, 3);
            assert_eq!(came.written, Written { commits: 5, results: 0 }, "{fault:?}");
            assert_eq!(came.replays, 0, "it is in memory all the time");
        });
    }
}

#[test]
fn a_step_whose_lease_is_lost_comes_too_late() {
    ways(&[Way::Fused], |scene| async move {
        let came = goes_wrong(&scene, Fault::LoseLease).await;
        assert_eq!(came.runs, 4, "the first ran again");
        // What was refused is not told another way: nobody has the right to.
        assert_eq!(came.written, Written { commits: 5, results: 1 });
    });
}

/// A node dies between an activity and the commit that takes its result in, or right after it.
#[test]
fn a_step_of_a_node_that_dies_is_done_by_another() {
    for (fault, expected) in [(Fault::HangBefore, 2), (Fault::HangAfter, 1)] {
        ways(&[Way::Fused], |scene| async move {
            let runs = Arc::new(AtomicU64::new(0));
            scene.faults.set_plan(FaultPlan::none().at(Operation::CommitTurn, 2, fault));
            let doomed = scene.doomed_node(chain(&runs)).await;
            scene.start("i", "Chain", "1").await;
            until_fired(&scene).await;
            doomed.kill();
            doomed.all_ended().await;
            scene.node(chain(&runs)).await;
            assert_eq!(scene.end_of("i").await.unwrap(), "done");
            assert_eq!(recorded(&scene, "i").await, 1);
            assert_eq!(runs.load(Ordering::Relaxed), expected, "{fault:?}");
        });
    }
}

/// It says nothing for longer than a turn is waited for: mail that comes meanwhile is not kept waiting by it.
#[test]
fn a_step_that_hangs_holds_up_nothing_else() {
    ways(&[Way::Fused], |scene| async move {
        let runs = Arc::new(AtomicU64::new(0));
        let code = || {
            chain(&runs).orchestration("Both", |ctx, _| async move {
                let (count, signal) = (ctx.schedule_activity("Count", ""), ctx.schedule_wait("go"));
                let (count, signal) = ctx.join2(count, signal).await;
                count.map(|_| signal)
            })
        };
        let hangs = Fault::Delay(Duration::from_millis(4_900));
        scene.faults.set_plan(FaultPlan::none().at(Operation::CommitTurn, 2, hangs));
        scene.node(code()).await;
        scene.start("i", "Both", "").await;
        until_fired(&scene).await;
        scene.client().raise_event("i", "go", "now").await.unwrap();
        let before = scene.time();
        scene.until(|dump| dump.messages.is_empty()).await;
        assert!(scene.time() - before < Duration::from_secs(1), "{:?}", scene.time() - before);
        assert_eq!(scene.end_of("i").await.unwrap(), "now");
        assert_eq!(runs.load(Ordering::Relaxed), 1);
    });
}
