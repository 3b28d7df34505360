//! A turn as rows, before it meets the server.
//!
//! Encoding happens on the caller's thread: one thread drives all connections, and should only send and receive.

use std::time::Duration;

use abide_model::{Timestamp, WorkItem};
use abide_provider::rows::{CustomStatus, MessageClass, MessageRow, Starter, TimerRows, WorkRow};
use abide_provider::{Authority, CommitRows, Consumed, Operation, Rejection, StolenBecause, StoreError};

use crate::routes::refused_column;
use crate::rows::{NewMessage, NewTurn, NewValue, NewWork, RevokedWork};
use crate::terms::Terms;
use crate::text::{spelt, tag_column};
use crate::token::{MailboxToken, WorkToken};

/// A turn, ready to be written.
#[derive(Debug, Default)]
pub(crate) struct EncodedTurn {
    pub(crate) turn: NewTurn,
    pub(crate) work: Vec<NewWork>,
    pub(crate) revoked: Vec<RevokedWork>,
    pub(crate) messages: Vec<NewMessage>,
    /// Whether those who look at the instance may find it changed, even if it was running before.
    pub(crate) shows_something: bool,
    /// Under which terms its caller would take the next turn at once.
    pub(crate) next: Option<Terms>,
}

/// By what right a turn is written.
#[derive(Debug)]
pub(crate) enum Right {
    /// What the contract says.
    Authority(Authority, Consumed),
    /// None is needed: to give an instance a past.
    None,
}

impl EncodedTurn {
    /// How much it carries, of what has no bound.
    pub(crate) fn bytes(&self) -> usize {
        let NewTurn { events, output, custom_status, waiting, .. } = &self.turn;
        let texts = [events, output, custom_status, waiting].into_iter().flatten().map(String::len);
        let items = self.work.iter().map(|work| work.item.len());
        let items = items.chain(self.messages.iter().map(|message| message.item.len()));
        texts
            .chain(items)
            .chain(self.turn.changes.iter().map(|value| value.value.as_ref().map_or(0, String::len)))
            .sum()
    }

    pub(crate) fn of(
        instance: Option<&str>,
        right: Right,
        rows: CommitRows,
        operation: Operation,
    ) -> Result<Self, StoreError> {
        let mut encoded = Self { shows_something: rows.shows_something_of_running(), ..Self::default() };
        encoded.set_rows(&rows, operation)?;
        encoded.turn.instance = instance.map(spelt);
        encoded.check(operation)?;
        encoded.set_right(right, operation)?;
        for row in rows.work {
            let mut work = NewWork::of(&row, operation)?;
            // Its mailbox is known by the token, and need not be looked for.
            work.instance = work.instance.filter(|named| encoded.turn.instance.as_ref() != Some(named));
            encoded.work.push(work);
        }
        for row in rows.messages {
            encoded.messages.push(NewMessage::of(&row, operation)?);
        }
        Ok(encoded)
    }

    fn set_right(&mut self, right: Right, operation: Operation) -> Result<(), StoreError> {
        let lost = || StoreError::lease_lost(operation);
        let Right::Authority(authority, consumed) = right else {
            self.turn.authority = "none";
            self.turn.consumes_all = true;
            return Ok(());
        };
        match authority {
            Authority::Lease { token } => {
                let token = MailboxToken::parse(&token).ok_or_else(lost)?;
                self.turn.authority = "lease";
                (self.turn.mailbox, self.turn.nonce) = (Some(token.mailbox), Some(token.nonce));
            }
            Authority::FinishedWork { token, expected } => {
                let token = WorkToken::parse(&token).ok_or_else(lost)?;
                self.turn.authority = "work";
                (self.turn.mailbox, self.turn.nonce) = (Some(token.mailbox), Some(token.nonce));
                self.turn.work = Some(token.no);
                self.turn.expected_mailbox = Some(column(expected.incarnation));
                self.turn.expected_execution = Some(column(expected.execution_id));
                self.turn.expected_event = Some(column(expected.last_event_id));
            }
        }
        match consumed {
            Consumed::All => self.turn.consumes_all = true,
            Consumed::These(these) => {
                self.turn.consumed = these.iter().map(|id| column(id.0)).collect();
            }
        }
        Ok(())
    }

