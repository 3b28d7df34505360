//! The SQLite store against the reference model, step by step.
//!
//! Random sequences of calls, with time moving, are made to both. After every step the answers, everything stored, and
//! what listeners were told must be the same. A sequence is a list of numbers; `generate` says what each means where the
//! stores stand, `pair` does it to both, `compare` looks for differences, and `coverage` makes sure that the sequences
//! get anywhere.
//!
//! `ABIDE_DIFFERENTIAL_SEQUENCES` sets how many sequences run, `ABIDE_DIFFERENTIAL_FIRST` the first seed.

mod alphabet;
mod apply;
mod compare;
mod coverage;
mod generate;
mod op;
mod pair;
mod rng;
mod sequence;
mod world;

use coverage::Coverage;
use sequence::Sequence;

/// How many sequences run if nobody says otherwise.
const SEQUENCES: u64 = 400;

#[test]
fn both_stores_do_the_same() {
    let first = number_in("ABIDE_DIFFERENTIAL_FIRST").unwrap_or(0);
    let count = number_in("ABIDE_DIFFERENTIAL_SEQUENCES").unwrap_or(SEQUENCES);
    let folder = std::env::temp_dir().join(format!("abide-differential-{}", std::process::id()));
    let mut coverage = Coverage::default();
    for seed in first..first + count {
        let sequence = Sequence::of(seed, &folder);
        if let Err(failure) = sequence.run(&mut coverage) {
            let original = failure.to_string();
            let (sequence, shortest) = sequence.shrink(failure);
            panic!(
                "seed {seed} fails. All of it:\n{original}\nThe shortest part that fails, of {} steps:\n{shortest}",
                sequence.steps.len()
            );
        }
    }
}

fn number_in(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap())
}
