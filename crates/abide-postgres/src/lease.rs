//! What was leased, on its way to whoever asked for it: he may be gone by then, and it goes back, with the attempt given back, unless
//! somebody takes it.

use std::sync::Arc;
use std::time::Duration;

use abide_model::Timestamp;
use abide_provider::{InstanceLease, Operation, StoreError, WorkLease};
use tokio_postgres::Row;

use crate::encode::number;
use crate::error::CallError;
use crate::node::abandon::{AbandonInstance, AbandonWork, UNUSED};
use crate::node::batch::Waiting;
use crate::rows::{LeasedInstance, LeasedMessage, LeasedWork, RouteRow, WorkRouteRow};
use crate::server_time::ServerTime;
use crate::shared::Shared;
use crate::token::{MailboxToken, WorkToken};

/// How soon to look again if another held what there is.
const SOON: Duration = Duration::from_millis(20);

/// A look that found something and left nothing is followed by a pause, unless something is heard of: whoever works one thing after the
/// other makes the next one itself, and it is handed over by the call that makes it. A look before that would be in vain.
pub(crate) const LULL: Duration = Duration::from_millis(10);

/// What a look found. What is left in it goes back.
#[derive(Debug)]
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
    /// Routes that the caller must judge first.
    pub(crate) unjudged: Vec<RouteRow>,
    pub(crate) unjudged_work: Vec<WorkRouteRow>,
    /// Routes of instances to be canceled, which the caller takes if no live node has the code.
    pub(crate) canceled: Vec<i64>,
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
            found.canceled = row.try_get::<_, Option<_>>("canceled")?.unwrap_or_default();
        } else {
            found.work = row.try_get::<_, Option<_>>("leases")?.unwrap_or_default();
            found.unjudged_work = row.try_get::<_, Option<_>>("unjudged")?.unwrap_or_default();
        }
        let (now, due) = (row.try_get("now")?, row.try_get("due_at")?);
        let mut looked = Self::arrived(found, now, sent_at, shared);
        looked.due = due;
        Ok(looked)
    }

    /// Instances that a call leased for those who wait for some.
    pub(crate) fn of_handed_instances(
        row: &Row,
        sent_at: Duration,
        shared: &Arc<Shared>,
    ) -> Result<Self, tokio_postgres::Error> {
        let instances = row.try_get::<_, Option<_>>("instance_leases")?.unwrap_or_default();
        let messages = row.try_get::<_, Option<_>>("messages")?.unwrap_or_default();
        let found = Found { instances, messages, ..Found::default() };
        Ok(Self::arrived(found, row.try_get("now")?, sent_at, shared))
    }

    /// The same of work.
    pub(crate) fn of_handed_work(
        row: &Row,
        sent_at: Duration,
        shared: &Arc<Shared>,
    ) -> Result<Self, tokio_postgres::Error> {
        let work = row.try_get::<_, Option<_>>("work_leases")?.unwrap_or_default();
        Ok(Self::arrived(Found { work, ..Found::default() }, row.try_get("now")?, sent_at, shared))
    }

    fn arrived(found: Found, now: i64, sent_at: Duration, shared: &Arc<Shared>) -> Self {
        for work in &found.work {
            shared.note_lease(work.token());
        }
        let arrived_at = shared.settings.clock.monotonic();
        Self { found, now, sent_at, arrived_at, due: None, shared: Arc::clone(shared) }
    }

    /// How many leases there are.
    pub(crate) fn len(&self) -> usize {
        self.found.instances.len().saturating_add(self.found.work.len())
    }

    /// Takes away what is more than `most` leases, if there is more.
    pub(crate) fn split_off(&mut self, most: usize) -> Option<Self> {
        if self.len() <= most {
            return None;
        }
        let Found { instances, messages, work, .. } = &mut self.found;
        let work = work.split_off(most.min(work.len()));
        let instances = instances.split_off(most.min(instances.len()));
        let is_of_rest =
            |message: &LeasedMessage| instances.iter().any(|instance| instance.mailbox == message.mailbox);
        let (of_rest, kept) = std::mem::take(messages).into_iter().partition(is_of_rest);
        *messages = kept;
        Some(self.with(Found { instances, messages: of_rest, work, ..Found::default() }))
    }

    /// Takes the lease on this mailbox away, if there is one.
    pub(crate) fn take_mailbox(&mut self, mailbox: i64) -> Option<Self> {
        let Found { instances, messages, .. } = &mut self.found;
        let place = instances.iter().position(|instance| instance.mailbox == mailbox)?;
        let instances = vec![instances.remove(place)];
        let (messages, others) =
            std::mem::take(messages).into_iter().partition(|message| message.mailbox == mailbox);
        self.found.messages = others;
        Some(self.with(Found { instances, messages, ..Found::default() }))
    }

    /// The same look with other finds.
    fn with(&self, found: Found) -> Self {
        let Self { now, sent_at, arrived_at, due, .. } = *self;
        Self { found, now, sent_at, arrived_at, due, shared: Arc::clone(&self.shared) }
    }

    /// When leases of so many milliseconds end, by the server's clock.
    pub(crate) const fn leased_until(&self, lease_ms: i64) -> i64 {
        self.now.saturating_add(lease_ms)
    }

    /// How long it has been here.
    pub(crate) fn age(&self) -> Duration {
        self.shared.settings.clock.monotonic().saturating_sub(self.arrived_at)
    }

    /// The server's time by now, to be asked for in the poll that hands leases over.
    pub(crate) fn server_time(&self) -> ServerTime {
        let (clock, now) = (&self.shared.settings.clock, Timestamp::from_millis(number(self.now)));
        ServerTime::of(now, self.sent_at, self.arrived_at, clock.monotonic())
    }

    pub(crate) fn times(&self) -> Times {
        let safe = self.shared.settings.clock.monotonic().saturating_add(self.shared.settings.safety_poll);
        Times { now: self.now, sent_at: self.sent_at, due: self.due, safe }
    }
}

/// When to look again, if nothing was leased.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
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
    pub(crate) const fn sent_at(self) -> Duration {
        self.sent_at
    }

    /// There will be something then, by the server's clock.
    pub(crate) fn announce(&mut self, due: i64) {
        self.due = Some(self.due.map_or(due, |known| known.min(due)));
    }

    /// Of a look that found something, and left nothing: it knows of nothing that is due.
    pub(crate) fn after_lull(self) -> Self {
        Self { safe: self.sent_at.saturating_add(LULL), ..self }
    }

    /// In monotonic time, with what was announced since.
    pub(crate) fn look_again_at(self, announced: Option<i64>) -> Duration {
        let due = [self.due, announced].into_iter().flatten().min();
        let Some(due) = due else { return self.safe };
        let wait = Duration::from_millis(number(due.saturating_sub(self.now)));
        let wait = if wait.is_zero() { SOON } else { wait };
        self.sent_at.saturating_add(wait).min(self.safe)
    }
}

impl Drop for Looked {
    fn drop(&mut self) {
        if self.len() == 0 {
            return;
        }
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
