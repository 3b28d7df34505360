//! Real time, measured.

use std::time::{Duration, Instant};

#[expect(clippy::disallowed_methods, reason = "how long a provider lets its caller wait is real time")]
pub(super) fn now() -> Instant {
    Instant::now()
}

pub(super) fn elapsed_since(began: Instant) -> Duration {
    now().saturating_duration_since(began)
}

/// Asserts that a call takes at most this long. It has three tries: a machine may be busy with something else, a provider
/// that waits too long always does.
pub(super) async fn assert_takes_at_most<C: Future<Output = ()>>(
    limit: Duration,
    what: &str,
    call: impl Fn() -> C,
) {
    let mut taken = Vec::new();
    for _ in 0..3 {
        let began = now();
        call().await;
        let elapsed = elapsed_since(began);
        if elapsed <= limit {
            return;
        }
        taken.push(elapsed);
    }
    panic!("{what} must answer within {limit:?}, but took {taken:?}");
}
