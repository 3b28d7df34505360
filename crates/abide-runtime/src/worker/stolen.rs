//! Hearing of activities that were taken away while they run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::StreamExt;
use futures_util::future::{Either, select};

use super::Worker;
use crate::cancellation::{Cancellation, CancellationReason};

/// The activities that run, by the token of their lease.
#[derive(Debug, Clone, Default)]
pub(crate) struct Running {
    by_token: Arc<Mutex<BTreeMap<String, Cancellation>>>,
}

/// An activity runs until this is dropped.
#[derive(Debug)]
pub(crate) struct Runs {
    token: String,
    running: Running,
}

impl Running {
    pub(crate) fn enter(&self, token: &str, cancellation: Cancellation) -> Runs {
        self.lock().insert(token.to_owned(), cancellation);
        Runs { token: token.to_owned(), running: self.clone() }
    }

    fn cancel(&self, token: &str, reason: CancellationReason) {
        let found = self.lock().get(token).cloned();
        if let Some(cancellation) = found {
            cancellation.cancel(reason);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Cancellation>> {
        self.by_token.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        self.running.lock().remove(&self.token);
    }
}

/// Passes on what the store tells of leases taken away, until the runtime gives up. Where it tells nothing, the next
/// renewal finds out.
pub(crate) async fn listen(worker: Arc<Worker>) {
    let Some(mut stolen) = worker.core.store.stolen_leases() else { return };
    let ending = worker.core.stop.giving_up.clone();
    let drained = worker.core.stop.drained.clone();
    let over = async { select(Box::pin(ending.cancelled()), Box::pin(drained.cancelled())).await };
    let mut over = Box::pin(over);
    loop {
        match select(stolen.next(), &mut over).await {
            Either::Left((Some(lease), _)) => worker.running.cancel(&lease.token, (&lease.because).into()),
            Either::Left((None, _)) | Either::Right(_) => return,
        }
    }
}
