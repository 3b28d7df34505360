//! Which work of other nodes is left to them for a while.
//!
//! Work is cheapest where its instance is in memory: elsewhere its result is sent, and the history read, where it would have been one call.
//! Whoever made it mostly takes it within milliseconds, when a slot of his becomes free. So a node that makes work itself, in one step after
//! the other, does not take from others what is as young as that. One that does not takes what there is.
//!
//! How old something is is told by its number: what was made before a number was seen here is at least as old as that.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Work of others is left to them until it is at least this old, and mostly no longer than twice as long.
const LEFT_FOR: Duration = Duration::from_millis(10);

/// A node that made work within this time is busy.
const BUSY_FOR: Duration = Duration::from_millis(50);

#[derive(Debug, Default)]
pub(crate) struct Horizon(Mutex<Option<Busy>>);

/// Since a node is busy.
#[derive(Debug)]
struct Busy {
    /// When it last made work, in monotonic time.
    last: Duration,
    /// The highest number of what it made by now; by the time of the mark; and by that of the mark before.
    made: i64,
    marked: i64,
    aged: Option<i64>,
    marked_at: Duration,
}

impl Horizon {
    /// A commit of this node made work, up to this number.
    pub(crate) fn made(&self, number: i64, now: Duration) {
        let mut busy = self.lock();
        match busy.as_mut().filter(|busy| busy.is_so(now)) {
            Some(busy) => {
                busy.turn(now);
                busy.made = busy.made.max(number);
                busy.last = now;
            }
            None => {
                *busy = Some(Busy { last: now, made: number, marked: number, aged: None, marked_at: now });
            }
        }
    }

    /// The number above which work of others is left to them; `None` if none is.
    pub(crate) fn young_above(&self, now: Duration) -> Option<i64> {
        let mut busy = self.lock();
        let busy = busy.as_mut().filter(|busy| busy.is_so(now))?;
        busy.turn(now);
        busy.aged
    }

    fn lock(&self) -> MutexGuard<'_, Option<Busy>> {
        // Nothing can panic while it is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Busy {
    fn is_so(&self, now: Duration) -> bool {
        now.saturating_sub(self.last) <= BUSY_FOR
    }

    fn turn(&mut self, now: Duration) {
        if now.saturating_sub(self.marked_at) >= LEFT_FOR {
            (self.aged, self.marked, self.marked_at) = (Some(self.marked), self.made, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_node_that_makes_no_work_leaves_nothing_to_others() {
        let horizon = Horizon::default();
        assert_eq!(horizon.young_above(ms(1_000)), None);
        horizon.made(7, ms(1_000));
        assert_eq!(horizon.young_above(ms(1_009)), None, "how old anything is is not known yet");
        assert_eq!(horizon.young_above(ms(1_010)), Some(7));
        assert_eq!(horizon.young_above(ms(1_051)), None, "it is not busy any more");
        horizon.made(9, ms(2_000));
        assert_eq!(horizon.young_above(ms(2_005)), None, "what was known is long ago");
    }

    #[test]
    fn what_a_busy_node_leaves_to_others_is_at_most_twice_as_old() {
        let horizon = Horizon::default();
        for now in 1_000..1_200 {
            let number = i64::try_from(now).unwrap();
            horizon.made(number, ms(now));
            let Some(young_above) = horizon.young_above(ms(now)) else {
                assert!(now < 1_010);
                continue;
            };
            let age = number - young_above;
            assert!((10..=20).contains(&age), "what was made {age} ms ago is young");
        }
    }
}
