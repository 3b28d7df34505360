//! W1–W4, W7: a store that fails for a while, renewals that fail, leases given back, and clocks that are wrong.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use abide_model::EventKind;
use abide_provider::{Operation, Rejection};
use abide_runtime::Stalled;
use abide_sim::{Fault, FaultPlan, Offset, VirtualClock};

use crate::lessons::scene::{Code, Scene, Way, every_way, ways};

const TEN_MINUTES: Duration = Duration::from_secs(600);

/// Code with an activity that takes a time and counts how often it ran.
fn counted(runs: &Arc<AtomicU32>, takes: Duration) -> Code {
    let runs = Arc::clone(runs);
    Code::new()
        .activity("Long", move |_, input| {
            runs.fetch_add(1, Ordering::Relaxed);
            async move {
                VirtualClock::new().sleep(takes).await;
                Ok(input)
            }
        })
        .orchestration("Asks", |ctx, input| async move {
            let done = ctx.schedule_activity("Long", input).await?;
            ctx.schedule_timer(Duration::from_secs(1)).await;
            Ok(done)
        })
}

#[test]
fn w01_no_fault_of_the_store_fails_an_orchestration_however_long_it_lasts() {
    for fault in [Fault::NotApplied, Fault::UnknownBefore, Fault::HangBefore, Fault::Panic] {
        every_way(|scene| async move {
            let way = scene.way;
            // A panic prints itself, and a few are as good as many.
            let lasts = if fault == Fault::Panic { Duration::from_secs(5) } else { TEN_MINUTES };
            // The only result there is comes with a commit, if it is fused.
            let finish = (way != Way::Fused).then(|| way.finish());
            for operation in [way.commit(), way.lease(), way.lease_work()].into_iter().chain(finish) {
                println!("{fault:?} in {operation}");
                let (name, ends) = (operation.to_string(), scene.time() + lasts);
                scene.faults.set_plan(
                    FaultPlan::none()
                        .when(move |call| (call.operation == operation && call.at < ends).then_some(fault)),
                );
                scene.node(Code::new()).await;
                assert_eq!(scene.run(&name, "Hello", "you").await.unwrap(), "hello you");
                assert!(scene.faults.fired());
                let failed = |kind: &EventKind| matches!(kind, EventKind::OrchestrationFailed { .. });
                assert_eq!(scene.count(&name, 1, failed).await, 0);
                scene.close().await;
            }
        });
    }
}

#[test]
fn w02_a_renewal_that_fails_in_any_way_costs_no_activity() {
    for fault in Fault::PASSING {
        if fault == Fault::LoseLease {
            continue;
        }
        every_way(|scene| async move {
            println!("{fault:?}");
            scene.faults.set_plan(FaultPlan::none().at(Operation::RenewWorkItemLock, 1, fault));
            let runs = Arc::new(AtomicU32::new(0));
            scene.node(counted(&runs, Duration::from_secs(100))).await;
            // Somebody else would take it if the lease were let go.
            scene.node(counted(&runs, Duration::from_secs(100))).await;
            assert_eq!(scene.run("asks", "Asks", "done").await.unwrap(), "done");
            assert!(scene.faults.fired());
            assert_eq!(runs.load(Ordering::Relaxed), 1);
        });
    }
}

#[test]
fn w03_a_lease_is_given_back_as_soon_as_its_turn_cannot_be_committed() {
    ways(&[Way::Fused, Way::Resident, Way::Cold], |scene| async move {
        for rejection in [Rejection::Conflict, Rejection::Busy] {
            scene.faults.set_plan(FaultPlan::none().at(Operation::CommitTurn, 1, Fault::Rejected(rejection)));
            let code = Code::new().options(|options| {
                options.orchestrator_lock_timeout = Duration::from_secs(3_600);
            });
            scene.node(code).await;
            let before = scene.time();
            let name = format!("{rejection:?}");
            assert_eq!(scene.run(&name, "Hello", "you").await.unwrap(), "hello you");
            assert!(scene.faults.fired());
            assert!(scene.time() - before < Duration::from_secs(1), "{:?}", scene.time() - before);
            scene.close().await;
        }
    });
}

/// Two nodes, one whose clock is right and one whose clock is not, and a run of each.
async fn with_a_wrong_clock(scene: &Scene, offset: Offset) {
    let runs = Arc::new(AtomicU32::new(0));
    let code = || {
        counted(&runs, Duration::from_secs(100)).orchestration("Waits", |ctx, _| async move {
            ctx.schedule_timer(Duration::from_secs(100)).await;
            Ok("done".to_owned())
        })
    };
    let wrong = Arc::new(scene.world.clock.skewed(offset));
    scene.node_on(scene.store(), wrong, code()).await;
    for number in 0..5 {
        scene.start(&format!("waits-{number}"), "Waits", "").await;
        scene.start(&format!("asks-{number}"), "Asks", "done").await;
    }
    scene.until(|dump| dump.work.len() == 5).await;
    // The right one comes later, and could take what the wrong one has let run out.
    scene.node(code()).await;
    for number in 0..5 {
        assert_eq!(scene.end_of(&format!("asks-{number}")).await.unwrap(), "done");
    }
    for number in 0..5 {
        let name = format!("waits-{number}");
        assert_eq!(scene.end_of(&name).await.unwrap(), "done");
        let events = scene.events(&name, 1).await;
        let took = events.last().unwrap().timestamp_ms - events[0].timestamp_ms;
        assert!((100_000..100_500).contains(&took), "a timer of 100 s took {took} ms");
    }
    assert_eq!(runs.load(Ordering::Relaxed), 5);
}

#[test]
fn w04_nothing_is_decided_by_the_clock_of_a_node() {
    let (minute, hour) = (Duration::from_secs(60), Duration::from_secs(3_600));
    for offset in [Offset::Ahead(minute), Offset::Behind(minute), Offset::Ahead(hour), Offset::Behind(hour)] {
        ways(&[Way::Fused, Way::Resident, Way::Cold], |scene| async move {
            with_a_wrong_clock(&scene, offset).await;
        });
    }
}

#[test]
fn w07_after_an_outage_of_ten_minutes_everything_goes_on_at_once() {
    every_way(|scene| async move {
        let runs = Arc::new(AtomicU32::new(0));
        let node = scene.node(counted(&runs, Duration::from_secs(60))).await;
        scene.start("asks", "Asks", "done").await;
        scene.start("waits", "Wait", "").await;
        scene.until_idle("waits").await;
        let begins = scene.time() + Duration::from_secs(10);
        let ends = begins + TEN_MINUTES;
        scene.faults.set_plan(FaultPlan::none().outage(begins, ends));
        scene.pass(Duration::from_secs(310)).await;
        let stalled = node.health().stalled(Duration::from_secs(60));
        assert!(matches!(stalled, Some(Stalled::StorageDown { .. })), "{stalled:?}");
        scene.pass(ends - scene.time()).await;
        let tries = scene.faults.calls().len();
        assert!((400..3_000).contains(&tries), "{tries} calls in an outage of ten minutes");
        scene.client().raise_event("waits", "go", "now").await.unwrap();
        assert_eq!(scene.end_of("waits").await.unwrap(), "now");
        assert_eq!(scene.end_of("asks").await.unwrap(), "done");
        // Up to three seconds until the next try, a second for the timer, and a run for what was lost with its lease.
        let late = scene.time() - ends;
        assert!(late < Duration::from_secs(70), "{late:?}");
        assert!(node.health().stalled(Duration::from_secs(60)).is_none());
        assert_eq!(scene.run("after", "Hello", "you").await.unwrap(), "hello you");
    });
}
