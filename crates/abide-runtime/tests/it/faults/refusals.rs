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
    // A turn that came with a result is refused with it and then by itself.
    let every_way = [
        (Sight::Everything, Operation::CommitTurn, 2),
        (Sight::Unfused, Operation::CommitTurn, 1),
        (Sight::RequiredOnly, Operation::AckOrchestrationItem, 1),
    ];
    let mut texts = String::new();
    for (sight, operation, tries) in every_way {
        // The first turn of anything comes with no result.
        for (program, turn, tries) in [("chain", 1, 1), ("chain", 3, tries), ("failing child", 2, 1)] {
            let plan = (turn..turn + tries).fold(FaultPlan::none(), |plan, ordinal| {
                plan.at(operation, ordinal, Fault::Rejected(Rejection::Invalid))
            });
            let report = Trial::new(Program::named(program)).seeing(sight).with(plan).run();
            write!(texts, "--- {program}, {sight:?}: turn {turn}\n{}", report.digest).expect("written");
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
        --- chain, Unfused: turn 1
        chain: Failed "infrastructure:commit_turn: an injected refusal: Invalid"
        --- chain, Unfused: turn 3
        chain: Failed "infrastructure:commit_turn: an injected refusal: Invalid"
          Double(1) completed
          Double(2) cancelled
        --- failing child, Unfused: turn 2
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
    "#]]
    .assert_eq(&texts);
}

/// What is refused of a fused step may be that it is fused.
#[test]
fn a_refusal_of_a_fused_step_is_none_of_its_turn() {
    let learned = Trial::new(Program::named("chain")).run();
    let rejections =
        [Rejection::Invalid, Rejection::Corrupt, Rejection::NotFound, Rejection::Conflict, Rejection::Busy];
    for (rejection, ordinal) in rejections.into_iter().flat_map(|why| (2..=4).map(move |nth| (why, nth))) {
        let plan = FaultPlan::none().at(Operation::CommitTurn, ordinal, Fault::Rejected(rejection));
        let report = Trial::new(Program::named("chain")).with(plan).run();
        assert_eq!(report.digest, learned.digest, "{rejection:?} of commit {ordinal}");
        assert_eq!(report.runs.into_values().collect::<Vec<_>>(), [1, 1, 1], "{rejection:?} {ordinal}");
    }
}
