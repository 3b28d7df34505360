//! The connection on which the nodes tell each other what is new.
//!
//! Nothing depends on it. When it is there (again), everybody looks for what may have been missed. A node that is alone tells nobody: see
//! [`company`](super::company).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_channel::mpsc;
use futures_util::StreamExt as _;
use futures_util::future::{Either, select};
use tokio_postgres::{Client, Notification, Statement};

use super::company::{Company, join, look_around};
use super::connection::Params;
use super::notice::{HELLO, Notice};
use super::patience::SHORT;
use super::sessions::{Occupied, Seat, check as check_sessions};
use super::worker::Pauses;
use crate::connect::{Driver, Purpose, connect, within};
use crate::error::CallError;
use crate::options::Settings;
use crate::shared::Shared;
use crate::statements::Sql;
use crate::token::WorkToken;

/// A connection that was there for so long was no failure.
const LASTING: Duration = Duration::from_secs(1);

/// That there is more work than a node has slots for, it tells this often at most: it would with every step of all that waits, and every
/// node that hears it spends about as much on that as on a step.
const PACE: Duration = Duration::from_millis(20);

/// For so long after others were seen or heard of they are told without another look.
const STAYING: Duration = Duration::from_secs(5);

pub(crate) async fn listen(shared: &Arc<Shared>) {
    let mut pauses = Pauses::new();
    while !shared.desk.is_closed() {
        let Some(seat) = shared.sessions.reserve(Purpose::Notices, shared.settings.clock.monotonic()) else {
            shared.sessions.may_have_room(shared).await;
            continue;
        };
        match Listener::open(shared, seat).await {
            Ok(None) => continue,
            Ok(Some(mut listener)) => {
                let begun = shared.settings.clock.monotonic();
                let ended = listener.run(shared).await;
                // One that fails as soon as it is there is no reason to hurry.
                if shared.settings.clock.monotonic().saturating_sub(begun) > LASTING {
                    pauses = Pauses::new();
                }
                shared.is_listening.store(false, Ordering::Release);
                // Whoever comes now is not heard of: what happens is kept, to be told when we are back.
                shared.outbox.speak_up();
                if let Err(error) = ended {
                    listener.note_lost(shared);
                    tracing::debug!(target: "abide::postgres", error = %error.message,
                        "the connection for notices is gone: connecting again");
                }
            }
            Err(error) => {
                tracing::debug!(target: "abide::postgres", error = %error.message, "cannot listen for notices yet");
            }
        }
        if !shared.desk.is_closed() {
            pauses.pause(shared).await;
        }
    }
}

struct Listener<'s> {
    client: Client,
    seat: Seat<'s>,
    _driver: Driver,
    tell: Statement,
    notices: mpsc::UnboundedReceiver<Notification>,
    /// Of our own session: what we told ourselves is no news.
    backend: i32,
    /// When others were last seen or heard of, in monotonic time.
    met_at: Duration,
    /// When it may be told again that there is too much work, in monotonic time.
    may_tell_at: Duration,
    /// When the sessions that do not answer were last looked for, in monotonic time.
    checked_at: Duration,
    /// Something may have been missed.
    is_behind: bool,
}

impl<'s> Listener<'s> {
    /// `None` if the node turns out to have as many sessions as it may have.
    async fn open(shared: &Shared, seat: Seat<'s>) -> Result<Option<Self>, CallError> {
        let (sender, notices) = mpsc::unbounded();
        let Settings { listen_target, clock, .. } = &shared.settings;
        let connected = connect(listen_target, &shared.schema, Purpose::Notices, clock, Some(sender));
        let (client, driver) = connected.await?;
        if within(&**clock, SHORT, seat.occupy(&client, shared)).await? == Occupied::TooMany {
            return Ok(None);
        }
        let (backend, tell) = within(&**clock, SHORT, async {
            // A notice that a crash loses is followed by a new connection, which looks for what may have been
            // missed. So it waits for no standby, and this session answers while others wait for theirs.
            let listen = format!("SET synchronous_commit = off; LISTEN \"{}\"", shared.schema.channel());
            client.batch_execute(&listen).await?;
            let backend = join(&client, shared).await?;
            Ok((backend, client.prepare(shared.texts.get(Sql::Tell)).await?))
        })
        .await?;
        let met_at = clock.monotonic();
        let (checked_at, may_tell_at, is_behind) = (met_at, Duration::ZERO, true);
        Ok(Some(Self {
            client,
            seat,
            _driver: driver,
            tell,
            notices,
            backend,
            met_at,
            may_tell_at,
            checked_at,
            is_behind,
        }))
    }

    /// A call on a connection that is still open was not answered: the server may be at it.
    fn note_lost(&self, shared: &Shared) {
        if !self.client.is_closed() {
            self.seat.note_unanswered(shared.settings.clock.monotonic());
        }
    }

