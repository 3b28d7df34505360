//! A runtime is shut down in the middle, in good times and in bad, and another one takes over.

use std::time::Duration;

use abide_provider::Operation;
use abide_sim::{Fault, FaultPlan, simulate};
use futures::future::join;

use super::campaign::{Campaign, can_happen, passing};
use super::digest::Digest;
use super::outages::Trouble;
use super::programs::{ALL, Program};
use super::trial::{LIMIT, LONGEST_LEASE, Setting, Sight, Trial};

const GRACES: [Option<Duration>; 3] = [None, Some(Duration::ZERO), Some(Duration::from_secs(10))];

/// When and how a runtime is shut down.
#[derive(Debug, Clone, Copy)]
struct Stop {
    at: Duration,
    grace: Option<Duration>,
}

#[test]
fn a_program_outlives_the_shutdown_of_its_runtime() {
    let mut campaign = Campaign::default();
    for program in ALL {
        for sight in Sight::ALL {
            let learned = Trial::new(program).seeing(sight).run();
            for grace in GRACES {
                for at in [0, 5, 13].map(Duration::from_secs) {
                    let stop = Stop { at, grace };
                    campaign.check(
                        || format!("{program:?}, {sight:?}: {stop:?}"),
                        || {
                            let (came, _) = restarted(program, sight, stop, FaultPlan::none());
                            assert!(came == learned.digest, "came to\n{came}instead of\n{}", learned.digest);
                        },
                    );
                }
            }
        }
    }
    campaign.end();
}

/// Whatever the store does, a shutdown ends, and nothing is lost.
#[test]
fn a_shutdown_ends_in_any_trouble() {
    let mut campaign = Campaign::default();
    for name in ["chain", "long activity", "session", "children", "queue across executions"] {
        let program = Program::named(name);
        let learned = Trial::new(program).run();
        for trouble in Trouble::ALL {
            for grace in GRACES {
                for at in [3, 20].map(Duration::from_secs) {
                    let stop = Stop { at, grace };
                    campaign.check(
                        || format!("{program:?}: {trouble:?}, {stop:?}"),
                        || {
                            let plan = trouble.between(Duration::from_millis(1_500), Duration::from_secs(60));
                            let plan = plan.when(|call| {
                                let delay = (call.number < 12).then_some(Duration::from_millis(300));
                                delay.map(Fault::Delay)
                            });
                            let (came, _) = restarted(program, Sight::Everything, stop, plan);
                            assert!(came == learned.digest, "came to\n{came}instead of\n{}", learned.digest);
                        },
                    );
                }
            }
        }
    }
    campaign.end();
}

/// What is given back may not arrive: then it runs out.
#[test]
fn every_lease_that_is_given_back_goes_astray() {
    let mut campaign = Campaign::default();
    for sight in Sight::ALL {
        // A fused step holds no instance, only its activity.
        let of_a_chain = match sight {
            Sight::Everything => Operation::AbandonWorkItem,
            Sight::Unfused | Sight::RequiredOnly => Operation::AbandonOrchestrationItem,
        };
        for (program, given_back) in [
            (Program::named("long activity"), Operation::AbandonWorkItem),
            (Program::named("chain"), of_a_chain),
            (Program::named("children"), Operation::AbandonOrchestrationItem),
        ] {
            for grace in GRACES {
                let stop = Stop { at: Duration::from_secs(2), grace };
                let (expected, calls) = restarted(program, sight, stop, hanging_commits(FaultPlan::none()));
                assert!(calls.contains(&(given_back, 1)), "{given_back} is called: {calls:?}");
                for fault in passing().filter(|fault| can_happen(*fault, given_back)) {
                    let name = || format!("{program:?}, {sight:?}: {stop:?}, {given_back} {fault:?}");
                    campaign.check(name, || {
                        let plan = FaultPlan::none().at(given_back, 1, fault);
                        let (came, calls) = restarted(program, sight, stop, hanging_commits(plan));
                        assert!(came == expected, "came to\n{came}instead of\n{expected}");
                        let is_offered_again = calls.contains(&(given_back, 2));
                        assert!(is_offered_again || fault != Fault::NotApplied, "was not offered again");
                    });
                }
            }
        }
    }
    campaign.end();
}

/// For a while no turn but the first is taken, so that there is one to be given back.
fn hanging_commits(plan: FaultPlan) -> FaultPlan {
    let commits = [Operation::CommitTurn, Operation::AckOrchestrationItem];
    plan.when(move |call| {
        let hangs =
            commits.contains(&call.operation) && call.ordinal > 1 && call.at < Duration::from_secs(20);
        hangs.then_some(Fault::HangBefore)
    })
}

/// Runs a program on a runtime that is shut down, and then on another.
fn restarted(
    program: &'static Program,
    sight: Sight,
    stop: Stop,
    plan: FaultPlan,
) -> (Digest, Vec<(Operation, u64)>) {
    simulate(LIMIT, async {
        let setting = Setting::new(program, sight);
        let store = setting.world.faulty(plan);
        let script = (program.script)(setting.client(&setting.world.faulty(FaultPlan::none())));
        let succession = async {
            let first = setting.start(&store).await;
            setting.world.clock.sleep(stop.at).await;
            setting.shut_down(first, stop.grace).await;
            setting.start(&store).await
        };
        let ((), second) = join(script, succession).await;
        setting.shut_down(second, None).await;
        // What could not be given back runs out.
        setting.world.clock.sleep(LONGEST_LEASE).await;
        (setting.digest(), store.calls())
    })
}
