//! Turns to commit.

use std::sync::Arc;
use std::time::Duration;

use abide_model::PruneResult;
use abide_provider::{AppendConflict, Committed, Rejection, StoreError, transfer_time};
use tokio_postgres::Row;

use super::batch::{Answers, Batched, Key, Waiting, patience_of};
use super::connection::{Connection, Params};
use crate::encode::{EncodedTurn, millis, needs_instance, number};
use crate::error::CallError;
use crate::hatch::{Handed, Promise, quarter_of_lease};
use crate::lease::Looked;
use crate::news::News;
use crate::rows::{NewTurn, OfTurn, Outline, WorkOffer};
use crate::shared::Shared;
use crate::statements::Sql;
use crate::text::unspell;
use crate::token::WorkToken;

/// A turn, and the instance that those who look at it know.
#[derive(Debug)]
pub(crate) struct Commit(pub(crate) EncodedTurn);

/// A turn that is written.
#[derive(Debug)]
pub(crate) struct Written {
    committed: Committed,
    next: Option<NextTurn>,
}

/// The lease on the next turn, until somebody has it.
#[derive(Debug)]
struct NextTurn {
    leased: Looked,
    /// What lies for longer goes back: it is renewed only once somebody has it.
    collected_within: Duration,
}

impl Written {
    /// To be called in the poll that hands it to the caller.
    pub(crate) fn hand_over(self) -> Committed {
        let next = self.next.filter(|next| next.leased.age() <= next.collected_within);
        self.committed.with_next(next.and_then(|next| next.leased.into_lease()))
    }
}

impl Batched for Commit {
    type Answer = Written;

    const MOST: usize = 128;

    fn key(&self) -> Key {
        self.0.turn.mailbox.map_or(Key::Alone, Key::Number)
    }

    fn minds(&self) -> Option<&str> {
        // A fused step is busy if there is mail.
        self.0.turn.instance.as_deref().filter(|_| self.0.turn.work.is_some())
    }

    fn touches(&self) -> impl Iterator<Item = &str> {
        let EncodedTurn { messages, revoked, .. } = &self.0;
        let recipients = messages.iter().map(|message| message.recipient.as_str());
        recipients.chain(revoked.iter().map(|activity| activity.instance.as_str()))
    }

    fn bytes(&self) -> usize {
        self.0.bytes()
    }

    async fn call(
        connection: &Connection<'_>,
        shared: &Arc<Shared>,
        batch: &mut [Waiting<Self>],
    ) -> Result<Answers<Written>, CallError> {
        for (turn, waiting) in (1..).zip(batch.iter_mut()) {
            waiting.what.0.set_turn(turn);
        }
        let (for_work, work_offer) = offer_of_work(shared, batch);
        let turns: Vec<_> = batch.iter().map(|waiting| &waiting.what.0.turn).collect();
        let work: Vec<_> = batch.iter().flat_map(|waiting| &waiting.what.0.work).collect();
        let revoked: Vec<_> = batch.iter().flat_map(|waiting| &waiting.what.0.revoked).collect();
        let messages: Vec<_> = batch.iter().flat_map(|waiting| &waiting.what.0.messages).collect();
        let for_instances = Promise::of_instances(shared, turns.len().saturating_add(messages.len()));
        let instance_offer = for_instances.as_ref().and_then(Promise::instance_offer);
        let patience = patience_of(batch);
        let sent_at = shared.settings.clock.monotonic();
        let row = match &*batch {
            [one] if one.what.0.concerns_only_itself() => {
                let turn = &one.what.0.turn;
                let params: Params<'_> =
                    &[turn, &work, &messages, &shared.node, &instance_offer, &work_offer];
                connection.row_within(patience, Sql::CommitOne, params).await?
            }
            _ => {
                let outline = Outline::of(batch, shared.node);
                let params: Params<'_> =
                    &[&turns, &work, &revoked, &messages, &outline, &instance_offer, &work_offer];
                connection.row_within(patience, Sql::CommitTurns, params).await?
            }
        };
        let mut leased = Looked::of_handed_instances(&row, sent_at, shared)?;
        let next = next_turns(batch, for_instances.as_ref(), &mut leased);
        let mut handed = Handed::default();
        handed.add(for_instances, leased);
        handed.add(for_work, Looked::of_handed_work(&row, sent_at, shared)?);
        if let Some(last) = row.try_get("last_work")? {
            shared.horizon.made(last, shared.settings.clock.monotonic());
        }
        let answer = Answer::of(&row)?;
        for (waiting, outcome) in batch.iter().zip(&answer.outcomes) {
            if let ("ok", Some(work)) = (outcome.as_str(), waiting.what.0.work_token()) {
                shared.forget_lease(work);
            }
        }
        let mut news = News::of_instances(row.try_get("wakes")?, row.try_get("due_at")?);
        news.set_work(row.try_get("routes")?);
        news.set_stolen(
            &row.try_get::<_, Vec<String>>("stolen")?,
            &row.try_get::<_, Vec<String>>("because")?,
        );
        let before = batch.iter().zip(answer.was()).zip(&answer.instances);
        let changed =
            before.filter(|((waiting, was), _)| waiting.what.is_seen(*was)).filter_map(|(_, id)| id.clone());
        news.set_changed(changed.map(unspell));
        let told = batch.iter().zip(&answer.outcomes).zip(answer.instances.iter().zip(answer.pruned()));
        let judge = |(((waiting, outcome), (instance, pruned)), next)| {
            let (outcome, instance): (&String, &Option<String>) = (outcome, instance);
            judged(waiting, outcome, instance.as_deref(), pruned).map(|committed| Written { committed, next })
        };
        Ok(Answers { each: told.zip(next).map(judge).collect(), handed, news })
    }
}

