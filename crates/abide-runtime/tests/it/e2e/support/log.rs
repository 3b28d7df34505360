//! What activities did, in the order they did it.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

/// Lines that activities write and tests read. Clones are the same log.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log {
    lines: Arc<Mutex<Vec<String>>>,
    news: Arc<Notify>,
}

impl Log {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn write(&self, line: impl Into<String>) {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line.into());
        self.news.notify_waiters();
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn len(&self) -> usize {
        self.lines().len()
    }

    /// Waits until there are this many lines.
    pub(crate) async fn has(&self, many: usize) -> Vec<String> {
        loop {
            // Made before looking, or a line in between would be missed.
            let news = self.news.notified();
            let lines = self.lines();
            if lines.len() >= many {
                return lines;
            }
            news.await;
        }
    }
}
