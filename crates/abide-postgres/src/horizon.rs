//! Which work of other nodes is left to them for a while.
//!
//! Work is cheapest where its instance is in memory: elsewhere its result is sent, and the history read, where it would have been one call.
//! Whoever made it mostly takes it within milliseconds, when a slot of his becomes free. So a node that is busy itself, with one step after the
//! other, does not take from others what is as young as that. One that is not takes what there is.
//!
//! How old something is is told by its number: what was made before a number was seen here is at least as old as that.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Work of others is left to them until it is known to be this old; what is twice as old is known to be.
const LEFT_FOR: Duration = Duration::from_millis(10);

/// A node that was handed work within this time is busy itself.
const BUSY_FOR: Duration = Duration::from_millis(50);

#[derive(Debug, Default)]
pub(crate) struct Horizon(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// When work was last handed over here, in monotonic time.
    last: Option<Duration>,
    /// The highest number by now; by the time of the mark; and by that of the mark before.
    seen: i64,
    marked: i64,
    aged: i64,
    marked_at: Duration,
}

impl Horizon {
    /// A commit of this node made and handed over work with this number.
    pub(crate) fn saw(&self, number: i64, now: Duration) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.turn(now);
        state.seen = state.seen.max(number);
        state.last = Some(now);
    }

    /// The number above which work of others is left to them; `None` if none is.
    pub(crate) fn young_above(&self, now: Duration) -> Option<i64> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_busy = state.last.is_some_and(|last| now.saturating_sub(last) <= BUSY_FOR);
        if !is_busy {
            return None;
        }
        state.turn(now);
        Some(state.aged)
    }
}

impl State {
    fn turn(&mut self, now: Duration) {
        if now.saturating_sub(self.marked_at) >= LEFT_FOR {
            (self.aged, self.marked, self.marked_at) = (self.marked, self.seen, now);
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
    fn a_node_that_is_not_busy_leaves_nothing_to_others() {
        let horizon = Horizon::default();
        assert_eq!(horizon.young_above(ms(1_000)), None);
        horizon.saw(7, ms(1_000));
        assert!(horizon.young_above(ms(1_050)).is_some());
        assert_eq!(horizon.young_above(ms(1_051)), None);
    }

    #[test]
    fn what_a_busy_node_leaves_to_others_is_younger_than_twice_the_time() {
        let horizon = Horizon::default();
        for now in 1_000..1_200 {
            horizon.saw(i64::try_from(now).unwrap(), ms(now));
            let young_above = horizon.young_above(ms(now)).unwrap();
            let age = i64::try_from(now).unwrap() - young_above;
            assert!(age >= 10, "{young_above} was seen {age} ms ago");
            assert!(age <= 20 || now < 1_020, "{young_above} was seen {age} ms ago");
        }
    }
}
