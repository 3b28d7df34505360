//! The store cannot be used for a while, in all the ways in which that looks from outside.

use std::time::Duration;

use abide_provider::Operation;
use abide_sim::{Call, Fault, FaultPlan};

use super::campaign::Campaign;
use super::programs::{ALL, Program};
use super::trial::{Report, Sight, Trial, is_lease};

const OUTAGE: Duration = Duration::from_secs(600);

/// After an outage, everything goes on within this time.
const RECOVERY: Duration = Duration::from_secs(5);

/// Whoever waits for the store asks at most twice a second once it has failed for a while, and no program here has more than 25 at a time.
const CALLS_IN_A_SECOND: u64 = 50;

/// Calls take this long, so that an outage can begin between any two.
const LATENCY: Duration = Duration::from_millis(50);

/// How the store cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    /// Every call fails.
    Down,
    /// Nothing is ever answered.
    Silent,
    /// What is asked happens, and every answer is lost.
    Deaf,
    /// What is asked happens, and every answer comes later than a lease of an instance lasts.
    Slow,
    /// The driver panics.
    Panics,
    /// Nothing can be leased.
    NoLeases,
    /// Leases are granted, but nothing can be written under them.
    NoWrites,
    /// Leases cannot be renewed.
    NoRenewals,
}

impl Trouble {
    pub(super) const ALL: [Self; 8] = [
        Self::Down,
        Self::Silent,
        Self::Deaf,
        Self::Slow,
        Self::Panics,
        Self::NoLeases,
        Self::NoWrites,
        Self::NoRenewals,
    ];

    pub(super) fn between(self, from: Duration, until: Duration) -> FaultPlan {
        if self == Self::Down {
            return FaultPlan::none().outage(from, until);
        }
        FaultPlan::none().when(move |call| {
            let is_then = from <= call.at && call.at < until;
            if is_then { self.fault_of(call) } else { None }
        })
    }

    fn fault_of(self, call: &Call) -> Option<Fault> {
        match self {
            Self::Down => Some(Fault::NotApplied),
            Self::Silent => Some(Fault::HangBefore),
            Self::Deaf => Some(Fault::Unknown),
            Self::Slow => Some(Fault::DelayAnswer(Duration::from_secs(6))),
            Self::Panics => Some(Fault::Panic),
            Self::NoLeases => is_lease(call.operation).then_some(Fault::NotApplied),
            Self::NoWrites => (!is_lease(call.operation)).then_some(Fault::NotApplied),
            Self::NoRenewals => is_renewal(call.operation).then_some(Fault::NotApplied),
        }
    }
}

fn is_renewal(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::RenewOrchestrationItemLock | Operation::RenewWorkItemLock | Operation::RenewSessionLock
    )
}

#[test]
fn ten_minutes_of_any_trouble_change_nothing_but_the_time() {
    let mut campaign = Campaign::default();
    for program in ALL {
        for sight in Sight::ALL {
            let learned = Trial::new(program).seeing(sight).run();
            for trouble in Trouble::ALL {
                let name = || format!("{program:?}, {sight:?}: {trouble:?}");
                campaign.check(name, || {
                    let plan = trouble.between(Duration::ZERO, OUTAGE);
                    let report = Trial::new(program).seeing(sight).with(plan).run();
                    assert_same(&report, &learned);
                });
            }
        }
    }
    campaign.end();
}

#[test]
fn the_store_is_down_from_any_moment_on() {
    let mut campaign = Campaign::default();
    for program in ALL {
        let learned = Trial::new(program).with(slowly(FaultPlan::none())).run();
        let calls = u32::try_from(learned.calls.len()).expect("a few");
        let between_calls = (0..calls).map(|nth| LATENCY * nth + LATENCY / 2);
        let between_renewals = (0..12).map(|nth| learned.took / 12 * nth);
        for from in between_calls.chain(between_renewals).filter(|from| *from < learned.took) {
            let until = from + OUTAGE;
            campaign.check(
                || format!("{program:?}: down from {from:?}"),
                || {
                    let plan = slowly(FaultPlan::none().outage(from, until));
                    let report = Trial::new(program).with(plan).run();
                    assert_same(&report, &learned);
                    assert!(report.took <= until + learned.took + RECOVERY, "took {:?}", report.took);
                },
            );
        }
    }
    campaign.end();
}

fn slowly(plan: FaultPlan) -> FaultPlan {
    plan.when(|_| Some(Fault::Delay(LATENCY)))
}

#[test]
fn an_outage_that_nobody_needs_the_store_in_is_no_outage() {
    for (idle, latest) in [(300, 610), (650, 660)] {
        let program = Program::named("chain");
        let learned = Trial::new(program).run();
        let plan = FaultPlan::none().outage(Duration::from_secs(5), OUTAGE);
        let report = Trial::new(program).with(plan).after(Duration::from_secs(idle)).run();
        assert_same(&report, &learned);
        assert!(report.took <= Duration::from_secs(latest), "took {:?}", report.took);
    }
}

#[test]
fn ten_hours_overflow_nothing() {
    let until = Duration::from_secs(36_000);
    for name in ["chain", "timers", "session"] {
        let learned = Trial::new(Program::named(name)).run();
        for trouble in [Trouble::Down, Trouble::Silent] {
            let plan = trouble.between(Duration::from_millis(10), until);
            let report = Trial::new(Program::named(name)).with(slowly(plan)).run();
            assert_same(&report, &learned);
            assert!(report.took <= until + learned.took + RECOVERY * 8, "took {:?}", report.took);
        }
    }
}

/// The same came of it, and the store was left in peace meanwhile.
fn assert_same(report: &Report, learned: &Report) {
    assert!(report.digest == learned.digest, "came to\n{}instead of\n{}", report.digest, learned.digest);
    let calls = u64::try_from(report.calls.len()).expect("a number");
    let most = 200 + CALLS_IN_A_SECOND * report.took.as_secs();
    assert!(calls <= most, "{calls} calls in {:?}", report.took);
}
