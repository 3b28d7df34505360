//! Sessions: which are worked on here, and keeping them ours.

use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use abide_model::Clock;
use abide_provider::{ErrorKind, Operation, RenewSessions, StoreError};
use futures_util::future::{Either, FutureExt, select};
use tokio::sync::{Notify, oneshot};
use tracing::warn;

use super::Worker;
use crate::core::Core;
use crate::dispatch::Slot;
use crate::pacing::Backoff;
use crate::reminders::Topic;
use crate::settings::Settings;
use crate::store_call::Called;

/// An activity that its session has no room for is returned to the store for at least this long, and at most
/// this long.
const SURPLUS_DELAY: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(30));

/// The sessions that are worked on in this runtime.
#[derive(Clone)]
pub(crate) struct Sessions {
    limit: usize,
    /// So long after its last activity a session is still ours.
    idle: Duration,
    sharing: Sharing,
    clock: Arc<dyn Clock>,
    busy: Arc<Mutex<Busy>>,
    claimed: Arc<Notify>,
}

/// How the activities of one session run on a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sharing {
    /// The node owns the session: its activities run side by side.
    Node,
    /// One slot owns the session: its activities run one after the other. At most so many of all sessions
    /// wait here.
    Slot { most_waiting: usize },
}

#[derive(Default)]
struct Busy {
    /// The sessions that have activities here.
    sessions: BTreeMap<String, Session>,
    /// How many activities wait for another of their session.
    waiting: usize,
    /// When the last activity of any session began or ended.
    last_used: Option<Duration>,
}

