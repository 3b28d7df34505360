//! The store says no. What it may take back is tried again, and not all the time; what it never takes fails the instance.

use std::fmt::Write as _;
use std::time::Duration;

use abide_provider::{Operation, Rejection};
use abide_sim::{Fault, FaultPlan};

use super::campaign::Campaign;
use super::programs::{ALL, Program};
use super::trial::{Replays, Sight, Trial};

/// For a minute, whatever is done under a lease is refused for a reason that says nothing about the instance.
#[test]
fn a_refusal_that_may_pass_is_waited_for() {
    let mut campaign = Campaign::default();
    for program in ALL {
        for replays in [Replays::IfNeeded, Replays::Always] {
            let learned = Trial::new(program).replaying(replays).run();
            for (operation, rejection) in passing_refusals() {
                let name = || format!("{program:?}, replays {replays:?}: {operation} {rejection:?}");
                campaign.check(name, || {
                    let minute = Duration::from_secs(60);
                    let plan = FaultPlan::none().when(move |call| {
                        let is_refused = call.operation == operation && call.at < minute;
                        is_refused.then_some(Fault::Rejected(rejection))
                    });
                    let report = Trial::new(program).replaying(replays).with(plan).run();
                    assert!(
                        report.digest == learned.digest,
                        "came to\n{}instead of\n{}",
                        report.digest,
                        learned.digest
                    );
                    let most = 200 + 10 * report.took.as_secs();
                    assert!(
                        u64::try_from(report.calls.len()).expect("a number") <= most,
                        "{} calls",
                        report.calls.len()
                    );
                });
            }
        }
    }
    campaign.end();
}

fn passing_refusals() -> impl Iterator<Item = (Operation, Rejection)> {
    let reads = [Operation::ReadHistoryAfter, Operation::ReadKvSnapshot].into_iter().flat_map(|operation| {
        [Rejection::LeaseLost, Rejection::NotFound, Rejection::Conflict, Rejection::Invalid]
            .map(|rejection| (operation, rejection))
    });
    let commits = [Rejection::LeaseLost, Rejection::Busy, Rejection::Conflict];
    reads.chain(commits.map(|rejection| (Operation::CommitTurn, rejection)))
}

/// One turn that the store will never take fails its instance, with the reason; whoever waits for it hears of it.
#[test]
fn a_turn_that_is_never_taken_fails_its_instance() {
    let fails = |program: &str, sight: Sight, operation: Operation, ordinal: u64| {
        let plan = FaultPlan::none().at(operation, ordinal, Fault::Rejected(Rejection::Invalid));
        Trial::new(Program::named(program)).seeing(sight).with(plan).run().digest.to_string()
    };
    let mut texts = String::new();
    for (sight, operation) in
        [(Sight::Everything, Operation::CommitTurn), (Sight::RequiredOnly, Operation::AckOrchestrationItem)]
    {
        for (program, ordinal) in [("chain", 1), ("chain", 3), ("failing child", 2)] {
            let came = fails(program, sight, operation, ordinal);
            write!(texts, "--- {program}, {sight:?}: turn {ordinal}\n{came}").expect("written");
        }
    }
    expect_test::expect![[r#"
        --- chain, Everything: turn 1
        chain: Failed "infrastructure:commit_turn: an injected refusal: Invalid"
        --- chain, Everything: turn 3
        chain: Failed "infrastructure:commit_turn: an injected refusal: Invalid"
          Double(1) completed
          Double(2) cancelled
        --- failing child, Everything: turn 2
        parent: Failed "infrastructure:commit_turn: an injected refusal: Invalid"
        parent::sub::2: Failed "infrastructure:commit_turn: an injected refusal: Invalid"
        --- chain, RequiredOnly: turn 1
        chain: Failed "infrastructure:commit_turn: ack_orchestration_item: an injected refusal: Invalid"
        --- chain, RequiredOnly: turn 3
        chain: Failed "infrastructure:commit_turn: ack_orchestration_item: an injected refusal: Invalid"
          Double(1) completed
          Double(2) cancelled
        --- failing child, RequiredOnly: turn 2
        parent: Failed "infrastructure:commit_turn: ack_orchestration_item: an injected refusal: Invalid"
        parent::sub::2: Failed "infrastructure:commit_turn: ack_orchestration_item: an injected refusal: Invalid"
    "#]].assert_eq(&texts);
}