    fn set_rows(&mut self, rows: &CommitRows, operation: Operation) -> Result<(), StoreError> {
        let turn = &mut self.turn;
        turn.creates = rows.creates_instance();
        turn.execution = column(rows.execution_id);
        if let (Some(first), Some(last)) = (rows.history.first(), rows.history.last()) {
            turn.first_event = Some(column(first.event_id));
            turn.last_event = Some(column(last.event_id));
            turn.length = Some(i64::try_from(rows.history.len()).unwrap_or(i64::MAX));
            turn.events = Some(json(operation, &rows.history)?);
        }
        let instance = &rows.instance;
        turn.name = instance.name.as_deref().map(spelt);
        turn.version = instance.version.as_deref().map(spelt);
        if let Some(parent) = &instance.parent {
            turn.parent = Some(spelt(&parent.instance));
            turn.parent_execution = parent.execution_id.map(column);
            turn.parent_event = parent.event_id.map(column);
        }
        turn.pin = instance.pin.as_ref().map(ToString::to_string);
        turn.status = instance.status.map(abide_model::ExecutionStatus::as_str);
        turn.output = instance.output.as_deref().map(spelt);
        turn.waiting = instance.waiting.as_deref().map(spelt);
        turn.still_refused = rows.still_refused.as_ref().map(refused_column);
        turn.sets_custom_status = instance.custom_status.is_some();
        let custom_status = instance.custom_status.clone().and_then(CustomStatus::into_value);
        turn.custom_status = custom_status.as_deref().map(spelt);
        (turn.clears_kv, turn.folds_kv) = (rows.kv.clear_all, rows.kv.fold);
        match &rows.timers {
            TimerRows::All => turn.ends_timers = true,
            TimerRows::These(events) => {
                turn.timers = events.iter().map(|event| column(*event)).collect();
            }
        }
        turn.keeps = rows.prune.as_ref().map(|options| i64::from(options.kept()));
        turn.ended_before = rows.prune.as_ref().and_then(|options| options.completed_before).map(column);
        turn.changes = rows.kv.changes.iter().map(|(key, entry)| value(key, entry.as_ref())).collect();
        self.revoked = rows.revoked.iter().map(|(activity, because)| revoked(activity, because)).collect();
        Ok(())
    }

    /// What is indexed must fit an index.
    fn check(&self, operation: Operation) -> Result<(), StoreError> {
        let turn = &self.turn;
        for (what, text) in [
            ("the id of an instance", &turn.instance),
            ("the name of an orchestration", &turn.name),
            ("the id of a parent", &turn.parent),
        ] {
            fits(operation, what, text.as_deref(), LONGEST_NAME)?;
        }
        turn.changes.iter().try_for_each(|value| fits(operation, "a key", Some(&value.key), LONGEST_NAME))
    }
}

/// The longest name, in bytes: an index holds no row of more than a third of a page.
const LONGEST_NAME: usize = 2_000;

/// The same of sessions, tags and owners, of which an index holds two.
const LONGEST_LABEL: usize = 1_000;

fn fits(operation: Operation, what: &str, text: Option<&str>, longest: usize) -> Result<(), StoreError> {
    let length = text.map_or(0, str::len);
    if length <= longest {
        return Ok(());
    }
    let message = format!("{what} has {length} bytes, and PostgreSQL indexes at most {longest}");
    Err(StoreError::rejected(operation, Rejection::Invalid, message))
}

/// The id of an instance as a column holds it.
pub(crate) fn id_column(operation: Operation, instance: &str) -> Result<String, StoreError> {
    let id = spelt(instance);
    fits(operation, "the id of an instance", Some(&id), LONGEST_NAME)?;
    Ok(id)
}

/// Somebody who owns sessions, as a column holds them.
pub(crate) fn owner_column(operation: Operation, owner: &str) -> Result<String, StoreError> {
    let owner = spelt(owner);
    fits(operation, "the owner of a session", Some(&owner), LONGEST_LABEL)?;
    Ok(owner)
}

impl NewMessage {
    pub(crate) fn of(row: &MessageRow, operation: Operation) -> Result<Self, StoreError> {
        let (class, mut execution, mut event) = class_columns(row.class);
        let link = row.parent_link();
        if let Some(link) = &link {
            (execution, event) = (link.execution_id.map(column), link.event_id.map(column));
        }
        let parent = link.map(|link| spelt(&link.instance));
        fits(operation, "the id of a parent", parent.as_deref(), LONGEST_NAME)?;
        let starter = Starter::of(&row.item);
        let orchestration = starter.as_ref().map(|starter| spelt(&starter.orchestration_name));
        let version = starter.as_ref().map(|starter| spelt(&starter.orchestration_version));
        Ok(Self {
            turn: 0,
            item: json(operation, &row.item)?,
            recipient: id_column(operation, &row.to)?,
            class,
            visible_at: row.visible_at.map(|time| column(time.as_millis())),
            execution,
            event,
            parent,
            orchestration,
            version,
        })
    }
}

