//! The sessions that this node has on the server, and how many it may have.
//!
//! A call that is not answered by its deadline may still run on the server, for as long as its COMMIT waits
//! for a standby or for a disk. Closing the socket does not end such a session: a backend that waits for a
//! standby does not look at its client. Canceling it is worse, because the server then reports success for
//! what a failover can lose. So the node keeps the session, counts it, and opens no other in its place.
//!
//! So does a session whose socket breaks during a call: a proxy or a firewall may have reset the connection,
//! and the backend still waits.
//!
//! Every session has a [`Seat`], and there are as many seats as `connections` plus two (renewals and
//! notices). A seat is free again when its session answers and is closed, or when the server says that it has
//! no such session. The last seat belongs to the session for notices, which waits for no standby: it asks the
//! server which of the others are left.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::{Either, select};
use tokio::sync::Notify;
use tokio_postgres::{Client, SimpleQueryMessage};

use crate::connect::{Purpose, within};
use crate::error::CallError;
use crate::schema::Schema;
use crate::shared::Shared;

/// One session for renewals and one for notices, beside those that work.
const BESIDE_WORK: usize = 2;

/// How often a node without a free seat may open a session to ask the server which of its sessions are left.
const PROBE_INTERVAL: Duration = Duration::from_secs(5);

/// How often the listener asks what the sessions wait for that do not answer.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// How often it asks after a connection broke during a call: most backends notice that within moments.
const EAGER_CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// For so many checks.
const EAGER_CHECKS: u32 = 8;

/// How long that question may take.
const CHECK_PATIENCE: Duration = Duration::from_secs(5);

/// How often a session that does not answer is looked at.
pub(crate) const TICK: Duration = Duration::from_millis(250);

/// What the server calls this session. The start tells two sessions apart that had the same process id.
const IDENTIFY: &str =
    "SELECT pid, extract(epoch FROM backend_start)::numeric * 1000000 FROM pg_stat_activity
                        WHERE pid = pg_backend_pid()";

/// Which of these sessions the server has, and what each waits for.
const FIND: &str =
    "SELECT pid, (extract(epoch FROM backend_start)::numeric * 1000000)::bigint, coalesce(wait_event, '')
                    FROM pg_stat_activity WHERE pid = ANY ($1)";

/// How many sessions of a schema wait for a commit that does not end. A commit of a healthy server takes less
/// than a second.
const COUNT_STALLED: &str = "
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND state = 'active'
      AND right(regexp_replace(application_name, ' [a-z]+$', ''), length($1::text) + 1) = ' ' || $1::text
      AND (wait_event = 'SyncRep' OR (wait_event_type IN ('IO', 'LWLock') AND wait_event ILIKE 'wal%'))
      AND query_start < clock_timestamp() - interval '1 second'";

/// A session, as the server knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SessionId {
    pid: i32,
    /// Microseconds since 1970, by the server's clock.
    started: i64,
}

/// The sessions of a node.
#[derive(Debug)]
pub(crate) struct Sessions {
    pool: usize,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    seats: BTreeMap<u64, Occupant>,
    next_number: u64,
    /// Sessions of this schema waited for a commit when the node started: it has one session until they are
    /// gone.
    is_restricted: bool,
    /// When a session may be opened without a free seat, in monotonic time.
    next_probe_at: Duration,
    /// A connection broke during a call while the listener was there: before a probe it has time to ask.
    is_left_to_listener: bool,
    /// So many checks follow each other at a short interval.
    eager_checks: u32,
    /// The log says that every session waits.
    is_reported: bool,
}

#[derive(Debug)]
struct Occupant {
    purpose: Purpose,
    /// `None` until the session is there, and where the server does not tell.
    session: Option<SessionId>,
    standing: Standing,
    /// What the server says the session waits for.
    wait: Option<String>,
    /// The connection broke, and the server has not said since whether it has the session.
    is_unconfirmed: bool,
    /// The session was opened without a free seat.
    is_probe: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// Is being opened, or answers.
    Serving,
    /// A call is past its deadline, since this monotonic time.
    Unanswered(Duration),
    /// The same, and the node has closed its end.
    Abandoned(Duration),
    /// The server does not have it any more.
    Gone,
}

impl Standing {
    const fn unanswered_since(self) -> Option<Duration> {
        match self {
            Self::Unanswered(since) | Self::Abandoned(since) => Some(since),
            Self::Serving | Self::Gone => None,
        }
    }
}

