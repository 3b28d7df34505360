//! The SQLite store against the reference model, step by step.
//!
//! Random sequences of calls, with time moving, are made to both. After every step the answers, everything stored, and
//! what listeners were told must be the same. A sequence is a list of numbers; `generate` says what each means where the
//! stores stand, `pair` does it to both, `compare` looks for differences, and `coverage` makes sure that the sequences
//! get anywhere.
//!
//! `ABIDE_DIFFERENTIAL_SEQUENCES` sets how many sequences run, `ABIDE_DIFFERENTIAL_FIRST` the first seed. A failure is
//! reported with its seed, made as short as leaving out steps makes it; running that seed alone shows all of it.

mod admin;
mod alphabet;
mod apply;
mod apply_admin;
pub(crate) mod compare;
mod coverage;
mod crowded;
mod directed;
mod generate;
mod habits;
mod op;
mod pair;
mod rng;
mod sequence;
mod world;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use coverage::Coverage;
use sequence::{Failure, Sequence};

/// How many sequences run if nobody says otherwise.
const SEQUENCES: u64 = 400;

/// After so many failures it is time to look at them.
const ENOUGH: usize = 40;

/// How many situations the sequences must meet.
const SITUATIONS: usize = 264;

#[test]
fn both_stores_do_the_same() {
    let first = number_in("ABIDE_DIFFERENTIAL_FIRST").unwrap_or(0);
    let count = number_in("ABIDE_DIFFERENTIAL_SEQUENCES").unwrap_or(SEQUENCES);
    let folder = std::env::temp_dir().join(format!("abide-differential-{}", std::process::id()));
    let mut coverage = Coverage::default();
    let mut failures: Vec<(u64, Failure)> = Vec::new();
    for seed in first..first + count {
        let sequence = Sequence::of(seed, &folder);
        if let Err(failure) = sequence.run(&mut coverage) {
            if count == 1 {
                eprintln!("All of seed {seed}:\n{failure}");
            }
            failures.push((seed, sequence.shrink(failure)));
        }
        if failures.len() >= ENOUGH {
            break;
        }
    }
    println!("{coverage:#?}");
    assert!(failures.is_empty(), "{}", report(failures));
    if count >= SEQUENCES {
        assert_eq!(coverage.missing(), Vec::<&str>::new(), "situations that were never met");
        assert_eq!(coverage.len(), SITUATIONS, "situations that can be met");
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