/// A session that is worked on.
struct Session {
    /// How many of its activities were admitted and have not ended.
    running: usize,
    /// When the last of them was admitted.
    since: Duration,
    /// Those that wait for it, in the order in which they were leased. Each is sent the slot to run in;
    /// dropping the sender tells it that there is none.
    waiting: VecDeque<oneshot::Sender<Slot>>,
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

/// Whether an activity may run.
pub(crate) enum Admission {
    /// Now.
    Now(Ticket),
    /// When those of its session that were leased before it have ended.
    After(Turn),
    /// Not here: its session is one too many.
    TooManySessions,
    /// Not now: too many wait for their session already. It is to be returned to the store for so long.
    TooManyWaiting { delay: Duration },
}

/// An activity of a session, or of none, is worked on until this is dropped.
pub(crate) struct Ticket {
    session: Option<String>,
    sessions: Sessions,
}

/// An activity waits for its session. To drop this is to leave the queue.
pub(crate) struct Turn {
    session: String,
    sessions: Sessions,
    slot: oneshot::Receiver<Slot>,
}

impl Sessions {
    pub(crate) fn new(settings: &Settings, clock: Arc<dyn Clock>) -> Self {
        let sharing = if settings.worker_node_id.is_some() {
            Sharing::Node
        } else {
            Sharing::Slot { most_waiting: settings.worker_concurrency }
        };
        Self {
            limit: settings.max_sessions_per_runtime,
            idle: settings.session_idle_timeout,
            sharing,
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
        let is_used = !busy.sessions.is_empty() || busy.last_used.is_some_and(is_recent);
        match self.limit.saturating_sub(busy.sessions.len()) {
            0 => Room::None,
            _ if !is_used => Room::Unused,
            more => Room::For(more),
        }
    }

    /// Admits an activity, of a session or of none.
    pub(crate) fn enter(&self, session: Option<&str>) -> Admission {
        let Some(name) = session else {
            return Admission::Now(Ticket { session: None, sessions: self.clone() });
        };
        let now = self.clock.monotonic();
        let mut busy = self.lock();
        let Busy { sessions, waiting, last_used } = &mut *busy;
        if let (Some(session), Sharing::Slot { most_waiting }) = (sessions.get_mut(name), self.sharing) {
            if *waiting >= most_waiting {
                // By then it may have ended, and what it leaves is soon found again.
                let (least, most) = SURPLUS_DELAY;
                return Admission::TooManyWaiting {
                    delay: now.saturating_sub(session.since).clamp(least, most),
                };
            }
            let (sender, slot) = oneshot::channel();
            session.waiting.push_back(sender);
            *waiting = waiting.saturating_add(1);
            return Admission::After(Turn { session: name.to_owned(), sessions: self.clone(), slot });
        }
        if !sessions.contains_key(name) && sessions.len() >= self.limit {
            return Admission::TooManySessions;
        }
        *last_used = Some(now);
        let session = sessions.entry(name.to_owned()).or_insert_with(|| Session::new(now));
        session.running = session.running.saturating_add(1);
        drop(busy);
        self.claimed.notify_one();
        Admission::Now(Ticket { session: Some(name.to_owned()), sessions: self.clone() })
    }

    /// An activity of the session ended: the next that waits gets the slot, or hears that there is none.
    fn pass_on(&self, name: &str, mut slot: Option<Slot>) {
        let now = self.clock.monotonic();
        let mut busy = self.lock();
        busy.last_used = Some(now);
        let Busy { sessions, waiting, .. } = &mut *busy;
        let Some(session) = sessions.get_mut(name) else { return };
        session.running = session.running.saturating_sub(1);
        while let Some(next) = session.waiting.pop_front() {
            *waiting = waiting.saturating_sub(1);
            let Some(free) = slot.take() else { continue };
            match next.send(free) {
                Ok(()) => {
                    session.running = session.running.saturating_add(1);
                    session.since = now;
                    return;
                }
                // It does not wait any more.
                Err(unused) => slot = Some(unused),
            }
        }
        if session.running == 0 {
            sessions.remove(name);
        }
    }

    fn is_idle(&self) -> bool {
        self.lock().sessions.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Busy> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    const fn new(since: Duration) -> Self {
        Self { running: 0, since, waiting: VecDeque::new() }
    }
}

impl Ticket {
    /// The activity ended in this slot: the next of its session goes on in it.
    pub(crate) fn pass_on(mut self, slot: Option<Slot>) {
        if let Some(session) = self.session.take() {
            self.sessions.pass_on(&session, slot);
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            self.sessions.pass_on(&session, None);
        }
    }
}

impl Turn {
    /// Waits for the activities that were leased before. `None`: the last of them left no slot to run in.
    pub(crate) async fn comes(mut self) -> Option<(Slot, Ticket)> {
        let slot = (&mut self.slot).await.ok()?;
        let ticket = Ticket { session: Some(self.session.clone()), sessions: self.sessions.clone() };
        Some((slot, ticket))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.slot.close();
        // Sent, and not taken: the next one gets it.
        if let Ok(slot) = self.slot.try_recv() {
            self.sessions.pass_on(&self.session, Some(slot));
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
    let store = Arc::clone(&core.store);
    let lasts = core.settings.session_lock_timeout;
    let request = RenewSessions {
        owner: worker.owner().to_owned(),
        extend_for: lasts,
        idle_timeout: core.settings.session_idle_timeout,
        tags: core.settings.worker_tag_filter.clone(),
        serving: core.serving.request_without_suspects(),
    };
    let call = async move { store.renew_sessions(request).await };
    match core.caller.call(RENEW, lasts / 3, call.boxed()).await {
        Called::Answered(answer) => answer,
        Called::Unanswered(error) => Err(error),
    }
}

/// A renewal that fails is trouble of the store like any other, unless no activity needs the sessions any
/// more. Logged once a minute: one call renews all of them.
fn not_renewed(core: &Core, began: Duration, error: &StoreError) {
    if core.stop.giving_up.is_cancelled() {
        return;
    }
    core.store_failed(began, error);
    core.chances.met_trouble();
    if core.reminders.is_due(Topic::SessionRenewal, core.clock.monotonic()) {
        warn!(target: "abide::runtime", %error,
            "the sessions of this node could not be renewed; it is tried again until they are lost");
    }
}
