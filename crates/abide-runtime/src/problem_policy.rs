//! What becomes of an instance that cannot go on: it is blocked until a repair, or it fails.

use abide_provider::{Abilities, Ability};

use crate::RuntimeOptions;

/// What becomes of an instance that cannot go on.
///
/// [`Runtime::builder`](crate::Runtime::builder) blocks by default, because a bad deploy can be taken back and a failed
/// instance cannot. The reference's constructors fail by default, as documented there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProblemPolicy {
    /// The instance waits, keeps everything it has, and is tried again by other builds, after a while, and when an
    /// operator says so.
    Block,
    /// The instance fails for good.
    Fail,
}

/// The policies of a runtime, by problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProblemPolicies {
    pub(crate) nondeterminism: ProblemPolicy,
    pub(crate) panic: ProblemPolicy,
    pub(crate) corrupt: ProblemPolicy,
    pub(crate) crashes: ProblemPolicy,
    pub(crate) missing: ProblemPolicy,
}

impl ProblemPolicies {
    /// The policies that the options name, with `default` for the others.
    pub(crate) fn of(options: &RuntimeOptions, default: ProblemPolicy) -> Self {
        Self {
            nondeterminism: options.on_nondeterminism.unwrap_or(default),
            panic: options.on_panic.unwrap_or(default),
            corrupt: options.on_corrupt.unwrap_or(default),
            crashes: options.on_crashes.unwrap_or(default),
            missing: options.on_missing.unwrap_or(default),
        }
    }

    /// The same on a store with these abilities. One that cannot hold what crashes its nodes would hand it out again and
    /// again, so there it fails.
    pub(crate) fn on(self, abilities: Abilities) -> Self {
        let crashes = if abilities.has(Ability::Blocking) { self.crashes } else { ProblemPolicy::Fail };
        Self { crashes, ..self }
    }

    /// Whether nothing is ever blocked, as in the reference.
    pub(crate) fn all_fail(self) -> bool {
        let Self { nondeterminism, panic, corrupt, crashes, missing } = self;
        [nondeterminism, panic, corrupt, crashes, missing].iter().all(|policy| *policy == ProblemPolicy::Fail)
    }
}
