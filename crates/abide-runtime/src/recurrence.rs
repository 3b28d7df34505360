//! How often something happened to a key lately, in memory that does not grow with the number of keys.
//!
//! A delay that doubles needs to know how often there was one before. That is kept in a table of fixed size, at the place
//! that the hash of the key names, until some time after the delay. Keys that share a place are counted together, which
//! makes a delay longer than it would be, up to the longest, and never shorter. So no number of keys resets the delays of
//! others.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How many bits of a hash name a place. The table has 512 KiB, and none before the first count.
const BITS: u32 = 16;
const PLACES: usize = 1 << BITS;

/// How long after its delay a key is remembered for certain.
const GRACE_SECONDS: u32 = 60;

/// Counts by key.
#[derive(Debug, Default)]
pub(crate) struct Recurrences {
    places: Mutex<Vec<Place>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Place {
    count: u32,
    /// From this second of the monotonic clock on, nothing has happened lately.
    until: u32,
}

impl Recurrences {
    /// Counts once more, and returns the delay that `delay` says for this count.
    pub(crate) fn delay(
        &self,
        key: &(impl Hash + ?Sized),
        now: Duration,
        delay: impl FnOnce(u32) -> Duration,
    ) -> Duration {
        let mut places = self.lock();
        if places.is_empty() {
            places.resize(PLACES, Place::default());
        }
        let Some(place) = places.get_mut(place_of(key)) else { return delay(1) };
        let second = seconds(now);
        let before = if second < place.until { place.count } else { 0 };
        place.count = before.saturating_add(1);
        let delay = delay(place.count);
        // What comes back may have to wait for its turn for as long again.
        let remembered = seconds(delay.saturating_mul(2)).saturating_add(GRACE_SECONDS);
        place.until = place.until.max(second.saturating_add(remembered));
        delay
    }

    /// Begins anew with a key, and with those that share its place.
    pub(crate) fn forget(&self, key: &(impl Hash + ?Sized)) {
        let mut places = self.lock();
        if let Some(place) = places.get_mut(place_of(key)) {
            *place = Place::default();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Place>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn place_of(key: &(impl Hash + ?Sized)) -> usize {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    usize::try_from(hasher.finish() >> (u64::BITS - BITS)).unwrap_or_default()
}

fn seconds(time: Duration) -> u32 {
    u32::try_from(time.as_secs()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn count(recurrences: &Recurrences, key: &str, now: Duration) -> u32 {
        let mut counted = 0;
        recurrences.delay(key, now, |count| {
            counted = count;
            SECOND
        });
        counted
    }

    #[test]
    fn each_key_is_counted_and_forgotten_by_itself() {
        let recurrences = Recurrences::default();
        recurrences.forget("a");
        assert_eq!((1..=3).map(|_| count(&recurrences, "a", SECOND)).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(count(&recurrences, "b", SECOND), 1);
        recurrences.forget("a");
        assert_eq!((count(&recurrences, "a", SECOND), count(&recurrences, "b", SECOND)), (1, 2));
    }

    #[test]
    fn a_count_lasts_until_some_time_after_its_delay_and_then_begins_anew() {
        let recurrences = Recurrences::default();
        let hour = Duration::from_secs(3_600);
        assert_eq!(recurrences.delay("a", SECOND, |_| hour), hour);
        assert_eq!(count(&recurrences, "a", hour + SECOND * 60), 2, "it comes back a minute late");
        assert_eq!(count(&recurrences, "a", hour * 3), 1, "it was away for long");
    }

    #[test]
    fn many_keys_reset_none_and_need_no_more_memory() {
        let recurrences = Recurrences::default();
        let keys = 0..200_000;
        for round in 1..=3 {
            for key in keys.clone().step_by(if round == 1 { 1 } else { 1_000 }) {
                let (mut counted, now) = (0, SECOND * round);
                recurrences.delay(&key, now, |count| {
                    counted = count;
                    SECOND
                });
                assert!(counted >= round, "{key} was counted {counted} times in round {round}");
            }
        }
        assert_eq!(recurrences.lock().len(), PLACES);
    }
}
