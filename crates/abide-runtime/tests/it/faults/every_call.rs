//! Every call goes wrong in every way, one at a time.

use std::fmt::Write as _;

use abide_provider::Operation;
use abide_sim::FaultPlan;

use super::campaign::{Campaign, can_happen, passing};
use super::programs::{ALL, Program};
use super::trial::{Replays, Sight, Trial};

#[test]
fn without_faults_programs_end_as_expected() {
    let mut texts = String::new();
    for program in ALL {
        let report = Trial::new(program).run();
        write!(texts, "--- {}\n{}", program.name, report.digest).expect("written");
        for sight in [Sight::Unfused, Sight::RequiredOnly] {
            let other = Trial::new(program).seeing(sight).run();
            assert_eq!(other.digest, report.digest, "{program:?}, {sight:?}");
        }
    }
    expect_test::expect_file!["outcomes.txt"].assert_eq(&texts);
}

/// A step that is fused is recorded as one that is not.
#[test]
fn fused_steps_leave_the_same_histories() {
    for program in ALL {
        let fused = Trial::new(program).run();
        let told = Trial::new(program).seeing(Sight::Unfused).run();
        assert_eq!(fused.histories, told.histories, "{program:?}");
    }
}

#[test]
fn every_call_of_the_runtime() {
    let mut campaign = Campaign::default();
    for program in ALL {
        each_call(&mut campaign, program, Sight::Everything);
    }
    campaign.end();
}

#[test]
fn every_call_of_a_runtime_that_fuses_nothing() {
    let mut campaign = Campaign::default();
    for program in ALL {
        each_call(&mut campaign, program, Sight::Unfused);
    }
    campaign.end();
}

#[test]
fn every_required_call_of_the_runtime() {
    let mut campaign = Campaign::default();
    for program in ALL {
        each_call(&mut campaign, program, Sight::RequiredOnly);
    }
    campaign.end();
}

fn each_call(campaign: &mut Campaign, program: &'static Program, sight: Sight) {
    let learned = Trial::new(program).seeing(sight).run();
    for (operation, ordinal) in learned.calls.iter().copied() {
        for fault in passing().filter(|fault| can_happen(*fault, operation)) {
            let name = || format!("{program:?}, {sight:?}: {operation} {ordinal} {fault:?}");
            let plan = FaultPlan::none().at(operation, ordinal, fault);
            campaign.case(name, &learned.digest, || Trial::new(program).seeing(sight).with(plan).run());
        }
    }
}

#[test]
fn every_call_of_the_client() {
    let mut campaign = Campaign::default();
    for program in ALL {
        let learned = Trial::new(program).run();
        for (operation, ordinal) in learned.client_calls.iter().copied() {
            for fault in passing().filter(|fault| can_happen(*fault, operation)) {
                let name = || format!("{program:?}: the client's {operation} {ordinal} {fault:?}");
                let plan = FaultPlan::none().at(operation, ordinal, fault);
                campaign.case(name, &learned.digest, || Trial::new(program).with_client(plan).run());
            }
        }
    }
    campaign.end();
}

/// Without the copies that it keeps, a runtime reads more.
#[test]
fn every_read_of_a_runtime_that_keeps_nothing() {
    let mut campaign = Campaign::default();
    for program in ALL {
        let learned = Trial::new(program).replaying(Replays::Always).run();
        let reads = [Operation::ReadHistoryAfter, Operation::ReadKvSnapshot];
        for (operation, ordinal) in learned.calls.iter().copied().filter(|(op, _)| reads.contains(op)) {
            for fault in passing().filter(|fault| can_happen(*fault, operation)) {
                let name = || format!("{program:?}, replays: {operation} {ordinal} {fault:?}");
                let plan = FaultPlan::none().at(operation, ordinal, fault);
                let run = || Trial::new(program).replaying(Replays::Always).with(plan).run();
                campaign.case(name, &learned.digest, run);
            }
        }
    }
    campaign.end();
}