/// Whether a new session may stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Occupied {
    Yes,
    TooMany,
}

/// The right to one session.
#[derive(Debug)]
pub(crate) struct Seat<'s> {
    sessions: &'s Sessions,
    number: u64,
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        let mut state = self.sessions.lock();
        if let Some(occupant) = state.seats.get_mut(&self.number)
            && occupant.session.is_some()
            && let Standing::Unanswered(since) = occupant.standing
        {
            // The server may still have it: it counts until the server says otherwise.
            occupant.standing = Standing::Abandoned(since);
        } else if let Some(occupant) = state.seats.remove(&self.number)
            && occupant.is_probe
            && occupant.session.is_none()
        {
            // The server was not reached, so it said nothing.
            state.next_probe_at = Duration::ZERO;
        }
        drop(state);
        self.sessions.changed.notify_waiters();
    }
}

impl Seat<'_> {
    /// Asks a new session who it is, and if some session of this node does not answer, which of those the
    /// server still has.
    ///
    /// [`TooMany`](Occupied::TooMany) if the session must be closed, because the node has as many as it may
    /// have.
    pub(crate) async fn occupy(&self, client: &Client, shared: &Shared) -> Result<Occupied, CallError> {
        let session = identify(client).await?;
        if let Some(occupant) = self.sessions.lock().seats.get_mut(&self.number) {
            occupant.session = session;
        }
        if self.sessions.needs_check() {
            check(client, shared).await?;
        }
        Ok(self.sessions.judge(self.number))
    }

    /// A call on this session is past its deadline.
    pub(crate) fn note_unanswered(&self, now: Duration) {
        self.set(Standing::Unanswered(now));
        self.sessions.changed.notify_waiters();
    }

    /// The connection broke during a call that began at this time: the server may still be at it.
    pub(crate) fn note_broken(&self, began: Duration) {
        let mut state = self.sessions.lock();
        if let Some(occupant) = state.seats.get_mut(&self.number) {
            if occupant.standing == Standing::Serving {
                occupant.standing = Standing::Unanswered(began);
            }
            occupant.is_unconfirmed = true;
        }
        state.eager_checks = EAGER_CHECKS;
        if state.has_listener() {
            state.is_left_to_listener = true;
        } else {
            // A server that has restarted says at once that it has no such session.
            state.next_probe_at = Duration::ZERO;
        }
    }

    /// The session answers again.
    pub(crate) fn note_answered(&self) {
        self.set(Standing::Serving);
        let mut state = self.sessions.lock();
        if std::mem::take(&mut state.is_reported) {
            tracing::info!(target: "abide::postgres", "PostgreSQL answers again: calls are sent again");
        }
        drop(state);
        self.sessions.changed.notify_waiters();
    }

    /// Whether the server does not have this session any more.
    pub(crate) fn is_gone(&self) -> bool {
        let state = self.sessions.lock();
        state.seats.get(&self.number).is_none_or(|occupant| occupant.standing == Standing::Gone)
    }

    fn set(&self, standing: Standing) {
        if let Some(occupant) = self.sessions.lock().seats.get_mut(&self.number) {
            occupant.standing = standing;
            occupant.wait = None;
        }
    }
}

impl Sessions {
    pub(crate) fn new(pool: usize) -> Self {
        Self { pool, state: Mutex::default(), changed: Notify::new() }
    }

    /// The node may have one session, until those of its schema that wait for a commit are gone.
    pub(crate) fn restrict(&self, now: Duration) {
        let mut state = self.lock();
        state.is_restricted = true;
        state.next_probe_at = now.saturating_add(PROBE_INTERVAL);
    }

