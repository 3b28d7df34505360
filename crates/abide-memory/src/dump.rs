//! Everything a store holds, in a form that two stores can be compared in.
//!
//! Only plain values, and nothing that two equal stores may differ in: no tokens, no owners of leases, no time that has
//! come. What the clock has decided counts as done, whether or not the store has got round to it:
//!
//! - a lease that ran out is none, and what it handed out has one more attempt if the lease counts;
//! - a message or work whose time has come is visible;
//! - mail that has waited for a start for too long is not there;
//! - mail that became visible has started the clock of builds that may try again, and that time has come if it has;
//! - a name that is no instance and holds nothing is not there;
//! - a request key older than an hour is forgotten.

use std::collections::BTreeMap;

use abide_model::{KvEntry, StepTry, Timestamp};
use abide_provider::Refusals;
use abide_provider::rows::MessageClass;

use crate::mail;
use crate::state::{Execution, Instance, Lease, Mailbox, Message, Refused, State, Work};

/// What a store holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dump {
    /// By name: what is an instance, or holds mail or work.
    pub instances: BTreeMap<String, InstanceDump>,
    /// By instance and number.
    pub executions: BTreeMap<(String, u64), ExecutionDump>,
    /// By number.
    pub messages: BTreeMap<u64, MessageDump>,
    /// By number.
    pub work: BTreeMap<u64, WorkDump>,
    /// By name.
    pub sessions: BTreeMap<String, SessionDump>,
    /// Values that finished executions left, by instance and key: the value and when it was written.
    pub kv_store: BTreeMap<(String, String), (String, u64)>,
    /// Changes by the current execution, by instance and key; `None` is a tombstone.
    pub kv_delta: BTreeMap<(String, String), Option<(String, u64)>>,
    /// Request keys in hexadecimal, and when they were seen.
    pub request_keys: BTreeMap<String, u64>,
    /// How many rows could not be read and were put aside.
    pub dead_letters: usize,
}

/// A mailbox, and the instance it may be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstanceDump {
    /// Which mailbox of this name.
    pub incarnation: u64,
    /// Whether it is an instance. If not, everything up to `updated` has its default.
    pub is_instance: bool,
    /// The registered name of its orchestration.
    pub name: String,
    /// The version of its handler.
    pub version: String,
    /// Instance, execution and event that wait for its result.
    pub parent: Option<(String, Option<u64>, Option<u64>)>,
    /// The current execution; zero if there is none.
    pub execution: u64,
    /// The last event of the current execution; zero if there is none.
    pub last_event_id: u64,
    /// How the current execution stands.
    pub status: Option<String>,
    /// The version that the current execution is pinned to.
    pub pin: Option<String>,
    /// What the code says about its progress.
    pub custom_status: Option<String>,
    /// How often it said something.
    pub custom_status_version: u64,
    /// What it waits for.
    pub waiting: Option<String>,
    /// When it was created, in milliseconds since the epoch.
    pub created: u64,
    /// When it was last committed, in milliseconds since the epoch.
    pub updated: u64,
    /// When its lease ends, in milliseconds since the epoch.
    pub leased_until: Option<u64>,
    /// The numbers of the messages that the lease handed out and that are still there, ascending.
    pub batch: Vec<u64>,
    /// The builds that refused its execution, ascending; `*` alone is all of them.
    pub refused_by: Vec<String>,
    /// Whether those builds may try again.
    pub is_open: bool,
    /// When they may, in milliseconds since the epoch, if that time has not come.
    pub retry_at: Option<u64>,
    /// The kind and the build of its block.
    pub block: Option<(String, String)>,
}

/// One execution.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExecutionDump {
    /// How it stands.
    pub status: String,
    /// Its output, its error, or its successor's input.
    pub output: Option<String>,
    /// The version that it is pinned to.
    pub pin: Option<String>,
    /// When it began, in milliseconds since the epoch.
    pub started: u64,
    /// When it ended, in milliseconds since the epoch.
    pub completed: Option<u64>,
    /// The ids of its events, ascending.
    pub event_ids: Vec<u64>,
    /// Its events as JSON.
    pub events: Vec<String>,
}

