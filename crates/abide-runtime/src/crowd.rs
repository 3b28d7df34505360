//! Whether activities crowd: more of them wait than there are slots for, although each is soon done.
//!
//! Then the store has more to do than it can, and what is taken up besides only adds to what waits. Activities that take their time are no crowd,
//! however many wait for them: turns are not in their way.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// There is a crowd after this time of it.
const AFTER: Duration = Duration::from_millis(20);

/// A call that took longer waited for something to come.
const AT_ONCE: Duration = Duration::from_millis(100);

/// If nothing was taken from it for so long, it is gone.
const GONE_AFTER: Duration = Duration::from_millis(100);

/// Activities are soon done if as many as there are slots are taken up within this time.
const SOON: Duration = Duration::from_millis(250);

/// What was longer ago than this counts half.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(crate) struct Crowd(Mutex<Option<Rush>>);

/// Calls for activities one after the other, each of which filled all slots at once.
#[derive(Debug, Clone, Copy)]
struct Rush {
    began: Duration,
    last: Duration,
    given: usize,
}

/// What a call for activities came to, in monotonic time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Served {
    pub(crate) asked: Duration,
    pub(crate) answered: Duration,
    pub(crate) given: usize,
    /// The slots that were free, of which it may have asked for less.
    pub(crate) free: usize,
}

impl Crowd {
    pub(crate) fn served(&self, call: Served) {
        let mut rush = self.lock();
        let fills_all = call.given >= call.free && call.answered.saturating_sub(call.asked) < AT_ONCE;
        *rush = fills_all.then(|| match *rush {
            Some(rush) => rush.goes_on(call),
            None => Rush { began: call.asked, last: call.answered, given: call.given },
        });
    }

    /// Whether there is one before these slots.
    pub(crate) fn is_there(&self, slots: usize, now: Duration) -> bool {
        self.lock().is_some_and(|rush| rush.is_crowd(slots, now))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Rush>> {
        // Nothing can panic while it is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rush {
    fn goes_on(self, call: Served) -> Self {
        let takes = call.answered.saturating_sub(self.began);
        let given = self.given.saturating_add(call.given);
        if takes <= FORGOTTEN_AFTER {
            return Self { last: call.answered, given, ..self };
        }
        Self { began: self.began.saturating_add(takes / 2), last: call.answered, given: given / 2 }
    }

    fn is_crowd(self, slots: usize, now: Duration) -> bool {
        let takes = self.last.saturating_sub(self.began);
        let soon = SOON.as_micros().saturating_mul(u128::try_from(self.given).unwrap_or(u128::MAX));
        let all_slots = takes.as_micros().saturating_mul(u128::try_from(slots).unwrap_or(u128::MAX));
        takes >= AFTER && now.saturating_sub(self.last) < GONE_AFTER && soon >= all_slots
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    const fn call(at: u64, given: usize, free: usize) -> Served {
        Served { asked: ms(at), answered: ms(at + 1), given, free }
    }

    /// So many calls, one every so many milliseconds from the first second on, which are given so many each.
    fn rush(calls: u64, every: u64, given: usize) -> Crowd {
        let crowd = Crowd::default();
        (0..calls).for_each(|number| crowd.served(call(1_000 + number * every, given, given)));
        crowd
    }

    #[test]
    fn many_that_are_soon_done_are_a_crowd_for_as_long_as_they_come() {
        let crowd = rush(20, 2, 100);
        assert!(crowd.is_there(512, ms(1_040)));
        assert!(crowd.is_there(512, ms(1_138)));
        assert!(!crowd.is_there(512, ms(1_139)), "nothing is taken up any more");
        crowd.served(call(1_041, 99, 100));
        assert!(!crowd.is_there(512, ms(1_042)), "nobody waits any more");
        assert!(!rush(5, 2, 100).is_there(512, ms(1_010)), "not for long enough");
        assert!(rush(10_000, 2, 100).is_there(512, ms(21_000)), "however long it lasts");
    }

    #[test]
    fn those_that_take_their_time_are_none() {
        // Of 512 that take 20 seconds each, one ends every 40 ms; of 8 that take half a second, one every 62.
        assert!(!rush(100, 40, 1).is_there(512, ms(4_962)));
        assert!(!rush(100, 62, 1).is_there(8, ms(7_140)));
        assert!(rush(100, 10, 1).is_there(8, ms(1_992)), "80 ms each");
    }

    #[test]
    fn a_call_that_waits_or_has_slots_to_spare_found_no_crowd() {
        let crowd = rush(20, 2, 100);
        crowd.served(Served { asked: ms(1_040), answered: ms(1_140), given: 1, free: 1 });
        assert!(!crowd.is_there(512, ms(1_140)), "it waited for that one");
        let crowd = Crowd::default();
        (0..100).for_each(|number| crowd.served(call(1_000 + number, 10, 500)));
        assert!(!crowd.is_there(512, ms(1_100)), "its sessions allowed for no more");
    }
}
