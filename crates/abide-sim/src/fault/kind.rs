//! The ways in which a call goes wrong.

use std::time::Duration;

use abide_provider::Rejection;

/// How a call goes wrong.
///
/// The required methods know two kinds of errors only. From them, what is not applied or unknown is a retryable error, and
/// what is rejected a permanent one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// Nothing happens, and the caller is told so.
    NotApplied,
    /// It happens, and the caller is told that nobody knows. What was leased is left to run out.
    Unknown,
    /// Nothing happens, and the caller is told that nobody knows.
    UnknownBefore,
    /// Nothing happens, and the caller is told that it never will.
    Rejected(Rejection),
    /// The leases that the call names are given back without the caller's knowledge, as if they had run out; then the store
    /// judges the call. One without a lease goes its way, and this does not count as fired.
    LoseLease,
    /// Nothing happens, and the caller is never told anything.
    HangBefore,
    /// It happens, and the caller is never told anything.
    HangAfter,
    /// Nothing happens, and the store panics.
    Panic,
    /// It happens, this much later.
    Delay(Duration),
    /// It happens, and the caller is told this much later.
    DelayAnswer(Duration),
}

impl Fault {
    /// Those without parameters that are the store's fault and pass: whoever calls again comes through them, and nothing that
    /// is recorded may differ from a run without.
    pub const PASSING: [Self; 7] = [
        Self::NotApplied,
        Self::Unknown,
        Self::UnknownBefore,
        Self::LoseLease,
        Self::HangBefore,
        Self::HangAfter,
        Self::Panic,
    ];
}
