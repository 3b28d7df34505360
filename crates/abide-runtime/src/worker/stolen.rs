//! Hearing of activities that were taken away while they run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use abide_provider::{StolenBecause, StolenLease};
use futures_util::StreamExt;
use futures_util::future::{Either, select};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::Worker;
use crate::cancellation::Cancellation;

/// The activities that run, by the token of their lease.
#[derive(Debug, Clone, Default)]
pub(crate) struct Running {
    by_token: Arc<Mutex<BTreeMap<String, Told>>>,
}

/// By what a running activity is told.
#[derive(Debug, Clone)]
struct Told {
    cancellation: Cancellation,
    lost: CancellationToken,
}

/// An activity runs until this is dropped.
#[derive(Debug)]
pub(crate) struct Runs {
    token: String,
    running: Running,
}

impl Running {
    pub(crate) fn enter(&self, token: &str, cancellation: Cancellation, lost: CancellationToken) -> Runs {
        self.lock().insert(token.to_owned(), Told { cancellation, lost });
        Runs { token: token.to_owned(), running: self.clone() }
    }

    /// Tells whoever runs under a lease that it was taken away. If it is not said why, they find out as after a renewal.
    fn tell(&self, lease: &StolenLease) {
        let Some(Told { cancellation, lost }) = self.lock().get(&lease.token).cloned() else { return };
        match &lease.because {
            StolenBecause::Unknown => lost.cancel(),
            because => cancellation.cancel(because.into()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Told>> {
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
            Either::Left((Some(lease), _)) => worker.running.tell(&lease),
            Either::Left((None, _)) => {
                return debug!(target: "abide::runtime", "the store tells no more of leases taken away; renewals find out");
            }
            Either::Right(_) => return,
        }
    }
}
