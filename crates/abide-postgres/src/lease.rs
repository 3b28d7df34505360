//! Looking for something to lease: now, and again when there may be something.
//!
//! A look is a call to the server. What it leased is on its way to a caller who may be gone by then: it goes back, with the attempt given
//! back, unless somebody takes it. Waiting costs nothing: a call that found nothing waits here, under whatever executor its caller uses,
//! until there are news, until something is due, or until it is time to look for what nobody told.

use std::sync::Arc;
use std::time::Duration;

use abide_model::Timestamp;
use abide_provider::{InstanceLease, Operation, StoreError, WorkLease};
use futures_channel::oneshot;
use futures_util::future::{Either, select};
use tokio_postgres::Row;

use crate::PostgresProvider;
use crate::encode::number;
use crate::error::CallError;
use crate::news::News;
use crate::node::abandon::{AbandonInstance, AbandonWork, UNUSED};
use crate::node::batch::Waiting;
use crate::node::call::{Call, Caller, Statement, Values};
use crate::node::connection::SHORT;
use crate::node::desk::Place;
use crate::postgres_provider::answer_of;
use crate::rows::{LeasedInstance, LeasedMessage, LeasedWork};
use crate::server_time::ServerTime;
use crate::shared::Shared;
use crate::statements::Sql;
use crate::token::{MailboxToken, WorkToken};
use crate::waiters::{Interest, Ours, Waiter};

/// How soon to look again if another held what there is.
const SOON: Duration = Duration::from_millis(20);

/// A look that took all there was is followed by a pause, unless something is heard of: whoever works one thing after the other makes
/// the next one itself, and a look before that would be in vain.
const LULL: Duration = Duration::from_millis(2);

/// How often one call looks again because something had to be sorted out first.
const ROUNDS: usize = 1_000;

/// What a look found. What is left in it goes back.
pub(crate) struct Looked {
    pub(crate) found: Found,
    /// The server's time when it looked.
    now: i64,
    /// When it was sent, in monotonic time.
    sent_at: Duration,
    /// When its answer was there, in monotonic time.
    arrived_at: Duration,
    /// When to look again, if nothing was leased.
    due: Option<i64>,
    shared: Arc<Shared>,
}

/// What was leased, as it came.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) instances: Vec<LeasedInstance>,
    pub(crate) messages: Vec<LeasedMessage>,
    pub(crate) work: Vec<LeasedWork>,
    /// Pins that the caller must judge first.
    pub(crate) unjudged: Vec<String>,
}

impl Looked {
    pub(crate) fn of(
        operation: Operation,
        rows: Vec<Row>,
        sent_at: Duration,
        shared: &Arc<Shared>,
    ) -> Result<Self, StoreError> {
        let row =
            rows.into_iter().next().ok_or_else(|| StoreError::unknown(operation, "no row in answer"))?;
        let decoded = Self::decode(&row, sent_at, shared);
        decoded.map_err(|error| CallError::from(error).of(operation))
    }

    fn decode(row: &Row, sent_at: Duration, shared: &Arc<Shared>) -> Result<Self, tokio_postgres::Error> {
        let mut found = Found::default();
        if row.columns().iter().any(|column| column.name() == "messages") {
            found.instances = row.try_get::<_, Option<_>>("leases")?.unwrap_or_default();
            found.messages = row.try_get::<_, Option<_>>("messages")?.unwrap_or_default();
            found.unjudged = row.try_get::<_, Option<_>>("unjudged")?.unwrap_or_default();
        } else {
            found.work = row.try_get::<_, Option<_>>("leases")?.unwrap_or_default();
        }
        for work in &found.work {
            shared.note_lease(work.token());
        }
        let (now, due) = (row.try_get("now")?, row.try_get("due_at")?);
        let arrived_at = shared.settings.clock.monotonic();
        Ok(Self { found, now, sent_at, arrived_at, due, shared: Arc::clone(shared) })
    }

    /// The server's time by now, to be asked for in the poll that hands leases over.
    pub(crate) fn server_time(&self) -> ServerTime {
        let (clock, now) = (&self.shared.settings.clock, Timestamp::from_millis(number(self.now)));
        ServerTime::of(now, self.sent_at, self.arrived_at, clock.monotonic())
    }

    fn times(&self) -> Times {
        let safe = self.shared.settings.clock.monotonic().saturating_add(self.shared.settings.safety_poll);
        Times { now: self.now, sent_at: self.sent_at, due: self.due, safe }
    }
}

/// When to look again, if nothing was leased.
#[derive(Debug, Clone, Copy)]
struct Times {
    /// The server's time when it looked.
    now: i64,
    /// The same in monotonic time, or a little earlier.
    sent_at: Duration,
    /// When there may be something, by the server's clock.
    due: Option<i64>,
    /// When to look for what nobody told.
    safe: Duration,
}

