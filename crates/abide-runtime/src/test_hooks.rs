//! Slowing turns down on purpose, for tests of leases. Does nothing without the feature `test-hooks`.
//!
//! The delays are the process's: a test that sets one takes it back.

#[cfg(feature = "test-hooks")]
mod hooks {
    use std::sync::{Mutex, PoisonError};
    use std::time::Duration;

    static DELAY: Mutex<Option<(Duration, Option<String>)>> = Mutex::new(None);

    /// Makes every turn wait once its lease is held; with a prefix, only those of instances whose id begins with it.
    pub fn set_orch_processing_delay(delay: Duration, instance_prefix: Option<&str>) {
        *DELAY.lock().unwrap_or_else(PoisonError::into_inner) =
            Some((delay, instance_prefix.map(str::to_owned)));
    }

    /// How long turns of this instance wait.
    #[must_use]
    pub fn get_orch_processing_delay(instance: &str) -> Option<Duration> {
        let delay = DELAY.lock().unwrap_or_else(PoisonError::into_inner);
        let (time, prefix) = delay.as_ref()?;
        prefix.as_ref().is_none_or(|prefix| instance.starts_with(prefix.as_str())).then_some(*time)
    }

    /// Takes the delay back.
    pub fn clear_orch_processing_delay() {
        *DELAY.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

#[cfg(feature = "test-hooks")]
pub use hooks::{clear_orch_processing_delay, get_orch_processing_delay, set_orch_processing_delay};

/// Waits as long as the hook says.
#[cfg(feature = "test-hooks")]
pub(crate) async fn delay(clock: &dyn abide_model::Clock, instance: &str) {
    if let Some(time) = get_orch_processing_delay(instance) {
        clock.sleep_until(clock.monotonic().saturating_add(time)).await;
    }
}

#[cfg(not(feature = "test-hooks"))]
#[expect(clippy::unused_async, reason = "the twin with the hook waits")]
pub(crate) async fn delay(_clock: &dyn abide_model::Clock, _instance: &str) {}
