//! Hearing of activities that were taken away while they run.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use abide_provider::{StolenBecause, StolenLease};
use futures_util::StreamExt;
use futures_util::future::{Either, select};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::Worker;
use crate::cancellation::Cancellation;

/// Of how many leases word is kept that came before their activity began, or that were never ours.
const KEPT: usize = 4_096;

/// The activities that run, by the token of their lease.
#[derive(Debug, Clone, Default)]
pub(crate) struct Running {
    known: Arc<Mutex<Known>>,
}

#[derive(Debug, Default)]
struct Known {
    by_token: BTreeMap<String, Told>,
    /// What was told of leases under which nothing runs: they may be on their way here.
    early: BTreeMap<String, StolenBecause>,
    /// The tokens of `early`, oldest first.
    order: VecDeque<String>,
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
    /// An activity is about to begin; it is told at once if its lease was taken away on its way here.
    pub(crate) fn enter(&self, token: &str, cancellation: Cancellation, lost: CancellationToken) -> Runs {
        let told = Told { cancellation, lost };
        let mut known = self.lock();
        known.by_token.insert(token.to_owned(), told.clone());
        let early = known.early.get(token).cloned();
        drop(known);
        if let Some(because) = early {
            told.tell(&because);
        }
        Runs { token: token.to_owned(), running: self.clone() }
    }

    /// Tells whoever runs under a lease that it was taken away. If it is not said why, they find out as after a renewal.
    fn tell(&self, lease: &StolenLease) {
        let mut known = self.lock();
        let Some(told) = known.by_token.get(&lease.token).cloned() else { return known.keep(lease) };
        drop(known);
        told.tell(&lease.because);
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn keep(&mut self, lease: &StolenLease) {
        if self.early.insert(lease.token.clone(), lease.because.clone()).is_none() {
            self.order.push_back(lease.token.clone());
        }
        if self.order.len() > KEPT
            && let Some(oldest) = self.order.pop_front()
        {
            self.early.remove(&oldest);
        }
    }
}

impl Told {
    fn tell(&self, because: &StolenBecause) {
        if *because == StolenBecause::Unknown {
            self.lost.cancel();
        } else {
            self.cancellation.cancel(because.into());
        }
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        self.running.lock().by_token.remove(&self.token);
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
