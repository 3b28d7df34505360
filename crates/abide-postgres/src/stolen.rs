//! Telling listeners of leases that were taken away.

use std::sync::{Mutex, PoisonError};

use abide_provider::StolenLease;
use futures_channel::mpsc;

/// Everybody who listens.
#[derive(Debug, Default)]
pub(crate) struct Listeners(Mutex<Vec<mpsc::UnboundedSender<StolenLease>>>);

impl Listeners {
    /// From now on.
    pub(crate) fn listen(&self) -> mpsc::UnboundedReceiver<StolenLease> {
        let (sender, receiver) = mpsc::unbounded();
        self.lock().push(sender);
        receiver
    }

    /// Whether nobody does, or not any more.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().iter().all(mpsc::UnboundedSender::is_closed)
    }

    /// Tells everybody, and forgets those who have gone away.
    pub(crate) fn tell(&self, stolen: Vec<StolenLease>) {
        if stolen.is_empty() {
            return;
        }
        let mut listeners = self.lock();
        for lease in stolen {
            listeners.retain(|listener| listener.unbounded_send(lease.clone()).is_ok());
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<mpsc::UnboundedSender<StolenLease>>> {
        // Nothing can panic while it is held, and a list of senders cannot be half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
