//! Wall time, CPU time, and what becomes of many of them.

use std::time::{Duration, Instant};

/// Measures from when it was made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "a benchmark is about real time")]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

/// What this thread has used of a core so far, where the system can tell (Linux).
pub(crate) fn cpu_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

#[expect(clippy::disallowed_methods, reason = "a benchmark is about real time")]
pub(crate) async fn sleep(time: Duration) {
    tokio::time::sleep(time).await;
}

/// Many times of the same thing.
#[derive(Debug, Default)]
pub(crate) struct Times {
    /// Ascending.
    sorted: Vec<Duration>,
}

impl From<Vec<Duration>> for Times {
    fn from(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self { sorted: times }
    }
}

impl Times {
    /// The time that so many of a thousand do not exceed.
    pub(crate) fn permille(&self, permille: usize) -> Duration {
        let last = self.sorted.len().saturating_sub(1);
        let index = (self.sorted.len() * permille / 1_000).min(last);
        self.sorted.get(index).copied().unwrap_or_default()
    }

    pub(crate) fn median(&self) -> Duration {
        self.permille(500)
    }

    pub(crate) fn mean(&self) -> Duration {
        let count = u32::try_from(self.sorted.len()).unwrap_or(u32::MAX);
        self.sorted.iter().sum::<Duration>().checked_div(count).unwrap_or_default()
    }

    pub(crate) fn longest(&self) -> Duration {
        self.sorted.last().copied().unwrap_or_default()
    }
}

/// How many per second.
pub(crate) fn rate(count: u64, time: Duration) -> f64 {
    number(count) / time.as_secs_f64().max(1e-9)
}

/// Microseconds each.
pub(crate) fn micros_per(time: Duration, count: u64) -> f64 {
    time.as_secs_f64() * 1e6 / number(count.max(1))
}

pub(crate) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// A count as a number to divide: exact up to four thousand million, close enough beyond.
pub(crate) fn number(count: u64) -> f64 {
    let thousands = u32::try_from(count / 1_000).unwrap_or(u32::MAX);
    let rest = u32::try_from(count % 1_000).unwrap_or_default();
    f64::from(thousands) * 1e3 + f64::from(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_ranked() {
        let times = Times::from((1..=100).rev().map(Duration::from_millis).collect::<Vec<_>>());
        assert_eq!(times.median(), Duration::from_millis(51));
        assert_eq!(times.permille(990), Duration::from_millis(100));
        assert_eq!(times.longest(), Duration::from_millis(100));
        assert_eq!(times.mean(), Duration::from_micros(50_500));
    }

    #[test]
    fn no_times_are_zero() {
        let none = Times::default();
        assert_eq!((none.median(), none.mean(), none.longest()), Default::default());
    }
}
