//! Real time and tasks: the only places that reach for them.

use std::future::Future;
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;

#[expect(clippy::disallowed_methods, reason = "a benchmark is about real time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "a benchmark is about real time")]
pub(crate) async fn sleep(time: Duration) {
    tokio::time::sleep(time).await;
}

pub(crate) async fn let_others_go_first() {
    tokio::task::yield_now().await;
}

/// As an application has its callers: each in a task.
#[expect(clippy::disallowed_methods, reason = "the callers of a benchmark end with it")]
pub(crate) fn spawn<T: Send + 'static>(task: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    tokio::spawn(task)
}