    /// A seat for a session; `None` if the node has as many sessions as it may have.
    pub(crate) fn reserve(&self, purpose: Purpose, now: Duration) -> Option<Seat<'_>> {
        let mut state = self.lock();
        let is_probe = !state.has_room(self.pool, purpose);
        if is_probe {
            if std::mem::take(&mut state.is_left_to_listener) {
                state.next_probe_at = state.next_probe_at.max(now.saturating_add(PROBE_INTERVAL));
            }
            // One at a time asks the server which of them are left, and is closed at once if that gives no
            // room.
            if now < state.next_probe_at {
                return None;
            }
            state.next_probe_at = now.saturating_add(PROBE_INTERVAL);
        }
        let number = state.next_number;
        state.next_number = number.wrapping_add(1);
        let occupant = Occupant {
            purpose,
            session: None,
            standing: Standing::Serving,
            wait: None,
            is_unconfirmed: false,
            is_probe,
        };
        state.seats.insert(number, occupant);
        Some(Seat { sessions: self, number })
    }

    /// Whether the session with this seat may stay.
    fn judge(&self, number: u64) -> Occupied {
        let mut state = self.lock();
        let Some(occupant) = state.seats.remove(&number) else { return Occupied::TooMany };
        let has_room = state.has_room(self.pool, occupant.purpose);
        state.seats.insert(number, Occupant { is_probe: false, ..occupant });
        if has_room { Occupied::Yes } else { Occupied::TooMany }
    }

    fn needs_check(&self) -> bool {
        let state = self.lock();
        state.is_restricted || state.unanswered().next().is_some()
    }

    /// Waits until the sessions that do not answer are to be looked for again.
    pub(crate) async fn check_is_due(&self, shared: &Shared, last: Duration) {
        let clock = &*shared.settings.clock;
        loop {
            let changed = self.changed.notified();
            if self.needs_check() {
                let is_eager = self.lock().eager_checks > 0;
                let interval = if is_eager { EAGER_CHECK_INTERVAL } else { CHECK_INTERVAL };
                return clock.sleep_until(last.saturating_add(interval)).await;
            }
            changed.await;
        }
    }

    /// Waits until a seat may have become free, or for a moment.
    pub(crate) async fn may_have_room(&self, shared: &Shared) {
        let clock = &*shared.settings.clock;
        let tick = clock.sleep_until(clock.monotonic().saturating_add(TICK));
        match select(std::pin::pin!(self.changed.notified()), tick).await {
            Either::Left(_) | Either::Right(_) => {}
        }
    }

    /// What keeps every session of this kind from being used, if something does. Logs it when it begins.
    pub(crate) fn stall(&self, purpose: Purpose, shared: &Shared) -> Option<Stall> {
        let now = shared.settings.clock.monotonic();
        let mut state = self.lock();
        let mut stall = state.stall(self.pool, purpose, now)?;
        stall.place.clone_from(&shared.settings.target.place);
        if !std::mem::replace(&mut state.is_reported, true) {
            tracing::warn!(target: "abide::postgres", "{stall}");
        }
        Some(stall)
    }

    /// Takes in which of the sessions that were asked about the server has, and what each waits for.
    fn note_found(&self, asked: &[SessionId], found: &BTreeMap<SessionId, String>, now: Duration) {
        let mut state = self.lock();
        state.eager_checks = state.eager_checks.saturating_sub(1);
        state.next_probe_at = state.next_probe_at.max(now.saturating_add(PROBE_INTERVAL));
        state.seats.retain(|_, occupant| {
            let Some(session) = occupant.session.filter(|session| asked.contains(session)) else {
                return true;
            };
            occupant.is_unconfirmed = false;
            match (found.get(&session), occupant.standing) {
                (Some(wait), _) => occupant.wait = (!wait.is_empty()).then(|| wait.clone()),
                (None, Standing::Unanswered(_)) => occupant.standing = Standing::Gone,
                (None, Standing::Abandoned(_)) => return false,
                (None, Standing::Serving | Standing::Gone) => {}
            }
            true
        });
        drop(state);
        self.changed.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing can panic while it is held, and what it guards cannot be half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether one more session of this kind may be opened.
    fn has_room(&self, pool: usize, purpose: Purpose) -> bool {
        if self.is_restricted {
            return purpose == Purpose::Work && self.seats.is_empty();
        }
        let all = pool.saturating_add(BESIDE_WORK);
        let listening = self.seats.values().filter(|occupant| occupant.purpose == Purpose::Notices).count();
        let most = if purpose == Purpose::Notices { all } else { all.saturating_sub(1) + listening };
        self.seats.len() < most.min(all)
    }

    /// Whether the session for notifications exists and answers.
    fn has_listener(&self) -> bool {
        let mut sessions = self.seats.values().filter(|occupant| occupant.purpose == Purpose::Notices);
        sessions.any(|occupant| occupant.session.is_some() && occupant.standing == Standing::Serving)
    }

    fn unanswered(&self) -> impl Iterator<Item = (&Occupant, Duration)> {
        self.seats.values().filter_map(|occupant| Some((occupant, occupant.standing.unanswered_since()?)))
    }

    fn stall(&self, pool: usize, purpose: Purpose, now: Duration) -> Option<Stall> {
        let of_kind = |occupant: &&Occupant| occupant.purpose == purpose;
        let is_serving = |occupant: &Occupant| occupant.standing == Standing::Serving;
        if self.seats.values().filter(of_kind).any(is_serving) {
            return None;
        }
        // A server that has restarted has none of them.
        if self.seats.values().any(|occupant| occupant.is_unconfirmed) {
            return None;
        }
        let capacity = match purpose {
            Purpose::Work if !self.is_restricted => pool,
            Purpose::Work | Purpose::Renewals | Purpose::Notices | Purpose::Opening => 1,
        };
        let waiting = self.unanswered().filter(|(occupant, _)| occupant.purpose == purpose);
        if waiting.count() < capacity && self.has_room(pool, purpose) {
            return None;
        }
        let oldest = self.unanswered().min_by_key(|(_, since)| *since);
        let cause = match oldest {
            Some((oldest, since)) => Cause::Unanswered {
                sessions: self.unanswered().count(),
                wait: oldest.wait.clone(),
                lasts: now.saturating_sub(since),
            },
            None if self.is_restricted => Cause::Restricted,
            None => return None,
        };
        Some(Stall { cause, place: String::new() })
    }
}