impl Times {
    /// In monotonic time, with what was announced since.
    fn look_again_at(self, announced: Option<i64>) -> Duration {
        let due = [self.due, announced].into_iter().flatten().min();
        let Some(due) = due else { return self.safe };
        let wait = Duration::from_millis(number(due.saturating_sub(self.now)));
        let wait = if wait.is_zero() { SOON } else { wait };
        self.sent_at.saturating_add(wait).min(self.safe)
    }
}

impl Drop for Looked {
    fn drop(&mut self) {
        let since = self.shared.settings.clock.monotonic();
        let instances =
            self.found.instances.drain(..).map(|lease| AbandonInstance { token: lease.token(), how: UNUSED });
        let instances =
            instances.map(|back| Waiting::new(Operation::AbandonOrchestrationItem, back, since).0);
        let work = self.found.work.drain(..).map(|lease| AbandonWork { token: lease.token(), how: UNUSED });
        let work = work.map(|back| Waiting::new(Operation::AbandonWorkItem, back, since).0);
        let (instances, work): (Vec<_>, Vec<_>) = (instances.collect(), work.collect());
        self.shared.desk.put(instances);
        self.shared.desk.put(work);
    }
}

/// Leases that the caller has not got yet. They go back unless they are handed over.
pub(crate) struct InHand<L: Return> {
    leases: Vec<L>,
    shared: Arc<Shared>,
}

/// A lease that can go back unused.
pub(crate) trait Return {
    fn give_back(&self, shared: &Shared);

    /// Says what time it is when it is handed over.
    fn say(&mut self, time: ServerTime);
}

impl<L: Return> InHand<L> {
    pub(crate) fn nothing(shared: &Arc<Shared>) -> Self {
        Self { leases: Vec::new(), shared: Arc::clone(shared) }
    }

    pub(crate) fn push(&mut self, lease: L) {
        self.leases.push(lease);
    }

    pub(crate) fn leases(&self) -> &[L] {
        &self.leases
    }

    /// Puts those behind the first few into the order of these numbers.
    pub(crate) fn arrange(&mut self, behind: usize, numbers: &[i64], number: impl Fn(&L) -> i64) {
        let place = |lease: &L| numbers.iter().position(|other| *other == number(lease));
        if let Some(leases) = self.leases.get_mut(behind..) {
            leases.sort_by_key(place);
        }
    }

    /// To be called in the poll that hands them to the caller. Whichever look found them, they say what time it is by now.
    pub(crate) fn hand_over(&mut self, time: ServerTime) -> Vec<L> {
        let mut leases = std::mem::take(&mut self.leases);
        for lease in &mut leases {
            lease.say(time);
        }
        leases
    }
}

impl<L: Return> Drop for InHand<L> {
    fn drop(&mut self) {
        for lease in &self.leases {
            lease.give_back(&self.shared);
        }
    }
}

impl Return for InstanceLease {
    fn give_back(&self, shared: &Shared) {
        let Some(token) = MailboxToken::parse(&self.token) else { return };
        let (back, since) = (AbandonInstance { token, how: UNUSED }, shared.settings.clock.monotonic());
        shared.desk.put([Waiting::new(Operation::AbandonOrchestrationItem, back, since).0]);
    }

    fn say(&mut self, time: ServerTime) {
        (self.store_time, self.store_time_slack) = (Some(time.at_least), time.slack);
    }
}

impl Return for WorkLease {
    fn give_back(&self, shared: &Shared) {
        let Some(token) = WorkToken::parse(&self.token) else { return };
        let (back, since) = (AbandonWork { token, how: UNUSED }, shared.settings.clock.monotonic());
        shared.desk.put([Waiting::new(Operation::AbandonWorkItem, back, since).0]);
    }

    fn say(&mut self, time: ServerTime) {
        (self.store_time, self.store_time_slack) = (Some(time.at_least), time.slack);
    }
}

/// Somebody who looks for something, and what this node told nobody else because he would. Whatever becomes of him, it is told then.
struct Errand<'s> {
    shared: &'s Shared,
    waiter: Waiter<'s>,
    /// What others are told then, and under which tags.
    hint: News,
    withheld: Option<Ours>,
}

impl<'s> Errand<'s> {
    fn begin(shared: &'s Shared, interest: Interest, hint: News) -> Self {
        Self { shared, waiter: shared.waiters.enter(interest), hint, withheld: None }
    }

    /// Before a look.
    fn take_note(&mut self) {
        self.withhold(self.waiter.take_note());
    }

