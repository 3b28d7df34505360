//! Real time. A program that people watch has to read the clock somewhere: here.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

#[expect(clippy::disallowed_methods, reason = "the one place where this program reads the clock")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Milliseconds since the Unix epoch, as events are stamped.
#[expect(clippy::disallowed_methods, reason = "the one place where this program reads the clock")]
pub(crate) fn wall_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[expect(clippy::disallowed_methods, reason = "the one place where this program waits for real")]
pub(crate) async fn sleep(duration: Duration) {
    tokio::time::sleep(duration).await;
}