/// One message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MessageDump {
    /// Whose it is.
    pub mailbox: String,
    /// `Start`, `ContinueAsNew`, `Queue`, `Timer`, `Cancel` or `Other`; see [`class_text`].
    pub class: String,
    /// When it can be seen, in milliseconds since the epoch; `None` is now.
    pub visible_at: Option<u64>,
    /// How often it was leased to no avail.
    pub attempts: u32,
    /// When it is gone, in milliseconds since the epoch, if it waits for a start.
    pub expires_at: Option<u64>,
    /// The message as JSON.
    pub json: String,
}

/// One activity.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkDump {
    /// Who asked for it.
    pub instance: String,
    /// In which execution.
    pub execution: u64,
    /// By which event.
    pub activity: u64,
    /// Which try of its step it is, and by which event the first was scheduled.
    pub step: Option<StepTry>,
    /// Its session.
    pub session: Option<String>,
    /// Its tag.
    pub tag: Option<String>,
    /// When it can be seen, in milliseconds since the epoch; `None` is now.
    pub visible_at: Option<u64>,
    /// How often it was leased.
    pub attempts: u32,
    /// When its lease ends, in milliseconds since the epoch.
    pub leased_until: Option<u64>,
    /// Whether it is quarantined.
    pub is_held: bool,
    /// The item as JSON.
    pub json: String,
}

/// One session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionDump {
    /// Whose it is, or was.
    pub owner: String,
    /// Until when, in milliseconds since the epoch.
    pub locked_until: u64,
    /// When it was last active, in milliseconds since the epoch.
    pub last_activity: u64,
}

impl Dump {
    /// What this state holds at `now`.
    #[must_use]
    pub fn of(state: &State, now: Timestamp) -> Self {
        let mut dump = Self { dead_letters: state.dead_letters.len(), ..Self::default() };
        for (name, mailbox) in &state.mailboxes {
            dump.add_mailbox(state, name, mailbox, now);
        }
        let messages = state.messages.iter();
        dump.messages = messages.map(|(number, message)| (*number, MessageDump::of(message, now))).collect();
        dump.work = state.work.iter().map(|(number, work)| (*number, WorkDump::of(work, now))).collect();
        for (name, session) in &state.sessions {
            let session = SessionDump {
                owner: session.owner.clone(),
                locked_until: session.locked_until.as_millis(),
                last_activity: session.last_activity.as_millis(),
            };
            dump.sessions.insert(name.clone(), session);
        }
        let remembered = state.requests.iter().filter(|(_, seen)| mail::is_remembered(**seen, now));
        dump.request_keys = remembered
            .map(|(key, seen)| (format!("{:032x}", u128::from_be_bytes(key.0)), seen.as_millis()))
            .collect();
        dump.count_attempts_of_void_leases(state, now);
        dump.forget_gone_mail();
        dump
    }

    fn add_mailbox(&mut self, state: &State, name: &str, mailbox: &Mailbox, now: Timestamp) {
        let is_empty = state.mail_of(name).next().is_none()
            && !state.work.values().any(|work| work.activity.instance == name);
        if mailbox.instance.is_none() && is_empty {
            return;
        }
        let mut dump = InstanceDump::of(mailbox, now);
        if let Some(mut refused) = mailbox.refused.clone() {
            if let Some(since) = state.unseen_since(name, now) {
                refused.start_clock(since);
            }
            dump = dump.with_refused(&refused, now);
        }
        self.instances.insert(name.to_owned(), dump);
        for (id, execution) in mailbox.instance.iter().flat_map(|instance| &instance.executions) {
            self.executions.insert((name.to_owned(), *id), ExecutionDump::of(execution));
        }
        for (key, entry) in &mailbox.kv_store {
            self.kv_store.insert((name.to_owned(), key.clone()), plain(entry));
        }
        for (key, change) in &mailbox.kv_delta {
            self.kv_delta.insert((name.to_owned(), key.clone()), change.as_ref().map(plain));
        }
    }

    /// What a lease handed out and is gone since, because its sender was deleted, is not there any more: not every store remembers it.
    pub fn forget_gone_mail(&mut self) {
        for instance in self.instances.values_mut() {
            instance.batch.retain(|number| self.messages.contains_key(number));
        }
    }

    fn count_attempts_of_void_leases(&mut self, state: &State, now: Timestamp) {
        let holds = state.mailboxes.values().filter_map(|mailbox| mailbox.hold.as_ref());
        for number in
            holds.filter(|hold| hold.lease.counts && !hold.lease.is_valid(now)).flat_map(|hold| &hold.batch)
        {
            if let Some(message) = self.messages.get_mut(number) {
                message.attempts = message.attempts.saturating_add(1);
            }
        }
    }
}

