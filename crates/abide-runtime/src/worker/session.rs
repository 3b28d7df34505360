//! Sessions: which are worked on here, and keeping them ours.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use abide_model::Clock;
use abide_provider::{ErrorKind, Operation, Rejection, StoreError};
use futures_util::future::{Either, FutureExt, select};
use tokio::sync::Notify;

use super::Worker;
use crate::core::Core;
use crate::pacing::Backoff;
use crate::settings::Settings;
use crate::store_call::Called;

/// The sessions that are worked on in this runtime.
#[derive(Clone)]
pub(crate) struct Sessions {
    limit: usize,
    /// So long after its last activity a session is still ours.
    idle: Duration,
    clock: Arc<dyn Clock>,
    busy: Arc<Mutex<Busy>>,
    claimed: Arc<Notify>,
}

#[derive(Default)]
struct Busy {
    /// How many activities of each session are worked on.
    activities: BTreeMap<String, usize>,
    /// When the last activity of any session began or ended.
    last_used: Option<Duration>,
}

/// How many sessions more may be claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    /// Nobody has used sessions here for a while: there is no reason to ask for less because of them.
    Unused,
    /// So many. Who asks for more activities than that may be given a session too many, which stays claimed for a while
    /// although others could serve it.
    For(usize),
    /// None, until one of those that are worked on is done.
    None,
    /// This runtime serves none.
    Never,
}

/// An activity of a session is worked on until this is dropped.
pub(crate) struct Ticket {
    session: Option<String>,
    sessions: Sessions,
}

impl Sessions {
    pub(crate) fn new(settings: &Settings, clock: Arc<dyn Clock>) -> Self {
        Self {
            limit: settings.max_sessions_per_runtime,
            idle: settings.session_idle_timeout,
            clock,
            busy: Arc::default(),
            claimed: Arc::default(),
        }
    }

    /// How many sessions more may be claimed.
    pub(crate) fn room(&self) -> Room {
        if self.limit == 0 {
            return Room::Never;
        }
        let now = self.clock.monotonic();
        let busy = self.lock();
        let is_recent = |used: Duration| now.saturating_sub(used) <= self.idle;
        let is_used = !busy.activities.is_empty() || busy.last_used.is_some_and(is_recent);
        match self.limit.saturating_sub(busy.activities.len()) {
            0 => Room::None,
            _ if !is_used => Room::Unused,
            more => Room::For(more),
        }
    }

    /// Begins to work on an activity, of a session or of none; `None` if it is of one session too many.
    pub(crate) fn enter(&self, session: Option<&str>) -> Option<Ticket> {
        let Some(session) = session else {
            return Some(Ticket { session: None, sessions: self.clone() });
        };
        let mut busy = self.lock();
        if !busy.activities.contains_key(session) && busy.activities.len() >= self.limit {
            return None;
        }
        busy.last_used = Some(self.clock.monotonic());
        let count = busy.activities.entry(session.to_owned()).or_default();
        *count = count.saturating_add(1);
        drop(busy);
        self.claimed.notify_one();
        Some(Ticket { session: Some(session.to_owned()), sessions: self.clone() })
    }

    fn is_idle(&self) -> bool {
        self.lock().activities.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Busy> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let Some(session) = self.session.take() else { return };
        let now = self.sessions.clock.monotonic();
        let mut busy = self.sessions.lock();
        busy.last_used = Some(now);
        if let Some(count) = busy.activities.get_mut(&session) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                busy.activities.remove(&session);
            }
        }
    }
}

/// Renews the locks of our sessions for as long as we have any, until nothing is left that could use one.
pub(crate) async fn keep_sessions(worker: Arc<Worker>) {
    let core = Arc::clone(&worker.core);
    let over = &core.stop.drained;
    let interval = core.settings.session_renewal_interval;
    let mut backoff = Backoff::default();
    // A process that died may have left sessions to a successor of the same name. Nobody else has any before the first is claimed.
    if core.settings.worker_node_id.is_none() && until_claimed(&worker).await.is_break() {
        return;
    }
    let mut next = core.clock.monotonic().saturating_add(interval);
    loop {
        if let Either::Right(_) = select(core.clock.sleep_until(next), Box::pin(over.cancelled())).await {
            return;
        }
        let asked = core.clock.monotonic();
        match renew(&worker).await {
            Ok(renewed) => {
                core.store_answered();
                backoff.reset();
                next = asked.saturating_add(interval);
                if renewed == 0 && worker.sessions.is_idle() {
                    if until_claimed(&worker).await.is_break() {
                        return;
                    }
                    next = core.clock.monotonic().saturating_add(interval);
                }
            }
            Err(error) => {
                let delay = match error.kind {
                    // Soon, or the sessions are lost before it is tried again.
                    ErrorKind::NotApplied | ErrorKind::Unknown => {
                        backoff.after_failure(&*core.entropy).min(interval)
                    }
                    ErrorKind::Rejected(_) => interval,
                };
                next = core.clock.monotonic().saturating_add(delay);
                not_renewed(&core, asked, &error);
            }
        }
    }
}

/// Waits for a session to renew; breaks off when there will be none any more.
async fn until_claimed(worker: &Worker) -> ControlFlow<()> {
    let claimed = Box::pin(worker.sessions.claimed.notified());
    match select(claimed, Box::pin(worker.core.stop.drained.cancelled())).await {
        Either::Left(_) => ControlFlow::Continue(()),
        Either::Right(_) => ControlFlow::Break(()),
    }
}

/// Renews once; says how many sessions.
async fn renew(worker: &Arc<Worker>) -> Result<usize, StoreError> {
    const RENEW: Operation = Operation::RenewSessionLock;

    let core = &worker.core;
    let (store, owner) = (Arc::clone(&core.store), worker.owner().to_owned());
    let (lasts, idle) = (core.settings.session_lock_timeout, core.settings.session_idle_timeout);
    let call = async move { store.renew_session_lock(&[owner.as_str()], lasts, idle).await };
    match core.caller.call(RENEW, lasts / 3, call.boxed()).await {
        Called::Answered(Ok(renewed)) => Ok(renewed),
        Called::Answered(Err(error)) if error.is_retryable() => {
            Err(StoreError::unknown(RENEW, error.message))
        }
        Called::Answered(Err(error)) => Err(StoreError::rejected(RENEW, Rejection::Invalid, error.message)),
        Called::Unanswered(error) => Err(error),
    }
}

/// A renewal that fails is trouble of the store like any other, unless nobody needs the sessions any more.
fn not_renewed(core: &Core, began: Duration, error: &StoreError) {
    if !core.stop.giving_up.is_cancelled() {
        core.store_failed(began, error);
        core.chances.met_trouble();
    }
}