/// No session of a kind can be used, and the node may not open another.
#[derive(Debug)]
pub(crate) struct Stall {
    cause: Cause,
    place: String,
}

#[derive(Debug)]
enum Cause {
    Unanswered { sessions: usize, wait: Option<String>, lasts: Duration },
    Restricted,
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = &self.place;
        match &self.cause {
            Cause::Unanswered { sessions, wait, lasts } => {
                let wait = wait.as_deref().unwrap_or("its wait event is not known");
                write!(
                    f,
                    "all {sessions} sessions that this node may use wait for PostgreSQL at {place} ({wait}), the first for {} s \
                     past its deadline: nothing more is sent until one is answered",
                    lasts.as_secs()
                )?;
                if wait == "SyncRep" {
                    f.write_str(
                        "; start a synchronous standby, or change synchronous_standby_names on the server",
                    )?;
                }
                Ok(())
            }
            Cause::Restricted => write!(
                f,
                "sessions of this schema waited for PostgreSQL at {place} to commit when this node started: it has one session \
                 until they are gone"
            ),
        }
    }
}

/// `None` if the server does not tell, because somebody has revoked the right to look.
async fn identify(client: &Client) -> Result<Option<SessionId>, CallError> {
    let messages = match client.simple_query(IDENTIFY).await {
        Ok(messages) => messages,
        Err(error) if error.as_db_error().is_some() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let row = messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        SimpleQueryMessage::CommandComplete(_) | SimpleQueryMessage::RowDescription(_) | _ => None,
    });
    Ok(row.and_then(|row| {
        let pid = row.get(0)?.parse().ok()?;
        let started = row.get(1)?.split('.').next()?.parse().ok()?;
        Some(SessionId { pid, started })
    }))
}

/// Asks the server which sessions it still has of those that do not answer, and whether the restriction of a
/// start is over.
pub(crate) async fn check(client: &Client, shared: &Shared) -> Result<(), CallError> {
    let clock = &*shared.settings.clock;
    let sessions = &shared.sessions;
    if sessions.lock().is_restricted {
        let waiting = count_stalled(client, &shared.schema);
        if within(clock, CHECK_PATIENCE, waiting).await? == 0 {
            sessions.lock().is_restricted = false;
            sessions.changed.notify_waiters();
            tracing::info!(target: "abide::postgres",
                "no session of this schema waits for a commit any more: this node opens its other sessions");
        }
    }
    let asked: Vec<SessionId> =
        sessions.lock().unanswered().filter_map(|(occupant, _)| occupant.session).collect();
    if asked.is_empty() {
        return Ok(());
    }
    let pids: Vec<i32> = asked.iter().map(|session| session.pid).collect();
    let rows = within(clock, CHECK_PATIENCE, async { Ok(client.query(FIND, &[&pids]).await?) }).await?;
    let mut found = BTreeMap::new();
    for row in rows {
        let session = SessionId { pid: row.try_get(0)?, started: row.try_get(1)? };
        found.insert(session, row.try_get(2)?);
    }
    sessions.note_found(&asked, &found, clock.monotonic());
    Ok(())
}

