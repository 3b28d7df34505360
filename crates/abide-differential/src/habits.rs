//! What a sequence does more or less of than others.
//!
//! Sequences that do a bit of everything meet the same situations again and again. So each has habits: a few names or
//! many, time that crawls or jumps, some kinds of steps often and others hardly ever.

use crate::clock::mix;

/// The habits of one sequence.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Habits {
    seed: u64,
    /// How many of the names of instances it uses.
    pub(crate) names: usize,
    pub(crate) pace: Pace,
    pub(crate) topic: Topic,
}

/// How time passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Less than most leases last.
    Crawls,
    Any,
    /// Beyond most leases, and what is hidden appears again.
    Jumps,
}

/// What it is mostly about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Topic {
    Everything,
    /// A few instances that get far.
    Turns,
    /// Rows that cannot be read, tried again and again.
    Damage,
    /// Parents and children that begin, end and are deleted.
    Families,
    /// Nodes with different code: what they serve, refuse and crash with.
    Blocks,
}

/// Sequences from this seed on are about [blocks](Topic::Blocks). Those below keep their meaning whatever is added to them.
pub(crate) const FIRST_ABOUT_BLOCKS: u64 = 1 << 32;

impl Habits {
    pub(crate) fn of(seed: u64) -> Self {
        if seed >= FIRST_ABOUT_BLOCKS {
            let names = *pick(mix(seed), &[1, 1, 2, 2, 3]);
            let pace = *pick(mix(seed ^ 1), &[Pace::Crawls, Pace::Any, Pace::Jumps, Pace::Jumps]);
            return Self { seed, names, pace, topic: Topic::Blocks };
        }
        match mix(seed ^ 2) % 16 {
            0..=1 => return Self { seed, names: 1, pace: Pace::Jumps, topic: Topic::Damage },
            2..=4 => return Self { seed, names: 2, pace: Pace::Crawls, topic: Topic::Turns },
            5..=8 => {
                let names = *pick(mix(seed), &[3, 5, 7, 9]);
                let pace = *pick(mix(seed ^ 1), &[Pace::Crawls, Pace::Crawls, Pace::Any]);
                return Self { seed, names, pace, topic: Topic::Families };
            }
            _ => {}
        }
        let names = [1, 2, 2, 3, 5, usize::MAX];
        let paces = [Pace::Crawls, Pace::Crawls, Pace::Any, Pace::Any, Pace::Jumps];
        let (names, pace) = (*pick(mix(seed), &names), *pick(mix(seed ^ 1), &paces));
        Self { seed, names, pace, topic: Topic::Everything }
    }

    /// How often a kind of step is taken, from how often it usually is. Kinds are told apart by their number.
    pub(crate) fn weight(self, kind: usize, usual: u64) -> u64 {
        let kind = u64::try_from(kind).unwrap();
        match mix(self.seed.wrapping_mul(31).wrapping_add(kind)) % 6 {
            0 => usual.div_ceil(4),
            1 => usual * 3,
            _ => usual,
        }
    }
}

fn pick<T>(number: u64, from: &[T]) -> &T {
    &from[usize::try_from(number % u64::try_from(from.len()).unwrap()).unwrap()]
}