    fn withhold(&mut self, ours: Option<Ours>) {
        if let Some(tags) = ours {
            self.withheld.get_or_insert_default().extend(tags);
        }
    }

    /// All that there was is leased.
    fn done(&mut self) {
        self.withheld = None;
    }

    /// There may be something for others.
    fn tell(&mut self) {
        if let Some(tags) = self.withheld.take() {
            let mut news = self.hint.clone();
            news.tags.extend(tags);
            self.shared.outbox.put(news);
        }
    }
}

impl Drop for Errand<'_> {
    fn drop(&mut self) {
        self.withhold(self.waiter.leave());
        self.tell();
    }
}

impl LeasedInstance {
    pub(crate) fn token(&self) -> MailboxToken {
        MailboxToken { mailbox: self.mailbox, nonce: self.nonce }
    }
}

impl LeasedWork {
    pub(crate) fn token(&self) -> WorkToken {
        WorkToken { no: self.work, mailbox: self.mailbox, nonce: self.nonce }
    }
}

impl PostgresProvider {
    /// Looks until there is something, or `wait` is over.
    pub(crate) async fn look_until<S: Search>(
        &self,
        operation: Operation,
        wait: Duration,
        mut search: S,
    ) -> Result<Vec<S::Lease>, StoreError> {
        let clock = &*self.shared.settings.clock;
        let deadline = clock.monotonic().saturating_add(wait);
        let interest = search.interest();
        let mut errand = Errand::begin(&self.shared, interest.clone(), search.hint());
        let mut rounds = 0;
        if wait > LULL && self.shared.waiters.is_drained(&interest) {
            let over = clock.monotonic().saturating_add(LULL);
            self.wait_for_news(&errand.waiter, |_| over).await;
        }
        loop {
            errand.take_note();
            let before = self.shared.waiters.heard_of(&interest);
            let looked = self.look(operation, search.sql(), search.values(&self.shared)).await?;
            let times = looked.times();
            let leases = match search.take(self, looked).await? {
                // What had to be sorted out is out of the way then, so this ends; the bound is for a store gone wrong.
                Took::LookAgain if rounds < ROUNDS => {
                    rounds += 1;
                    continue;
                }
                Took::LookAgain => return Ok(Vec::new()),
                Took::Leases(leases) => leases,
            };
            // What this node was told of and cannot use, or not all of it, is for others.
            if !leases.is_empty() && leases.len() < search.limit() {
                errand.done();
                self.shared.waiters.note_drained(interest.clone(), before);
            } else {
                errand.tell();
            }
            if !leases.is_empty() || clock.monotonic() >= deadline {
                return Ok(leases);
            }
            let until = |announced| times.look_again_at(announced).min(deadline);
            self.wait_for_news(&errand.waiter, until).await;
            if clock.monotonic() >= deadline {
                return Ok(Vec::new());
            }
        }
    }

    async fn look(&self, operation: Operation, sql: Sql, values: Values) -> Result<Looked, StoreError> {
        let (reply, answer) = oneshot::channel();
        let since = self.shared.settings.clock.monotonic();
        let (place, patience, statement) = (Place::Ordinary, SHORT, Statement::Known(sql));
        let caller = Caller::Leases(reply);
        self.shared.desk.put([Call { operation, place, since, statement, values, patience, caller }]);
        answer_of(operation, answer).await
    }

    /// Waits until there is a reason to look, or it is time, given what was announced.
    async fn wait_for_news(&self, waiter: &Waiter<'_>, until: impl Fn(Option<i64>) -> Duration) {
        let clock = &*self.shared.settings.clock;
        while !waiter.is_called() {
            let until = until(waiter.announced());
            if clock.monotonic() >= until {
                return;
            }
            match select(std::pin::pin!(waiter.heard()), clock.sleep_until(until)).await {
                Either::Left(_) => {}
                Either::Right(_) => return,
            }
        }
    }
}

/// What is looked for.
pub(crate) trait Search {
    type Lease;

    fn interest(&self) -> Interest;

    /// How many are wanted.
    fn limit(&self) -> usize;

    fn sql(&self) -> Sql;

    /// The values of the next look.
    fn values(&mut self, shared: &Shared) -> Values;

    /// Makes leases of what was found.
    async fn take(
        &mut self,
        store: &PostgresProvider,
        looked: Looked,
    ) -> Result<Took<Self::Lease>, StoreError>;

    /// What to tell the other nodes if there may be something for them.
    fn hint(&self) -> News;
}

/// What became of what was found.
pub(crate) enum Took<T> {
    Leases(Vec<T>),
    /// Something had to be sorted out first.
    LookAgain,
}
