//! Timers are never early: from the moment the code asked for one to the moment it goes on, at least the delay has passed, however little
//! the node knew of the time. Where time is virtual, it is known what has to be exact.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use abide_model::{Clock as _, EventKind, PruneOptions};
use abide_provider::Operation;
use abide_sim::{Fault, FaultPlan, VirtualClock};

use crate::lessons::scene::{Code, Scene, Way, every_way};

const DELAY: Duration = Duration::from_secs(10);

/// What an answer takes on its way.
const LATE: Duration = Duration::from_secs(2);

/// Which call is late, in each way of working.
type Late = fn(Way) -> Option<Operation>;

/// When the code was first where, in virtual time.
#[derive(Clone, Default)]
struct Moments {
    asked: Arc<Mutex<Option<Duration>>>,
    resumed: Arc<Mutex<Option<Duration>>>,
}

impl Moments {
    /// Replays come again, and do not count.
    fn note(moment: &Mutex<Option<Duration>>, clock: &VirtualClock) {
        moment.lock().unwrap().get_or_insert_with(|| clock.monotonic());
    }

    /// What has passed between them.
    fn between(&self) -> Duration {
        let (asked, resumed) = (*self.asked.lock().unwrap(), *self.resumed.lock().unwrap());
        resumed.unwrap().checked_sub(asked.unwrap()).unwrap()
    }
}

/// An orchestration `Naps` that does what its input says, and then waits for a timer.
fn napping(scene: &Scene, moments: &Moments) -> Code {
    let (clock, moments) = (scene.world.clock.clone(), moments.clone());
    Code::bare().orchestration("Naps", move |ctx, first| {
        let (clock, moments) = (clock.clone(), moments.clone());
        async move {
            match first.as_str() {
                "nothing" => {}
                "activity" => drop(ctx.schedule_activity("Echo", "").await?),
                "prune" => {
                    // Before its first turn is over there is nothing to ask for.
                    ctx.schedule_activity("Echo", "").await?;
                    drop(ctx.prune_history(PruneOptions::default()).await);
                }
                other => return Err(format!("what is {other}?")),
            }
            Moments::note(&moments.asked, &clock);
            ctx.schedule_timer(DELAY).await;
            Moments::note(&moments.resumed, &clock);
            Ok(String::new())
        }
    })
}

/// The times at which the timer says that it fires: when it is made, and when it has.
async fn fire_times(scene: &Scene) -> Vec<u64> {
    let events = scene.events("i", 1).await;
    let times = events.iter().filter_map(|event| match event.kind {
        EventKind::TimerCreated { fire_at_ms } | EventKind::TimerFired { fire_at_ms } => Some(fire_at_ms),
        _ => None,
    });
    times.collect()
}

#[test]
fn a_timer_is_not_early_by_what_an_answer_took_on_its_way() {
    let cases: [(&str, Late, &str); 4] = [
        ("nothing was late", |_| None, "nothing"),
        ("the lease of its turn was", |way| Some(way.lease()), "nothing"),
        ("the lease of the activity was that its turn came with", |way| Some(way.lease_work()), "activity"),
        ("what its turn asked its host for was", |_| Some(Operation::PruneExecutions), "prune"),
    ];
    for (case, late, first) in cases {
        println!("{case}");
        every_way(|scene| async move {
            let late = late(scene.way);
            if let Some(operation) = late {
                let plan = FaultPlan::none().at(operation, 1, Fault::DelayAnswer(LATE));
                scene.faults.set_plan(plan);
            }
            let moments = Moments::default();
            scene.node(napping(&scene, &moments)).await;
            scene.run("i", "Naps", first).await.unwrap();
            assert_eq!(scene.faults.fired(), late.is_some(), "{case}");
            assert_eq!(moments.between(), DELAY, "{case}");
            let times = fire_times(&scene).await;
            assert!(
                times.len() == 2 && (times[0] == times[1] || scene.way == Way::Plain),
                "{case}: {times:?}"
            );
        });
    }
}

#[test]
fn a_timer_is_not_early_by_what_is_rounded_off() {
    // So much of a millisecond has begun when everything begins.
    for begun in [0, 1, 400, 999].map(Duration::from_micros) {
        every_way(|scene| async move {
            tokio::time::advance(begun).await;
            let moments = Moments::default();
            scene.node(napping(&scene, &moments)).await;
            scene.start("i", "Naps", "nothing").await;
            scene.until_idle("i").await;
            // Something else is to be done at the whole millisecond, so that the store is looked at just then.
            scene.world.clock.sleep_until(DELAY - Duration::from_millis(5)).await;
            tokio::time::advance(DELAY - scene.time()).await;
            assert!(scene.run("other", "Naps", "what?").await.is_err());
            scene.end_of("i").await.unwrap();
            let passed = moments.between();
            let most = if begun.is_zero() { DELAY } else { DELAY + Duration::from_millis(2) };
            assert!(passed >= DELAY && passed <= most, "{begun:?}: {passed:?}");
        });
    }
}
