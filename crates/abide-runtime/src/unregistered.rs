//! How long work waits here whose code is not registered, where its store cannot leave it to other nodes.
//!
//! The delay of each doubles up to the longest. What was missed that often waits in a queue: the node looks at so many of
//! them per period, and at no more, however many there are. Each then waits for longer than the longest delay, and the node
//! is idle but for them. Nothing is remembered of each: see [`Recurrences`].

use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::UnregisteredBackoffConfig;
use crate::recurrence::Recurrences;

/// So many come back together, because one lease call for many costs less than many calls.
const GROUP: u32 = 100;

/// So long after one group the next one comes back: the node leases 33 per second, and does next to nothing.
const PERIOD: Duration = Duration::from_secs(3);

/// The delays of work whose code is not registered.
#[derive(Debug, Default)]
pub(crate) struct UnregisteredBackoff {
    misses: Recurrences,
    queue: Mutex<Queue>,
}

/// What was missed too often to come back after a delay of its own. Holds nothing but the time at which all who joined
/// have come back, one after the other.
#[derive(Debug, Default)]
struct Queue {
    ends_at: Duration,
}

impl UnregisteredBackoff {
    /// How long to leave it alone. `shorten` shortens a delay by chance, or does not.
    pub(crate) fn delay(
        &self,
        key: &(impl Hash + ?Sized),
        now: Duration,
        config: &UnregisteredBackoffConfig,
        shorten: impl FnOnce(Duration) -> Duration,
    ) -> Duration {
        self.misses.delay(key, now, |misses| {
            let (delay, longest) = (config.delay(misses), config.delay(u32::MAX));
            let after = shorten(delay);
            if delay < longest {
                return after;
            }
            let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
            queue.join(now.saturating_add(after)).saturating_sub(now)
        })
    }
}

impl Queue {
    /// Joins the queue, to come back not before `earliest`; says when. Without a queue of more than one group, that is then.
    fn join(&mut self, earliest: Duration) -> Duration {
        self.ends_at = self.ends_at.max(earliest).saturating_add(PERIOD / GROUP);
        if self.ends_at.saturating_sub(earliest) <= PERIOD {
            return earliest;
        }
        let periods = self.ends_at.as_nanos().div_ceil(PERIOD.as_nanos());
        PERIOD.saturating_mul(u32::try_from(periods).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn delay(backoff: &UnregisteredBackoff, key: usize, now: Duration) -> Duration {
        backoff.delay(&key, now, &UnregisteredBackoffConfig::default(), |delay| delay)
    }

    /// Misses these keys whenever they come back, until this time. Returns how many misses each second had.
    fn misses(backoff: &UnregisteredBackoff, keys: usize, until: Duration) -> BTreeMap<u64, usize> {
        let mut due: BTreeSet<(Duration, usize)> = (0..keys).map(|key| (at(0), key)).collect();
        let mut seconds = BTreeMap::new();
        while let Some((now, key)) = due.pop_first()
            && now < until
        {
            *seconds.entry(now.as_secs()).or_default() += 1;
            due.insert((now + delay(backoff, key, now), key));
        }
        seconds
    }

    #[test]
    fn one_is_looked_at_again_after_a_second_and_ever_more_rarely_up_to_a_minute() {
        let (backoff, mut now) = (UnregisteredBackoff::default(), at(0));
        let mut delays = Vec::new();
        for _ in 0..9 {
            let delay = delay(&backoff, 1, now);
            delays.push(delay.as_secs());
            now += delay;
        }
        assert_eq!(delays, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
    }

    #[test]
    fn fifteen_hundred_do_not_delay_each_other() {
        let seconds = misses(&UnregisteredBackoff::default(), 1_500, at(600));
        let per_minute: usize = seconds.range(480..540).map(|(_, misses)| misses).sum();
        assert!(per_minute >= 1_400, "{per_minute} of 1,500 within a minute");
    }

    #[test]
    fn forty_thousand_are_looked_at_a_hundred_per_period_and_each_within_half_an_hour() {
        let backoff = UnregisteredBackoff::default();
        let seconds = misses(&backoff, 40_000, at(3_600));
        let steady = seconds.range(1_800..3_600).map(|(_, misses)| *misses);
        let (most, sum) = (steady.clone().max().unwrap(), steady.sum::<usize>());
        assert!(most <= 100 && sum <= 60_100, "{most} in a second, {sum} in half an hour");
        assert!(sum >= 40_000, "{sum}");
    }

    #[test]
    fn a_new_one_is_looked_at_soon_beside_forty_thousand_old_ones() {
        let backoff = UnregisteredBackoff::default();
        misses(&backoff, 40_000, at(3_600));
        let soon = (0..100).filter(|new| delay(&backoff, 1_000_000 + new, at(3_600)) <= at(16)).count();
        assert!(soon >= 40, "{soon} of 100");
    }
}
