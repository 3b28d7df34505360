//! Many at once: how many are under way, and what their tasks cost.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use abide_provider::Operation;
use abide_sim::{Call, Fault, FaultPlan};

use crate::lessons::scene::{Code, Scene, Way, ways};

const STEPS: u64 = 5;

/// How many chains have begun and not ended, and the most that were so at once.
#[derive(Debug, Default)]
struct UnderWay {
    now: AtomicI64,
    most: AtomicI64,
}

impl UnderWay {
    fn step(&self, number: u64) {
        if number == 0 {
            let now = self.now.fetch_add(1, Ordering::Relaxed) + 1;
            self.most.fetch_max(now, Ordering::Relaxed);
        }
        if number == STEPS - 1 {
            self.now.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// `Chain` does one step after the other, each of which takes so long; `Plain` does nothing.
fn code(under_way: &Arc<UnderWay>, scene: &Scene, takes: Duration) -> Code {
    let (under_way, clock) = (Arc::clone(under_way), scene.world.clock.clone());
    Code::bare()
        .activity("Step", move |_, number| {
            let (under_way, clock) = (Arc::clone(&under_way), Arc::clone(&clock));
            async move {
                under_way.step(number.parse().map_err(|_| "a number")?);
                if !takes.is_zero() {
                    let until = abide_model::Clock::monotonic(&*clock) + takes;
                    abide_model::Clock::sleep_until(&*clock, until).await;
                }
                Ok(number)
            }
        })
        .orchestration("Chain", |ctx, _| async move {
            for number in 0..STEPS {
                ctx.schedule_activity("Step", number.to_string()).await?;
            }
            Ok("done".to_owned())
        })
        .orchestration("Plain", |_, _| async move { Ok("done".to_owned()) })
}

#[test]
fn of_many_that_are_started_at_once_few_are_under_way_at_a_time() {
    ways(&[Way::Fused], |scene| async move {
        let under_way = Arc::new(UnderWay::default());
        for number in 0..3_000 {
            scene.start(&format!("chain-{number}"), "Chain", "").await;
        }
        // Where calls take no time at all, nothing ever waits.
        let takes_time = |_: &Call| Some(Fault::Delay(Duration::from_millis(1)));
        scene.faults.set_plan(FaultPlan::none().when(takes_time));
        let code = code(&under_way, &scene, Duration::ZERO).options(|options| {
            options.orchestration_concurrency = 128;
            options.worker_concurrency = 128;
        });
        scene.node(code).await;
        for number in 0..3_000 {
            assert_eq!(scene.end_of(&format!("chain-{number}")).await.unwrap(), "done");
        }
        let most = under_way.most.load(Ordering::Relaxed);
        assert!(most <= 1_800, "{most} of 3,000 were under way at once");
    });
}

/// How long 300 that need no activity take behind 1,000 steps that take so long, on so many slots.
async fn time_of_those_without_activities(scene: &Scene, takes: Duration, slots: usize) -> Duration {
    let under_way = Arc::new(UnderWay::default());
    let code = code(&under_way, scene, takes).options(|options| options.worker_concurrency = slots);
    scene.node(code).await;
    for number in 0..200 {
        scene.start(&format!("chain-{number}"), "Chain", "").await;
    }
    scene.pass(takes * 4 + takes / 2).await;
    let takes_time = |call: &Call| {
        (call.operation == Operation::LeaseInstances).then_some(Fault::Delay(Duration::from_millis(20)))
    };
    scene.faults.set_plan(FaultPlan::none().when(takes_time));
    let before = scene.time();
    for number in 0..300 {
        scene.start(&format!("plain-{number}"), "Plain", "").await;
    }
    for number in 0..300 {
        assert_eq!(scene.end_of(&format!("plain-{number}")).await.unwrap(), "done");
    }
    scene.time() - before
}

#[test]
fn those_that_need_no_activity_do_not_wait_for_slow_ones() {
    ways(&[Way::Fused, Way::Resident], |scene| async move {
        let took = time_of_those_without_activities(&scene, Duration::from_secs(3), 64).await;
        assert!(took < Duration::from_millis(100), "{took:?}: all of them by one or two calls");
    });
}

#[test]
fn those_that_need_no_activity_get_on_in_a_crowd() {
    ways(&[Way::Fused, Way::Resident], |scene| async move {
        let took = time_of_those_without_activities(&scene, Duration::from_millis(10), 4).await;
        assert!(took < Duration::from_millis(500), "{took:?}: many of them by each call");
    });
}

#[test]
fn a_task_that_is_done_takes_the_next_lease() {
    ways(&[Way::Fused, Way::Resident], |scene| async move {
        let under_way = Arc::new(UnderWay::default());
        scene.node(code(&under_way, &scene, Duration::ZERO)).await;
        assert_eq!(scene.run("first", "Chain", "").await.unwrap(), "done");
        let before = scene.world.tasks.spawned();
        for number in 0..100 {
            assert_eq!(scene.run(&format!("chain-{number}"), "Chain", "").await.unwrap(), "done");
        }
        let more = scene.world.tasks.spawned() - before;
        assert!(more <= 4, "{more} tasks for 500 steps, one at a time");
    });
}
