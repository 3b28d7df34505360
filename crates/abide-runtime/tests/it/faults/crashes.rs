//! The process dies, at every call and at any time, and another one takes over.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use abide_sim::{Fault, FaultPlan, LocalTasks, simulate};
use futures::future::join;
use tokio::sync::Notify;

use super::campaign::Campaign;
use super::digest::Digest;
use super::programs::{ALL, Program};
use super::trial::{LIMIT, LONGEST_LEASE, Setting, Sight, Trial};

#[test]
fn at_every_call() {
    let mut campaign = Campaign::default();
    for program in ALL {
        for sight in Sight::ALL {
            let learned = Trial::new(program).seeing(sight).run();
            let calls = u64::try_from(learned.calls.len()).expect("a number");
            for number in 1..=calls {
                for end in [Fault::HangBefore, Fault::HangAfter] {
                    let name = || format!("{program:?}, {sight:?}: died at call {number}, {end:?}");
                    campaign.check(name, || {
                        let came = dies(program, sight, |tasks, died| at_call(number, end, tasks, died));
                        assert!(came == learned.digest, "came to\n{came}instead of\n{}", learned.digest);
                    });
                }
            }
        }
    }
    campaign.end();
}

/// Ends everything at this call, before or after its effect.
fn at_call(number: u64, end: Fault, tasks: Arc<LocalTasks>, died: Arc<Notify>) -> FaultPlan {
    FaultPlan::none().when(move |call| {
        (call.number == number).then(|| {
            tasks.kill();
            died.notify_one();
            end
        })
    })
}

/// Runs a program on a runtime that dies, and then on another.
fn dies(
    program: &'static Program,
    sight: Sight,
    plan: impl FnOnce(Arc<LocalTasks>, Arc<Notify>) -> FaultPlan,
) -> Digest {
    simulate(LIMIT, async {
        let mut setting = Setting::new(program, sight);
        let (doomed, died) = (Arc::new(LocalTasks::new()), Arc::new(Notify::new()));
        setting.tasks = doomed.clone();
        let first = setting.start(&setting.world.faulty(plan(doomed.clone(), died.clone()))).await;
        let sound = setting.world.faulty(FaultPlan::none());
        let script = (program.script)(setting.client(&sound));
        setting.tasks = setting.world.tasks.clone();
        let takes_over = async {
            died.notified().await;
            doomed.all_ended().await;
            drop(first);
            setting.start(&sound).await
        };
        let ((), second) = join(script, takes_over).await;
        setting.shut_down(second, None).await;
        // What the first one held runs out.
        setting.world.clock.sleep(LONGEST_LEASE).await;
        setting.digest()
    })
}

/// Again and again: every attempt that dies counts, so this is fewer times than make poison.
#[test]
fn nine_times_in_a_row() {
    let mut campaign = Campaign::default();
    for program in ALL {
        let learned = Trial::new(program).run();
        for seconds in [1, 4, 7] {
            campaign.check(
                || format!("{program:?}: dies every {seconds} s"),
                || {
                    let came = dies_often(program, Duration::from_secs(seconds));
                    assert!(came == learned.digest, "came to\n{came}instead of\n{}", learned.digest);
                },
            );
        }
    }
    campaign.end();
}

fn dies_often(program: &'static Program, lives: Duration) -> Digest {
    simulate(LIMIT, async {
        let mut setting = Setting::new(program, Sight::Everything);
        let sound = setting.world.faulty(FaultPlan::none());
        let script = (program.script)(setting.client(&sound));
        let deaths = AtomicU32::new(0);
        let succession = async {
            for _ in 0..9 {
                setting.tasks = Arc::new(LocalTasks::new());
                let doomed = setting.start(&sound).await;
                setting.world.clock.sleep(lives).await;
                setting.tasks.kill();
                setting.tasks.all_ended().await;
                drop(doomed);
                deaths.fetch_add(1, Ordering::Relaxed);
            }
            setting.tasks = setting.world.tasks.clone();
            setting.start(&sound).await
        };
        let ((), last) = join(script, succession).await;
        assert_eq!(deaths.into_inner(), 9);
        setting.shut_down(last, None).await;
        setting.world.clock.sleep(LONGEST_LEASE).await;
        setting.digest()
    })
}