impl InstanceDump {
    fn of(mailbox: &Mailbox, now: Timestamp) -> Self {
        let held = mailbox.hold.as_ref().filter(|hold| hold.lease.is_valid(now));
        let mut batch = held.map(|hold| hold.batch.clone()).unwrap_or_default();
        batch.sort_unstable();
        let dump = Self {
            incarnation: mailbox.incarnation,
            leased_until: held.map(|hold| hold.lease.until.as_millis()),
            batch,
            ..Self::default()
        };
        mailbox.instance.as_ref().map(|instance| dump.clone().with_instance(instance)).unwrap_or(dump)
    }

    fn with_refused(self, refused: &Refused, now: Timestamp) -> Self {
        let refused_by = match &refused.by {
            Refusals::Builds(builds) => builds.iter().cloned().collect(),
            Refusals::All => vec!["*".to_owned()],
        };
        let block = refused.block.as_ref();
        Self {
            refused_by,
            is_open: refused.is_open || refused.retry_at.is_some_and(|time| time <= now),
            retry_at: still_to_come(refused.retry_at, now),
            block: block.map(|block| (block.kind.to_string(), block.build.clone())),
            ..self
        }
    }

    fn with_instance(self, instance: &Instance) -> Self {
        let current = instance.current_execution();
        let parent = instance.parent.as_ref();
        Self {
            is_instance: true,
            name: instance.name.clone(),
            version: instance.version.clone(),
            parent: parent.map(|link| (link.instance.clone(), link.execution_id, link.event_id)),
            execution: instance.current,
            last_event_id: instance.last_event_id(instance.current),
            status: current.map(|execution| execution.status.to_string()),
            pin: current.and_then(|execution| execution.pin.as_ref()).map(ToString::to_string),
            custom_status: instance.custom_status.clone(),
            waiting: instance.waiting.clone(),
            custom_status_version: instance.custom_status_version,
            created: instance.created.as_millis(),
            updated: instance.updated.as_millis(),
            ..self
        }
    }
}

impl ExecutionDump {
    fn of(execution: &Execution) -> Self {
        Self {
            status: execution.status.to_string(),
            output: execution.output.clone(),
            pin: execution.pin.as_ref().map(ToString::to_string),
            started: execution.started.as_millis(),
            completed: execution.completed.map(Timestamp::as_millis),
            event_ids: execution.events.keys().copied().collect(),
            events: execution.events.values().map(crate::stored::Stored::text).collect(),
        }
    }
}

impl MessageDump {
    fn of(message: &Message, now: Timestamp) -> Self {
        Self {
            mailbox: message.mailbox.clone(),
            class: class_text(message.class).to_owned(),
            visible_at: still_to_come(message.visible_at, now),
            attempts: message.attempts,
            expires_at: message.expires_at.map(Timestamp::as_millis),
            json: message.item.text(),
        }
    }
}

impl WorkDump {
    fn of(work: &Work, now: Timestamp) -> Self {
        let lease = work.lease.as_ref().filter(|lease: &&Lease| lease.is_valid(now));
        Self {
            instance: work.activity.instance.clone(),
            execution: work.activity.execution_id,
            activity: work.activity.activity_id,
            step: Some(work.step),
            session: work.session.clone(),
            tag: work.tag.clone(),
            visible_at: still_to_come(work.visible_at, now),
            attempts: work.attempts,
            leased_until: lease.map(|lease| lease.until.as_millis()),
            is_held: work.held.is_some(),
            json: work.item.text(),
        }
    }
}

/// The name of a class, without what a timer says besides.
#[must_use]
pub const fn class_text(class: MessageClass) -> &'static str {
    match class {
        MessageClass::Start => "Start",
        MessageClass::ContinueAsNew => "ContinueAsNew",
        MessageClass::Queue => "Queue",
        MessageClass::Timer { .. } => "Timer",
        MessageClass::Cancel => "Cancel",
        MessageClass::Answer => "Answer",
        MessageClass::Other => "Other",
    }
}

fn still_to_come(visible_at: Option<Timestamp>, now: Timestamp) -> Option<u64> {
    visible_at.filter(|time| *time > now).map(Timestamp::as_millis)
}

fn plain(entry: &KvEntry) -> (String, u64) {
    (entry.value.clone(), entry.last_updated_at_ms)
}
