//! More of the same than a normal run has time for: `cargo xtask torture runtime`.

use abide_model::Entropy as _;
use abide_sim::{Fault, FaultPlan, SeededEntropy};

use super::campaign::{Campaign, can_happen, passing};
use super::programs::ALL;
use super::trial::{Sight, Trial};

/// How many pairs of faults each program meets, if the environment does not say.
const PAIRS: u64 = 500;

/// A second fault while the first is dealt with, at any distance.
#[test]
#[ignore = "takes minutes: cargo xtask torture runtime"]
fn every_program_meets_pairs_of_faults() {
    let pairs = std::env::var("ABIDE_FAULT_PAIRS").ok().and_then(|text| text.parse().ok()).unwrap_or(PAIRS);
    let chance = SeededEntropy::new(7);
    let pick = |most: usize| usize::try_from(chance.next_u64()).unwrap_or(usize::MAX) % most.max(1);
    let faults: Vec<Fault> = passing().collect();
    let mut campaign = Campaign::default();
    for program in ALL {
        for sight in Sight::ALL {
            let learned = Trial::new(program).seeing(sight).run();
            let calls = learned.calls.clone();
            for _ in 0..pairs {
                let (first, ordinal) = calls[pick(calls.len())];
                let (one, other) = (faults[pick(faults.len())], faults[pick(faults.len())]);
                let one = if can_happen(one, first) { one } else { Fault::Unknown };
                // What is called next depends on how the first fault was dealt with.
                let distance = u64::try_from(pick(20)).unwrap_or_default() + 1;
                let name = || {
                    format!(
                        "{program:?}, {sight:?}: {first} {ordinal} {one:?}, {distance} calls later {other:?}"
                    )
                };
                let number = calls.iter().position(|call| *call == (first, ordinal));
                let number = u64::try_from(number.unwrap_or_default()).unwrap_or_default() + 1 + distance;
                let plan = FaultPlan::none().at(first, ordinal, one).at_call(number, other);
                campaign.case(name, &learned.digest, || Trial::new(program).seeing(sight).with(plan).run());
            }
        }
    }
    campaign.end();
}