/// For each turn the lease on the next one of its instance, if that was leased under the terms under which its caller would take it: he
/// can go on at once, and whoever waits for instances need not be woken for it.
fn next_turns(
    batch: &[Waiting<Commit>],
    promise: Option<&Promise>,
    leased: &mut Looked,
) -> Vec<Option<NextTurn>> {
    let mut next_turn = |EncodedTurn { turn, next, .. }: &EncodedTurn| {
        let terms = next.as_ref()?;
        let promise = promise.filter(|promise| promise.is_under(terms))?;
        let leased = leased.take_mailbox(turn.mailbox?)?;
        promise.announce_end_of(&leased);
        Some(NextTurn { leased, collected_within: quarter_of_lease(terms) })
    };
    batch.iter().map(|waiting| next_turn(&waiting.what.0)).collect()
}

/// What those who wait for work would take of what these turns make: that has ranks then.
fn offer_of_work(
    shared: &Arc<Shared>,
    batch: &mut [Waiting<Commit>],
) -> (Option<Promise>, Option<WorkOffer>) {
    let made: Vec<_> = batch.iter_mut().flat_map(|waiting| &mut waiting.what.0.work).collect();
    let promise = Promise::of_work(shared, &made);
    let mut offer = promise.as_ref().and_then(Promise::work_offer);
    if let Some(offer) = &mut offer {
        // As abide.lasting does it for what was there before.
        let bytes = made.iter().map(|work| work.item.len()).fold(0, usize::saturating_add);
        offer.lease_ms = offer.lease_ms.max(millis(transfer_time(bytes).saturating_mul(2)));
    }
    let mut ranks = 1..;
    for work in made {
        let is_wanted = promise.as_ref().is_some_and(|promise| promise.takes(work));
        work.rank = if is_wanted { ranks.next() } else { None };
    }
    (promise, offer)
}

impl EncodedTurn {
    /// The lease on an activity that a fused step uses up.
    fn work_token(&self) -> Option<WorkToken> {
        let NewTurn { work, mailbox, nonce, .. } = &self.turn;
        Some(WorkToken { no: (*work)?, mailbox: (*mailbox)?, nonce: (*nonce)? })
    }

    /// Whether its own rows are all that is to be locked, so that nobody has to be found by a name.
    fn concerns_only_itself(&self) -> bool {
        let own = self.turn.instance.as_ref();
        let is_leased = self.turn.mailbox.is_some();
        let takes_back = !self.revoked.is_empty() || self.turn.keeps.is_some();
        let is_own_work = self.work.iter().all(|work| work.instance.is_none());
        let is_own_mail = self.messages.iter().all(|message| own == Some(&message.recipient));
        is_leased && !takes_back && is_own_work && is_own_mail
    }

    fn set_turn(&mut self, turn: i32) {
        self.turn.set_turn(turn);
        self.work.iter_mut().for_each(|row| row.set_turn(turn));
        self.revoked.iter_mut().for_each(|row| row.set_turn(turn));
        self.messages.iter_mut().for_each(|row| row.set_turn(turn));
    }
}

impl Outline {
    fn of(batch: &[Waiting<Commit>], node: i64) -> Self {
        let mut outline = Self { node, ..Self::default() };
        for waiting in batch {
            outline.add(&waiting.what.0);
        }
        outline
    }

