//! Leases are lost while something is done under them: it is done again, and recorded once.

use std::time::Duration;

use abide_model::Entropy as _;
use abide_provider::Operation;
use abide_sim::{Fault, FaultPlan, SeededEntropy};

use super::campaign::{Campaign, can_happen, passing};
use super::programs::{ALL, Program};
use super::trial::{Sight, Trial};

/// Calls that are made under a lease, by those who see everything and by those who see the required methods.
const UNDER_A_LEASE: [Operation; 6] = [
    Operation::CommitTurn,
    Operation::FinishWork,
    Operation::AckOrchestrationItem,
    Operation::AckWorkItem,
    Operation::RenewOrchestrationItemLock,
    Operation::RenewWorkItemLock,
];

#[test]
fn every_third_lease_is_lost_by_chance() {
    let mut campaign = Campaign::default();
    for program in ALL {
        for sight in Sight::ALL {
            let learned = Trial::new(program).seeing(sight).run();
            for seed in 1..=5 {
                let name = || format!("{program:?}, {sight:?}: leases lost by chance {seed}");
                let chance = SeededEntropy::new(seed);
                let plan = FaultPlan::none().when(move |call| {
                    let is_lost =
                        UNDER_A_LEASE.contains(&call.operation) && chance.next_u64().is_multiple_of(3);
                    is_lost.then_some(Fault::LoseLease)
                });
                campaign.check(name, || {
                    let report = Trial::new(program).seeing(sight).with(plan).run();
                    let (came, expected) = (report.digest, &learned.digest);
                    assert!(came == *expected, "came to\n{came}instead of\n{expected}");
                });
            }
        }
    }
    campaign.end();
}

/// Nobody waits for what a cancelled activity returns, so the store is not asked to take it.
#[test]
fn a_cancelled_activity_is_not_finished() {
    // One of its two activities has a result, which is the third of its turns, or comes before that.
    for (sight, results) in [(Sight::Everything, 0), (Sight::Unfused, 1)] {
        let calls = Trial::new(Program::named("race")).seeing(sight).run().calls;
        let count = |wanted| calls.iter().filter(|(operation, _)| *operation == wanted).count();
        assert_eq!(count(Operation::FinishWork), results, "{sight:?}");
        assert_eq!(count(Operation::CommitTurn), 3, "{sight:?}");
    }
}

/// An activity whose result is refused has run, and runs again.
#[test]
fn an_activity_runs_at_least_once_and_is_recorded_once() {
    let program = Program::named("chain");
    let learned = Trial::new(program).run();
    // A result comes with the next turn, or by itself.
    let told = (1..=3).map(|ordinal| (Sight::Unfused, Operation::FinishWork, ordinal));
    let fused = (2..=4).map(|ordinal| (Sight::Everything, Operation::CommitTurn, ordinal));
    for (sight, operation, ordinal) in told.chain(fused) {
        let plan = FaultPlan::none().at(operation, ordinal, Fault::LoseLease);
        let report = Trial::new(program).seeing(sight).with(plan).run();
        assert_eq!(report.digest, learned.digest);
        let mut runs: Vec<u32> = report.runs.into_values().collect();
        runs.sort_unstable();
        assert_eq!(runs, [1, 1, 2], "{operation} {ordinal}");
    }
}

/// Turns take no time, so that their leases are renewed only if a commit does.
#[test]
fn every_renewal_of_a_turn_goes_wrong() {
    const SLOW: Fault = Fault::Delay(Duration::from_millis(4_500));

    let mut campaign = Campaign::default();
    for program in [Program::named("chain"), Program::named("children"), Program::named("counter")] {
        for sight in Sight::ALL {
            let slow = match sight {
                Sight::Everything | Sight::Unfused => Operation::CommitTurn,
                Sight::RequiredOnly => Operation::AckOrchestrationItem,
            };
            let slowly =
                move |plan: FaultPlan| plan.when(move |call| (call.operation == slow).then_some(SLOW));
            let learned = Trial::new(program).seeing(sight).with(slowly(FaultPlan::none())).run();
            let renewals = learned.calls.iter().filter(|(operation, _)| is_renewal_of_turn(*operation));
            for (renewal, ordinal) in renewals.copied() {
                for fault in passing().filter(|fault| can_happen(*fault, renewal)) {
                    let name = || format!("{program:?}, {sight:?}: renewal {ordinal} {fault:?}");
                    let plan = slowly(FaultPlan::none().at(renewal, ordinal, fault));
                    campaign
                        .case(name, &learned.digest, || Trial::new(program).seeing(sight).with(plan).run());
                }
            }
        }
    }
    campaign.end();
}

fn is_renewal_of_turn(operation: Operation) -> bool {
    operation == Operation::RenewOrchestrationItemLock
}

/// Errors of renewals cancel nothing: an activity goes on while its lease lasts.
#[test]
fn a_short_outage_costs_a_long_activity_nothing() {
    let program = Program::named("long activity");
    let learned = Trial::new(program).run();
    for from in (0..35).map(Duration::from_secs) {
        let plan = FaultPlan::none().outage(from, from + Duration::from_secs(15));
        let report = Trial::new(program).with(plan).run();
        assert_eq!(report.digest, learned.digest, "an outage from {from:?}");
        assert_eq!(report.runs.into_values().collect::<Vec<_>>(), [1], "an outage from {from:?}");
    }
}