impl NewWork {
    pub(crate) fn of(row: &WorkRow, operation: Operation) -> Result<Self, StoreError> {
        let session = row.session.as_deref().map(spelt);
        let tag = tag_column(row.tag.as_deref());
        fits(operation, "the name of a session", session.as_deref(), LONGEST_LABEL)?;
        fits(operation, "a tag", Some(&tag), LONGEST_LABEL)?;
        Ok(Self {
            turn: 0,
            item: json(operation, &row.item)?,
            instance: Some(id_column(operation, &row.activity.instance)?),
            execution: column(row.activity.execution_id),
            activity: column(row.activity.activity_id),
            session,
            tag,
            rank: None,
            name: activity_name(&row.item).map(spelt),
            first_try: row.retry.map(|step| column(step.first_event_id)),
            try_no: row.retry.map(|step| i32::try_from(step.number).unwrap_or(i32::MAX)),
        })
    }
}

/// The name of an activity to run.
fn activity_name(item: &WorkItem) -> Option<&str> {
    if let WorkItem::ActivityExecute { name, .. } = item { Some(name) } else { None }
}

fn value(key: &str, entry: Option<&abide_model::KvEntry>) -> NewValue {
    NewValue {
        key: spelt(key),
        value: entry.map(|entry| spelt(&entry.value)),
        updated_at: entry.map_or(0, |entry| column(entry.last_updated_at_ms)),
    }
}

fn revoked(activity: &abide_model::ScheduledActivityIdentifier, because: &StolenBecause) -> RevokedWork {
    RevokedWork {
        turn: 0,
        instance: spelt(&activity.instance),
        execution: column(activity.execution_id),
        activity: column(activity.activity_id),
        because: because_column(because),
    }
}

/// The class of messages that start an instance.
pub(crate) const START: i16 = 1;

/// The class of a cancel.
pub(crate) const CANCEL: i16 = 5;

const QUEUE_MESSAGE: i16 = 3;
const TIMER: i16 = 4;
const ANSWER: i16 = 6;

/// Whether messages of this class are dropped if there is no such instance and none is about to start.
pub(crate) const fn needs_instance(class: i16) -> bool {
    matches!(class, QUEUE_MESSAGE | TIMER | ANSWER)
}

fn class_columns(class: MessageClass) -> (i16, Option<i64>, Option<i64>) {
    match class {
        MessageClass::Other => (0, None, None),
        MessageClass::Cancel => (CANCEL, None, None),
        MessageClass::Start => (START, None, None),
        MessageClass::ContinueAsNew => (2, None, None),
        MessageClass::Queue => (QUEUE_MESSAGE, None, None),
        MessageClass::Answer => (ANSWER, None, None),
        MessageClass::Timer { execution_id, event_id } => {
            (TIMER, Some(column(execution_id)), Some(column(event_id)))
        }
    }
}

/// Why a lease was taken away, as calls and notices say it.
pub(crate) fn because_column(because: &StolenBecause) -> String {
    match because {
        StolenBecause::Dropped => "dropped".to_owned(),
        StolenBecause::OrchestrationEnded { status } => format!("ended {status}"),
        StolenBecause::InstanceDeleted => "deleted".to_owned(),
        StolenBecause::Unknown | _ => "unknown".to_owned(),
    }
}

/// The same, read. What a newer node says may not be known here.
pub(crate) fn because_of(text: &str) -> StolenBecause {
    match text {
        "dropped" => StolenBecause::Dropped,
        "deleted" => StolenBecause::InstanceDeleted,
        other => match other.strip_prefix("ended ").and_then(|status| status.parse().ok()) {
            Some(status) => StolenBecause::OrchestrationEnded { status },
            None => StolenBecause::Unknown,
        },
    }
}

/// A number as a column holds it. Ids are checked to fit before they come here; others stop at the end of the range.
pub(crate) fn column(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A column as a number.
pub(crate) fn number(column: i64) -> u64 {
    u64::try_from(column).unwrap_or(0)
}

/// A duration as a column holds it: milliseconds, never shorter.
pub(crate) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(i64::MAX)
}

/// A delay as a column holds it: none is none at all.
pub(crate) fn delay(delay: Option<Duration>) -> Option<i64> {
    delay.filter(|delay| !delay.is_zero()).map(millis)
}

/// A column as a time.
pub(crate) fn time(column: i64) -> Timestamp {
    Timestamp::from_millis(number(column))
}

pub(crate) fn json<T: serde::Serialize>(operation: Operation, value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value)
        .map_err(|error| StoreError::rejected(operation, Rejection::Invalid, error.to_string()))
}