    fn add(&mut self, encoded: &EncodedTurn) {
        let EncodedTurn { turn, .. } = encoded;
        self.mailboxes.push(turn.mailbox);
        self.work.extend(turn.work);
        self.names |= turn.mailbox.is_none();
        self.consumes_some |= !turn.consumed.is_empty();
        self.prunes |= turn.keeps.is_some();
        self.writes_kv |= turn.clears_kv || turn.folds_kv || !turn.changes.is_empty();
        self.timers |= turn.ends_timers || !turn.timers.is_empty();
        self.add_names(encoded);
    }

    /// Whoever tells himself something is known by his turn.
    fn add_names(&mut self, EncodedTurn { turn, work, messages, .. }: &EncodedTurn) {
        let own = turn.instance.as_ref();
        if turn.mailbox.is_none() {
            self.required.extend(own.cloned());
        }
        self.required.extend(work.iter().filter_map(|work| work.instance.clone()));
        for message in
            messages.iter().filter(|message| turn.mailbox.is_none() || own != Some(&message.recipient))
        {
            let names = if needs_instance(message.class) { &mut self.optional } else { &mut self.required };
            names.push(message.recipient.clone());
        }
    }
}

impl Commit {
    /// Whether those who look at the instance may find it changed.
    fn is_seen(&self, was: Was) -> bool {
        match was {
            Was::Refused => false,
            Was::Running => self.0.shows_something,
            Was::NotRunning => true,
        }
    }
}

/// How an instance stood before its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Was {
    /// It still does: the turn was refused.
    Refused,
    /// Also if it was about to continue as new.
    Running,
    /// It was none, or it had ended.
    NotRunning,
}

struct Answer {
    outcomes: Vec<String>,
    instances: Vec<Option<String>>,
    was_running: Vec<bool>,
    executions: Vec<i64>,
    events: Vec<i64>,
}

impl Answer {
    fn of(row: &Row) -> Result<Self, CallError> {
        Ok(Self {
            outcomes: row.try_get("outcomes")?,
            instances: row.try_get("instances")?,
            was_running: row.try_get("was_running")?,
            executions: row.try_get("pruned_executions")?,
            events: row.try_get("pruned_events")?,
        })
    }

    fn was(&self) -> impl Iterator<Item = Was> {
        self.outcomes.iter().zip(&self.was_running).map(|(outcome, was_running)| {
            match (outcome.as_str(), was_running) {
                ("ok", true) => Was::Running,
                ("ok", false) => Was::NotRunning,
                _ => Was::Refused,
            }
        })
    }

    fn pruned(&self) -> impl Iterator<Item = PruneResult> {
        self.executions.iter().zip(&self.events).map(|(executions, events)| PruneResult {
            instances_processed: 1,
            executions_deleted: number(*executions),
            events_deleted: number(*events),
        })
    }
}

fn judged(
    waiting: &Waiting<Commit>,
    outcome: &str,
    instance: Option<&str>,
    pruned: PruneResult,
) -> Result<Committed, StoreError> {
    let operation = waiting.operation;
    let instance = instance.map(|id| unspell(id.to_owned())).unwrap_or_default();
    let turn = &waiting.what.0.turn;
    let rejected = |rejection, message: String| Err(StoreError::rejected(operation, rejection, message));
    let conflict = |conflict: AppendConflict| {
        rejected(Rejection::Conflict, format!("{conflict} (instance '{instance}')"))
    };
    let (word, there) = outcome.split_once(' ').unwrap_or((outcome, ""));
    let there: u64 = there.parse().unwrap_or_default();
    let execution_id = number(turn.execution);
    match word {
        "ok" => Ok(Committed::with_pruned(turn.keeps.map(|_| pruned))),
        "lost" => Err(StoreError::lease_lost(operation)),
        "invalid" => {
            let meant = turn.instance.clone().map(unspell).unwrap_or_default();
            let message =
                format!("the lease is on instance '{instance}', and the turn belongs to instance '{meant}'");
            rejected(Rejection::Invalid, message)
        }
        "over" => conflict(AppendConflict::Over { execution_id, current: there }),
        "taken" => {
            let event_id = turn.first_event.map_or(0, number);
            conflict(AppendConflict::Recorded { execution_id, event_id, last: there })
        }
        busy => rejected(Rejection::Busy, why_busy(busy).to_owned()),
    }
}

/// Why a fused step must go the plain way.
fn why_busy(word: &str) -> &'static str {
    match word {
        "leased" => "the instance is leased: finish the activity, its turn will take it in",
        "moved" => "the instance has moved on: finish the activity, and read what is new",
        _ => "the instance has mail: finish the activity, and take both in",
    }
}
