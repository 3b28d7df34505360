//! A clock that moves when it is told to, and wakes those who sleep; an entropy that counts.

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use abide_model::{Clock, Entropy, Sleep, Timestamp};

#[derive(Clone, Default)]
pub(crate) struct ManualClock(Arc<Mutex<Times>>);

#[derive(Default)]
struct Times {
    wall: Timestamp,
    monotonic: Duration,
    sleepers: Vec<(Duration, Waker)>,
}

impl ManualClock {
    pub(crate) fn at(wall: u64) -> Self {
        let clock = Self::default();
        clock.0.lock().unwrap().wall = Timestamp::from_millis(wall);
        clock
    }

    pub(crate) fn advance(&self, by: Duration) {
        let due = {
            let mut times = self.0.lock().unwrap();
            times.wall = times.wall.saturating_add(by);
            times.monotonic += by;
            let now = times.monotonic;
            let (due, later) = times.sleepers.drain(..).partition::<Vec<_>, _>(|(until, _)| *until <= now);
            times.sleepers = later;
            due
        };
        for (_, waker) in due {
            waker.wake();
        }
    }

    /// The wall clock is corrected; no time passes.
    pub(crate) fn set_back(&self, by: Duration) {
        let mut times = self.0.lock().unwrap();
        times.wall = times.wall.saturating_sub(by);
    }

    pub(crate) fn now(&self) -> u64 {
        self.wall().as_millis()
    }

    /// When the first of those who sleep wakes, from now.
    pub(crate) fn next_sleeper(&self) -> Option<Duration> {
        let times = self.0.lock().unwrap();
        times.sleepers.iter().map(|(until, _)| until.saturating_sub(times.monotonic)).min()
    }
}

impl Clock for ManualClock {
    fn wall(&self) -> Timestamp {
        self.0.lock().unwrap().wall
    }

    fn monotonic(&self) -> Duration {
        self.0.lock().unwrap().monotonic
    }

    fn sleep_until(&self, monotonic: Duration) -> Sleep {
        Box::pin(ManualSleep { clock: self.clone(), until: monotonic })
    }
}

struct ManualSleep {
    clock: ManualClock,
    until: Duration,
}

impl Future for ManualSleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut times = self.clock.0.lock().unwrap();
        if times.monotonic >= self.until {
            return Poll::Ready(());
        }
        times.sleepers.push((self.until, context.waker().clone()));
        Poll::Pending
    }
}

#[derive(Default)]
pub(crate) struct Counter(AtomicU64);

impl Entropy for Counter {
    fn next_u64(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}
