//! A clock that moves when it is told to, and an entropy that can be repeated.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use abide_model::{Clock, Entropy, Sleep, Timestamp};

/// Time stands still until it is advanced. Whoever sleeps on it sleeps for ever: calls under it must not wait.
#[derive(Debug, Clone, Default)]
pub struct ManualClock(Arc<Mutex<Times>>);

#[derive(Debug, Clone, Copy, Default)]
struct Times {
    wall: Timestamp,
    monotonic: Duration,
}

impl ManualClock {
    /// One that shows this time, in milliseconds since the epoch.
    #[must_use]
    pub fn at(wall_ms: u64) -> Self {
        let times = Times { wall: Timestamp::from_millis(wall_ms), monotonic: Duration::ZERO };
        Self(Arc::new(Mutex::new(times)))
    }

    /// Lets time pass.
    pub fn advance(&self, by: Duration) {
        let mut times = self.0.lock().unwrap();
        times.wall = times.wall.saturating_add(by);
        times.monotonic += by;
    }

    /// Lets time pass until it is this late.
    pub fn advance_to(&self, wall: Timestamp) {
        let missing = wall.as_millis().saturating_sub(self.now_ms());
        self.advance(Duration::from_millis(missing));
    }

    /// What it shows, in milliseconds since the epoch.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.wall().as_millis()
    }
}

impl Clock for ManualClock {
    fn wall(&self) -> Timestamp {
        self.0.lock().unwrap().wall
    }

    fn monotonic(&self) -> Duration {
        self.0.lock().unwrap().monotonic
    }

    fn sleep_until(&self, _monotonic: Duration) -> Sleep {
        Box::pin(std::future::pending())
    }
}

/// Numbers that look like chance and are the same for the same seed (splitmix64).
#[derive(Debug)]
pub struct SeededEntropy(Mutex<u64>);

impl SeededEntropy {
    /// The numbers of this seed, from the first.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Mutex::new(seed))
    }
}

impl Entropy for SeededEntropy {
    fn next_u64(&self) -> u64 {
        let mut state = self.0.lock().unwrap();
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(*state)
    }
}

/// Spreads the bits of a number over all 64.
#[must_use]
pub const fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
