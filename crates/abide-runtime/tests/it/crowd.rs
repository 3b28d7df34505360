//! Many at once: how many are under way, and what their tasks cost.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use abide_sim::{Fault, FaultPlan};

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
        for number in 0..1_000 {
            scene.start(&format!("chain-{number}"), "Chain", "").await;
        }
        // Where calls take no time at all, nothing ever waits.
        let takes_time = |_: &_| Some(Fault::Delay(Duration::from_millis(1)));
        scene.faults.set_plan(FaultPlan::none().when(takes_time));
        let code = code(&under_way, &scene, Duration::ZERO).options(|options| {
            options.orchestration_concurrency = 32;
            options.worker_concurrency = 32;
        });
        scene.node(code).await;
        for number in 0..1_000 {
            assert_eq!(scene.end_of(&format!("chain-{number}")).await.unwrap(), "done");
        }
        let most = under_way.most.load(Ordering::Relaxed);
        assert!(most <= 400, "{most} of 1,000 were under way at once");
    });
}

#[test]
fn those_that_need_no_activity_get_on_in_a_crowd_of_slow_ones() {
    ways(&[Way::Fused, Way::Resident], |scene| async move {
        let under_way = Arc::new(UnderWay::default());
        let minutes = Duration::from_secs(600);
        let code = code(&under_way, &scene, minutes).options(|options| options.worker_concurrency = 2);
        scene.node(code).await;
        for number in 0..10 {
            scene.start(&format!("chain-{number}"), "Chain", "").await;
        }
        scene.pass(Duration::from_secs(1)).await;
        let before = scene.time();
        for number in 0..300 {
            scene.start(&format!("plain-{number}"), "Plain", "").await;
        }
        for number in 0..300 {
            assert_eq!(scene.end_of(&format!("plain-{number}")).await.unwrap(), "done");
        }
        assert!(scene.time() - before < Duration::from_secs(1), "{:?}", scene.time() - before);
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
