//! What time it is for the server, as far as a node can tell.
//!
//! The server said it somewhere between sending a call and hearing the answer. Turns are recorded at the earliest time that it can be:
//! one that counted from a time to come could be recorded as later than the next one, on another node. Their timers must not be shown
//! before the latest that it can be, or they are early by what the answer took on its way.

use std::time::Duration;

use abide_model::Timestamp;

/// The server rounds its time down to whole milliseconds.
const GRAIN: Duration = Duration::from_millis(1);

/// The server's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ServerTime {
    /// It is not earlier.
    pub(crate) at_least: Timestamp,
    /// It is not later by more.
    pub(crate) slack: Duration,
}

impl ServerTime {
    /// At the monotonic time `now`, if the server said `said` between two others. A node that was stopped between these cannot know
    /// better: the timers of this one turn are late by so much, which costs less than asking again.
    pub(crate) fn of(said: Timestamp, sent_at: Duration, arrived_at: Duration, now: Duration) -> Self {
        // Whole milliseconds, rounded down: not later than the server's.
        let passed = u64::try_from(now.saturating_sub(arrived_at).as_millis()).unwrap_or(u64::MAX);
        let passed = Duration::from_millis(passed);
        let at_most = now.saturating_sub(sent_at).saturating_add(GRAIN);
        Self { at_least: said.saturating_add(passed), slack: at_most.saturating_sub(passed) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_came_on_a_way_is_at_least_so_late_and_not_later_than_that() {
        // In microseconds: when it was sent, when its answer was there, and when it is; then what it is at least, in milliseconds
        // behind what the server said, and by how much more it may be.
        let cases = [
            ("at once", (0, 0, 0), (0, 1_000)),
            ("it took its time", (0, 2_500, 2_500), (0, 3_500)),
            ("less than a grain has passed since", (0, 2_500, 3_400), (0, 4_400)),
            ("more than a grain has passed since", (0, 2_500, 3_600), (1, 3_600)),
            ("not from the beginning of time", (7_000_000, 7_000_300, 7_005_300), (5, 1_300)),
            ("the node was stopped on the way", (0, 9_000_000, 9_000_000), (0, 9_001_000)),
        ];
        for (case, (sent, arrived, now), (passed, slack)) in cases {
            let said = Timestamp::from_millis(1_000);
            let micros = Duration::from_micros;
            let found = ServerTime::of(said, micros(sent), micros(arrived), micros(now));
            let at_least = said.saturating_add(Duration::from_millis(passed));
            assert_eq!(found, ServerTime { at_least, slack: micros(slack) }, "{case}");
        }
    }
}
