//! How long a step took; the only file of this crate that asks the time.

use std::time::{Duration, Instant};

#[derive(Debug)]
pub(crate) struct Stopwatch {
    started: Instant,
}

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "a developer waits for these steps in real time")]
    pub(crate) fn start() -> Self {
        Self { started: Instant::now() }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}