/// How many sessions of a schema wait for a commit that does not end.
pub(crate) async fn count_stalled(client: &Client, schema: &Schema) -> Result<i64, CallError> {
    Ok(client.query_one(COUNT_STALLED, &[&schema.name()]).await?.try_get(0)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const POOL: usize = 4;
    const NOW: Duration = Duration::from_secs(100);

    fn seated(sessions: &Sessions, purpose: Purpose, pid: i32) -> Seat<'_> {
        let seat = sessions.reserve(purpose, NOW).expect("there is room");
        let session = Some(SessionId { pid, started: 0 });
        sessions.lock().seats.get_mut(&seat.number).expect("it is there").session = session;
        seat
    }

    /// Sessions for work and renewals, as many as there may be.
    fn all_but_notices(sessions: &Sessions) -> Vec<Seat<'_>> {
        let work = (1..=4).map(|pid| seated(sessions, Purpose::Work, pid));
        work.chain(std::iter::once_with(|| seated(sessions, Purpose::Renewals, 5))).collect()
    }

    fn break_all(seats: Vec<Seat<'_>>) {
        for seat in seats {
            seat.note_broken(NOW);
        }
    }

    fn ids(pids: std::ops::RangeInclusive<i32>) -> Vec<SessionId> {
        pids.map(|pid| SessionId { pid, started: 0 }).collect()
    }

    #[test]
    fn the_last_seat_belongs_to_the_session_for_notices() {
        let sessions = Sessions::new(POOL);
        let _seats = all_but_notices(&sessions);
        assert!(!sessions.lock().has_room(POOL, Purpose::Work));
        let _listener = seated(&sessions, Purpose::Notices, 6);
        assert_eq!(sessions.lock().seats.len(), POOL + BESIDE_WORK);
        assert!(!sessions.lock().has_room(POOL, Purpose::Notices));
    }

    #[test]
    fn a_session_whose_connection_breaks_during_a_call_counts_until_the_server_does_not_have_it() {
        let sessions = Sessions::new(POOL);
        let seats = all_but_notices(&sessions);
        let _listener = seated(&sessions, Purpose::Notices, 6);
        break_all(seats);
        assert!(sessions.reserve(Purpose::Work, NOW).is_none(), "the listener asks the server");
        let found = BTreeMap::from([(SessionId { pid: 1, started: 0 }, "SyncRep".to_owned())]);
        sessions.note_found(&ids(1..=5), &found, NOW);
        assert_eq!(sessions.lock().unanswered().count(), 1);
        assert_eq!(all_but_notices_left(&sessions), POOL);
    }

    /// How many more sessions for work there may be.
    fn all_but_notices_left(sessions: &Sessions) -> usize {
        let mut seats = Vec::new();
        while sessions.lock().has_room(POOL, Purpose::Work) {
            seats.extend(sessions.reserve(Purpose::Work, NOW));
        }
        seats.len()
    }

    #[test]
    fn without_the_session_for_notices_the_first_probe_is_due_at_once() {
        let sessions = Sessions::new(POOL);
        sessions.lock().next_probe_at = NOW * 2;
        break_all(all_but_notices(&sessions));
        let probe = sessions.reserve(Purpose::Work, NOW).expect("it is due");
        assert!(sessions.reserve(Purpose::Work, NOW).is_none(), "one at a time");
        drop(probe);
        let probe = sessions.reserve(Purpose::Work, NOW).expect("the server was not reached");
        sessions.note_found(&ids(1..=5), &BTreeMap::new(), NOW);
        assert_eq!(sessions.judge(probe.number), Occupied::Yes);
    }

    #[test]
    fn a_stall_is_not_reported_before_the_server_says_that_it_has_the_sessions() {
        let sessions = Sessions::new(POOL);
        break_all(all_but_notices(&sessions));
        assert!(sessions.lock().stall(POOL, Purpose::Work, NOW).is_none());
        let found = ids(1..=5).into_iter().map(|id| (id, "SyncRep".to_owned())).collect();
        sessions.note_found(&ids(1..=5), &found, NOW);
        let stall = sessions.lock().stall(POOL, Purpose::Work, NOW).expect("all wait");
        assert!(stall.to_string().contains("all 5 sessions"), "{stall}");
    }
}
