//! The clocks of the store and of the runtime disagree.

use std::sync::Arc;
use std::time::Duration;

use abide_model::Clock as _;
use abide_sim::{FaultPlan, Offset, simulate};
use futures::future::join;

use super::campaign::Campaign;
use super::digest::Digest;
use super::programs::{ALL, Program};
use super::trial::{LIMIT, Setting, Sight, Trial};

const HOUR: Duration = Duration::from_secs(3_600);

/// A store that does not say what time it is leaves that to the runtime's clock, so this is about those that do.
#[test]
fn an_hour_of_difference_changes_nothing_not_even_the_time() {
    let mut campaign = Campaign::default();
    for program in ALL {
        let learned = Trial::new(program).run();
        for offset in [Offset::Ahead(HOUR), Offset::Behind(HOUR)] {
            campaign.check(
                || format!("{program:?}: {offset:?}"),
                || {
                    let (came, took) = skewed(program, offset, offset);
                    assert!(came == learned.digest, "came to\n{came}instead of\n{}", learned.digest);
                    assert_eq!(took, learned.took);
                },
            );
        }
    }
    campaign.end();
}

#[test]
fn a_clock_that_jumps_changes_nothing_either() {
    let mut campaign = Campaign::default();
    for program in ALL.iter().filter(|program| program.name != "system") {
        let learned = Trial::new(program).run();
        for (before, after) in [(Offset::NONE, Offset::Ahead(HOUR)), (Offset::NONE, Offset::Behind(HOUR))] {
            campaign.check(
                || format!("{program:?}: from {before:?} to {after:?}"),
                || {
                    let (came, took) = skewed(program, before, after);
                    assert!(came == learned.digest, "came to\n{came}instead of\n{}", learned.digest);
                    assert_eq!(took, learned.took);
                },
            );
        }
    }
    campaign.end();
}

/// Runs a program on a runtime whose clock is wrong, and wrong in another way after two seconds.
fn skewed(program: &'static Program, before: Offset, after: Offset) -> (Digest, Duration) {
    simulate(LIMIT, async {
        let mut setting = Setting::new(program, Sight::Everything);
        let clock = setting.world.clock.skewed(before);
        setting.clock = Arc::new(clock.clone());
        let store = setting.world.faulty(FaultPlan::none());
        let runtime = setting.start(&store).await;
        let jump = async {
            setting.world.clock.sleep(Duration::from_secs(2)).await;
            clock.set_offset(after);
        };
        let script = async {
            (program.script)(setting.client(&store)).await;
            setting.world.clock.monotonic()
        };
        let (took, ()) = join(script, jump).await;
        setting.shut_down(runtime, None).await;
        (setting.digest(), took)
    })
}
