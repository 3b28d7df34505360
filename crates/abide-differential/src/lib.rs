//! A store against the reference model, step by step.
//!
//! Random sequences of calls, with time moving, are made to both. After every step the answers, everything stored, and
//! what listeners were told must be the same. A sequence is a list of numbers; `generate` says what each means where the
//! stores stand, `pair` does it to both, `compare` looks for differences, and `coverage` makes sure that the sequences
//! get anywhere.
//!
//! To put a store beside the model, implement [`Subject`], and call [`agrees_with_the_model`] and the scenes of
//! [`directed`] and [`crowded`] from its tests. `ABIDE_DIFFERENTIAL_SEQUENCES` sets how many sequences run,
//! `ABIDE_DIFFERENTIAL_FIRST` the first seed. A failure is reported with its seed, made as short as leaving out steps makes
//! it; running that seed alone shows all of it.
//!
//! Deliberately absent: knowledge of any particular store; calls that wait, and calls beside each other, which have no
//! order to compare.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::missing_panics_doc,
    reason = "a test that cannot go on should say where; this is the body of tests"
)]

pub mod clock;
pub mod crowded;
pub mod directed;

mod admin;
mod alphabet;
mod apply;
mod apply_admin;
mod compare;
mod coverage;
mod generate;
mod habits;
mod numbering;
mod op;
mod pair;
mod rng;
mod sequence;
mod subject;
mod world;

use std::collections::BTreeMap;
use std::fmt::Write as _;

pub use compare::dumps as differences;
use coverage::Coverage;
use habits::FIRST_ABOUT_BLOCKS;
use sequence::{Failure, Sequence};
pub use subject::{Damage, Numbers, Reopening, Sight, Subject};

/// So many sequences meet every situation.
const MEET_EVERYTHING: u64 = 400;

/// After so many failures it is time to look at them.
const ENOUGH: usize = 40;

/// How many situations the sequences must meet.
const SITUATIONS: usize = 333;

/// How many of them are about stores that are opened again.
const SITUATIONS_OF_REOPENING: usize = 2;

/// Runs random sequences on both stores: so many, unless the environment says otherwise.
///
/// If there are enough of them, they must also have met every situation that there is.
pub fn agrees_with_the_model(subject: &mut dyn Subject, sequences: u64) {
    let first = number_in("ABIDE_DIFFERENTIAL_FIRST").unwrap_or(0);
    let count = number_in("ABIDE_DIFFERENTIAL_SEQUENCES").unwrap_or(sequences);
    let mut coverage = Coverage::default();
    let mut can_be_reopened = false;
    let mut failures: Vec<(u64, Failure)> = Vec::new();
    // Those about nodes that serve and refuse are a quarter more, with seeds of their own.
    let about_blocks = if first < FIRST_ABOUT_BLOCKS { count.div_ceil(4) } else { 0 };
    let about_blocks = FIRST_ABOUT_BLOCKS + first..FIRST_ABOUT_BLOCKS + first + about_blocks;
    let about_blocks = if count == 1 { 0..0 } else { about_blocks };
    for seed in (first..first + count).chain(about_blocks) {
        let sequence = Sequence::of(seed);
        if let Err(failure) = sequence.run(subject, &mut coverage) {
            if count == 1 {
                eprintln!("All of seed {seed}:\n{failure}");
            }
            failures.push((seed, sequence.shrink(subject, failure)));
        }
        can_be_reopened |= subject.reopening() != Reopening::Never;
        if failures.len() >= ENOUGH {
            break;
        }
    }
    println!("{coverage:#?}");
    assert!(failures.is_empty(), "{}", report(failures));
    if count >= MEET_EVERYTHING {
        let of_reopening = if can_be_reopened { 0 } else { SITUATIONS_OF_REOPENING };
        assert_eq!(coverage.missing(), Vec::<&str>::new(), "situations that were never met");
        assert_eq!(coverage.len(), SITUATIONS - of_reopening, "situations that can be met");
    }
}

/// The shortest failure of each kind: one mistake makes many sequences fail.
fn report(failures: Vec<(u64, Failure)>) -> String {
    let mut kinds: BTreeMap<String, (usize, u64, Failure)> = BTreeMap::new();
    for (seed, failure) in failures {
        let (count, shortest, kept) =
            kinds.entry(failure.kind()).or_insert_with(|| (0, seed, failure.clone()));
        *count += 1;
        if failure.len() < kept.len() {
            (*shortest, *kept) = (seed, failure);
        }
    }
    let mut text = String::new();
    for (kind, (count, seed, failure)) in kinds {
        write!(text, "\n=== {kind}: {count} sequences; seed {seed}, made shorter:\n{failure}").unwrap();
    }
    text
}

fn number_in(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap())
}
