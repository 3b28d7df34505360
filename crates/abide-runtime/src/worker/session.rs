//! Sessions: which are worked on here, and keeping them ours.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use abide_provider::Operation;
use futures_util::future::{Either, FutureExt, select};
use tokio::sync::Notify;
use tracing::warn;

use super::Worker;
use crate::store_call::Called;

/// The sessions that are worked on in this runtime.
#[derive(Debug, Clone)]
pub(crate) struct Sessions {
    limit: usize,
    busy: Arc<Mutex<BTreeMap<String, usize>>>,
    /// Whether there ever was one.
    used: Arc<AtomicBool>,
    claimed: Arc<Notify>,
}

/// How many sessions more may be claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    /// Nobody has used sessions here so far: there is no reason to ask for less because of them.
    Unused,
    /// So many. Who asks for more activities than that may be given a session too many, which stays claimed for a while
    /// although others could serve it.
    For(usize),
    /// None.
    None,
}

/// An activity of a session is worked on until this is dropped.
#[derive(Debug)]
pub(crate) struct Ticket {
    session: Option<String>,
    sessions: Sessions,
}

impl Sessions {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, busy: Arc::default(), used: Arc::default(), claimed: Arc::default() }
    }

    /// How many sessions more may be claimed.
    pub(crate) fn room(&self) -> Room {
        match self.limit.saturating_sub(self.lock().len()) {
            0 => Room::None,
            _ if !self.used.load(Ordering::Relaxed) => Room::Unused,
            more => Room::For(more),
        }
    }

    /// Begins to work on an activity, of a session or of none; `None` if it is of one session too many.
    pub(crate) fn enter(&self, session: Option<&str>) -> Option<Ticket> {
        let Some(session) = session else {
            return Some(Ticket { session: None, sessions: self.clone() });
        };
        self.used.store(true, Ordering::Relaxed);
        let mut busy = self.lock();
        if !busy.contains_key(session) && busy.len() >= self.limit {
            return None;
        }
        let count = busy.entry(session.to_owned()).or_default();
        *count = count.saturating_add(1);
        drop(busy);
        self.claimed.notify_one();
        Some(Ticket { session: Some(session.to_owned()), sessions: self.clone() })
    }

    fn is_idle(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, usize>> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let Some(session) = self.session.take() else { return };
        let mut busy = self.sessions.lock();
        if let Some(count) = busy.get_mut(&session) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                busy.remove(&session);
            }
        }
    }
}

/// Renews the locks of our sessions for as long as we have any, until nothing is left that could use one.
pub(crate) async fn keep_sessions(worker: Arc<Worker>) {
    let core = Arc::clone(&worker.core);
    let over = &core.stop.drained;
    // A process that died may have left sessions to a successor of the same name.
    let mut may_own = true;
    while !over.is_cancelled() {
        if !may_own {
            let claimed = Box::pin(worker.sessions.claimed.notified());
            if let Either::Right(_) = select(claimed, Box::pin(over.cancelled())).await {
                return;
            }
        }
        let next = core.clock.monotonic().saturating_add(core.settings.session_renewal_interval);
        if let Either::Right(_) = select(core.clock.sleep_until(next), Box::pin(over.cancelled())).await {
            return;
        }
        may_own = renew(&worker).await || !worker.sessions.is_idle();
    }
}

/// Renews once; says whether we may own a session.
async fn renew(worker: &Arc<Worker>) -> bool {
    let core = &worker.core;
    let (store, owner) = (Arc::clone(&core.store), worker.owner().to_owned());
    let (lasts, idle) = (core.settings.session_lock_timeout, core.settings.session_idle_timeout);
    let call = async move { store.renew_session_lock(&[owner.as_str()], lasts, idle).await };
    match core.caller.call(Operation::RenewSessionLock, lasts / 3, call.boxed()).await {
        Called::Answered(Ok(renewed)) => renewed > 0,
        Called::Answered(Err(error)) => {
            warn!(target: "abide::runtime", %error, "sessions could not be renewed; trying again");
            true
        }
        Called::Unanswered(_) => true,
    }
}
