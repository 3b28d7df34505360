//! Waiting for what other processes do, and numbers that look random.

use std::time::Duration;

use abide::seams::{Clock, Entropy};
use abide_host::{SystemClock, SystemEntropy};

/// How long anything may take before a test gives up. Generous: it is only met when something is broken.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Looks until there is something to see.
///
/// # Panics
///
/// If there is nothing after [`PATIENCE`].
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let clock = SystemClock::new();
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(clock.monotonic() < PATIENCE, "waited {PATIENCE:?} for {what}");
        pass(Duration::from_millis(2));
    }
}

/// Lets time pass: between two looks, or to do something at its time. Never to wait for something.
#[expect(clippy::disallowed_methods, reason = "other processes live in real time")]
pub(crate) fn pass(time: Duration) {
    std::thread::sleep(time);
}

/// Now, in milliseconds since the Unix epoch.
pub(crate) fn now_ms() -> u64 {
    SystemClock::new().wall().as_millis()
}

/// A number from the environment, or this one.
pub(crate) fn told(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().map_or(otherwise, |value| value.parse().unwrap())
}

/// Numbers that look random, from a seed that can be reported and used again.
#[derive(Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    /// Seeded by `ABIDE_SEED`, else by chance.
    pub(crate) fn of_environment() -> Self {
        Self(told("ABIDE_SEED", SystemEntropy.next_u64()))
    }

    pub(crate) const fn seed(&self) -> u64 {
        self.0
    }

    /// Below `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % u64::try_from(limit).unwrap()).unwrap()
    }
}