    /// Hears and tells until the connection or the store is gone.
    async fn run(&mut self, shared: &Shared) -> Result<(), CallError> {
        self.announce_again(shared).await?;
        self.catch_up(shared).await?;
        if self.look_around(shared).await == Company::Somebody {
            self.send(&[HELLO.to_owned()], shared).await?;
        }
        shared.is_listening.store(true, Ordering::Release);
        while !shared.desk.is_closed() {
            if self.is_behind {
                self.catch_up(shared).await?;
            }
            let (may_tell_at, checked_at) = (self.may_tell_at, self.checked_at);
            let filled = std::pin::pin!(has_news(shared, may_tell_at));
            let check = std::pin::pin!(shared.sessions.check_is_due(shared, checked_at));
            match select(self.notices.next(), select(filled, check)).await {
                Either::Left((Some(notice), _)) => self.hear(&notice, shared),
                Either::Left((None, _)) => return Err(CallError::unknown("the connection was closed")),
                Either::Right((Either::Left(_), _)) => self.tell(shared).await?,
                Either::Right((Either::Right(_), _)) => {
                    check_sessions(&self.client, shared).await?;
                    self.checked_at = shared.settings.clock.monotonic();
                }
            }
        }
        Ok(())
    }

    /// While this store did not listen, its nodes may have been taken for dead, and forgotten.
    async fn announce_again(&self, shared: &Shared) -> Result<(), CallError> {
        let announced = shared.announced().clone();
        for (id, said) in announced {
            within(&*shared.settings.clock, SHORT, async {
                let values: Params<'_> = &[&id, &shared.node, &said];
                Ok(self.client.execute(shared.texts.get(Sql::AnnounceNode), values).await?)
            })
            .await?;
        }
        Ok(())
    }

    /// What was told while nobody here listened, or was told nobody, is found by looking.
    async fn catch_up(&mut self, shared: &Shared) -> Result<(), CallError> {
        self.is_behind = false;
        shared.waiters.call_all();
        shared.changes.tell_all();
        let held = shared.held_leases();
        if held.is_empty() || shared.stolen.is_empty() {
            return Ok(());
        }
        let numbers: Vec<i64> = held.iter().map(|token| token.no).collect();
        let nonces: Vec<i64> = held.iter().map(|token| token.nonce).collect();
        let rows = within(&*shared.settings.clock, SHORT, async {
            Ok(self.client.query(shared.texts.get(Sql::LostWork), &[&numbers, &nonces]).await?)
        })
        .await?;
        let mut lost = BTreeSet::new();
        for row in rows {
            lost.insert((row.try_get::<_, i64>(0)?, row.try_get::<_, i64>(1)?));
        }
        // What was told meanwhile was told with its reason.
        while let Ok(notice) = self.notices.try_recv() {
            self.hear(&notice, shared);
        }
        let is_lost = |token: &WorkToken| lost.contains(&(token.no, token.nonce));
        shared.lose_leases(shared.held_leases().into_iter().filter(is_lost));
        Ok(())
    }

    fn hear(&mut self, notification: &Notification, shared: &Shared) {
        if notification.process_id() == self.backend {
            return;
        }
        let Some(notice) = Notice::parse(notification.payload()) else { return };
        // Whatever it says, somebody is there.
        self.met_at = shared.settings.clock.monotonic();
        shared.outbox.speak_up();
        self.is_behind |= notice.is_about_everything();
        shared.hear(notice.news());
        if notice.tells_of_changes() {
            shared.changes.tell_those(|instance| notice.is_about(instance));
        }
    }

    /// Looks who else is there: if nobody is, nobody is told anything until somebody is heard.
    async fn look_around(&mut self, shared: &Shared) -> Company {
        // Whoever comes after this look is heard after it, too: notices are taken in one after the other with it.
        let company = look_around(&self.client, shared).await;
        match company {
            Company::Nobody => shared.outbox.fall_silent(),
            Company::Somebody => self.met_at = shared.settings.clock.monotonic(),
        }
        company
    }

    async fn tell(&mut self, shared: &Shared) -> Result<(), CallError> {
        let notices = shared.outbox.take();
        if notices.is_empty() {
            return Ok(());
        }
        self.may_tell_at = shared.settings.clock.monotonic().saturating_add(PACE);
        let told = self.send(&notices, shared).await;
        if told.is_err() {
            shared.outbox.put_back(notices);
            return told;
        }
        // Only those who tell something look, so that nobody does who is idle; and not first, so that nobody waits for it.
        if shared.settings.clock.monotonic().saturating_sub(self.met_at) >= STAYING {
            self.look_around(shared).await;
        }
        Ok(())
    }

    async fn send(&self, notices: &[String], shared: &Shared) -> Result<(), CallError> {
        shared.counts.statement(Sql::Tell);
        let clock = &*shared.settings.clock;
        let deadline = clock.sleep_until(clock.monotonic().saturating_add(SHORT));
        let channel = shared.schema.channel();
        let params: [&(dyn tokio_postgres::types::ToSql + Sync); 2] = [&channel, &notices];
        let told = std::pin::pin!(self.client.execute(&self.tell, &params));
        match select(told, deadline).await {
            Either::Left((told, _)) => Ok(told.map(drop)?),
            Either::Right(_) => Err(CallError::unknown("no answer from PostgreSQL to a notice")),
        }
    }
}

/// Waits until there is something to tell; if that can wait, until it may be told.
async fn has_news(shared: &Shared, may_tell_at: Duration) {
    let clock = &*shared.settings.clock;
    // What was heard meanwhile may have ended such a wait, and nobody rings again for the same.
    if !shared.outbox.can_wait() {
        shared.outbox.filled().await;
    }
    while shared.outbox.can_wait() && clock.monotonic() < may_tell_at {
        select(std::pin::pin!(shared.outbox.filled()), clock.sleep_until(may_tell_at)).await;
    }
}
