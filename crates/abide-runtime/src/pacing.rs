//! How long to wait before the next try. Pure.

use std::time::Duration;

use abide_model::Entropy;

const FIRST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_secs(1);

/// Tries that failed in a row, and how long to wait after each: doubling, capped, and shortened by chance by up to a half,
/// so that those who failed together do not come back together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// Counts a failure and says how long to wait.
    pub(crate) fn after_failure(&mut self, chance: &dyn Entropy) -> Duration {
        let full = full_delay(self.failures);
        self.failures = self.failures.saturating_add(1);
        some_of(full, chance)
    }

    /// Forgets the failures.
    pub(crate) const fn reset(&mut self) {
        self.failures = 0;
    }

    /// Whether somebody should hear of it again: ever more rarely, and not of the first, which is told anyway.
    pub(crate) const fn is_worth_a_reminder(self) -> bool {
        self.failures > 8 && self.failures.is_power_of_two()
    }

    /// How many there were in a row.
    pub(crate) const fn failures(self) -> u32 {
        self.failures
    }
}

/// Between half of it and all of it, by chance, so that those who begin to wait together do not come together.
pub(crate) fn some_of(full: Duration, chance: &dyn Entropy) -> Duration {
    let nanos = u64::try_from(full.as_nanos()).unwrap_or(u64::MAX);
    full.saturating_sub(Duration::from_nanos(chance.next_u64() % (nanos / 2).saturating_add(1)))
}

fn full_delay(failures: u32) -> Duration {
    // Beyond 2^16 the cap holds anyway: no power overflows, however long an outage lasts.
    FIRST.saturating_mul(1 << failures.min(16)).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(u64);

    impl Entropy for Fixed {
        fn next_u64(&self) -> u64 {
            self.0
        }
    }

    #[test]
    fn doubles_up_to_the_cap_and_stays_there_for_ever() {
        let mut backoff = Backoff::default();
        let delays: Vec<_> = (0..10).map(|_| backoff.after_failure(&Fixed(0)).as_millis()).collect();
        assert_eq!(delays, [10, 20, 40, 80, 160, 320, 640, 1_000, 1_000, 1_000]);
        for _ in 0..100_000 {
            assert_eq!(backoff.after_failure(&Fixed(0)), LONGEST);
        }
        backoff.failures = u32::MAX;
        assert_eq!(backoff.after_failure(&Fixed(0)), LONGEST);
    }

    #[test]
    fn chance_shortens_by_at_most_a_half() {
        for seed in [0, 1, 500_000_000, 500_000_001, u64::MAX] {
            let mut backoff = Backoff { failures: 40 };
            let delay = backoff.after_failure(&Fixed(seed));
            assert!(delay >= LONGEST / 2 && delay <= LONGEST, "{delay:?}");
        }
        assert_eq!(some_of(LONGEST, &Fixed(500_000_000)), LONGEST / 2);
        assert_eq!(some_of(Duration::ZERO, &Fixed(7)), Duration::ZERO);
        assert!(some_of(Duration::MAX, &Fixed(u64::MAX)) > Duration::MAX / 2);
    }
}
