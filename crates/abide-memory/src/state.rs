//! Everything a store keeps.
//!
//! An instance is what a mailbox becomes when a turn is committed for it, so it is part of one. What can be computed
//! from an execution (its last event, whether its instance is pinned) is not kept a second time.
//!
//! Deliberately absent: the owner of a lease, which other stores keep to void the leases of dead processes. This
//! store dies with its only one.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use abide_model::{
    Entropy, Event, ExecutionStatus, KvEntry, ScheduledActivityIdentifier, StepTry, Timestamp, WorkItem,
};
use abide_provider::rows::MessageClass;
use abide_provider::{
    Block, Lane, Node, ParentLink, Refusals, RequestKey, Serving, StolenBecause, StolenLease, Suspicion,
};
use semver::Version;

use crate::stored::Stored;

/// The whole state of a store, at one moment.
///
/// Two of them are equal if nothing happened in between. [`Dump`](crate::Dump) is for comparing with another store.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct State {
    /// The last number given to a message or to work.
    pub(crate) last_number: u64,
    /// The last number given to a mailbox.
    pub(crate) last_incarnation: u64,
    pub(crate) mailboxes: BTreeMap<String, Mailbox>,
    pub(crate) messages: BTreeMap<u64, Message>,
    pub(crate) work: BTreeMap<u64, Work>,
    pub(crate) sessions: BTreeMap<String, Session>,
    pub(crate) requests: BTreeMap<RequestKey, Timestamp>,
    pub(crate) dead_letters: Vec<DeadLetter>,
    pub(crate) nodes: BTreeMap<String, Node>,
    /// Mailboxes whose mail waits for a start.
    pub(crate) waiting_for_start: BTreeSet<String>,
    pub(crate) news: News,
}

/// What an operation has to tell the outside. Taken away before the lock is released, so a state at rest has none.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct News {
    pub(crate) leasable: Leasable,
    pub(crate) stolen: Vec<StolenLease>,
    /// Instances that those who look at them may find changed.
    pub(crate) changed: BTreeSet<String>,
}

/// Whether something may have become leasable, now or earlier than those who wait have reckoned.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) enum Leasable {
    #[default]
    AsBefore,
    Perhaps,
}

/// What has a name: mail, perhaps an instance, perhaps a lease on it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mailbox {
    pub(crate) incarnation: u64,
    pub(crate) instance: Option<Instance>,
    pub(crate) hold: Option<Hold>,
    pub(crate) refused: Option<Refused>,
    pub(crate) kv_store: BTreeMap<String, KvEntry>,
    /// `None` is a tombstone.
    pub(crate) kv_delta: BTreeMap<String, Option<KvEntry>>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Instance {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) parent: Option<ParentLink>,
    /// From one.
    pub(crate) current: u64,
    pub(crate) executions: BTreeMap<u64, Execution>,
    pub(crate) custom_status: Option<String>,
    pub(crate) custom_status_version: u64,
    /// What the last turn said that it waits for.
    pub(crate) waiting: Option<String>,
    pub(crate) created: Timestamp,
    pub(crate) updated: Timestamp,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Execution {
    pub(crate) status: ExecutionStatus,
    pub(crate) output: Option<String>,
    pub(crate) pin: Option<Version>,
    pub(crate) started: Timestamp,
    pub(crate) completed: Option<Timestamp>,
    pub(crate) events: BTreeMap<u64, Stored<Event>>,
}

/// The builds that refused an execution, and what blocks it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Refused {
    pub(crate) execution: u64,
    pub(crate) by: Refusals,
    /// How long mail waits until a build that refused the execution may try again; `None` is never.
    pub(crate) retry_after: Option<Duration>,
    /// When that is, while mail waits.
    pub(crate) retry_at: Option<Timestamp>,
    /// That time has come: every build may try.
    pub(crate) is_open: bool,
    /// `None` if another build committed a turn since.
    pub(crate) block: Option<Block>,
}

/// A lease on an instance, with the numbers of the messages it handed out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Hold {
    pub(crate) lease: Lease,
    pub(crate) batch: Vec<u64>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Lease {
    pub(crate) token: String,
    pub(crate) until: Timestamp,
    /// Whether it is an attempt if it is lost. That of a suspect is none until its code runs.
    pub(crate) counts: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Message {
    pub(crate) mailbox: String,
    pub(crate) class: MessageClass,
    /// `None` is visible, whatever the clock says.
    pub(crate) visible_at: Option<Timestamp>,
    pub(crate) attempts: u32,
    /// When it is gone, while it waits for a start.
    pub(crate) expires_at: Option<Timestamp>,
    /// Of the start of a child: known even if the item cannot be read.
    pub(crate) parent: Option<ParentLink>,
    pub(crate) item: Stored<WorkItem>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Work {
    /// Its instance is the name of its mailbox.
    pub(crate) activity: ScheduledActivityIdentifier,
    pub(crate) step: StepTry,
    pub(crate) session: Option<String>,
    pub(crate) tag: Option<String>,
    /// `None` is visible, whatever the clock says.
    pub(crate) visible_at: Option<Timestamp>,
    pub(crate) attempts: u32,
    pub(crate) lease: Option<Lease>,
    /// Quarantined: not leased until an operator says so.
    pub(crate) held: Option<Block>,
    pub(crate) item: Stored<WorkItem>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Session {
    pub(crate) owner: String,
    pub(crate) locked_until: Timestamp,
    pub(crate) last_activity: Timestamp,
}

/// A row that could not be read, out of everybody's way.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DeadLetter {
    pub(crate) lane: Lane,
    pub(crate) number: u64,
    pub(crate) mailbox: String,
    pub(crate) text: String,
}

impl State {
    pub(crate) fn next_number(&mut self) -> u64 {
        self.last_number = self.last_number.saturating_add(1);
        self.last_number
    }

    /// The mailbox of this name, made if there is none.
    pub(crate) fn mailbox_mut(&mut self, name: &str) -> &mut Mailbox {
        let last_incarnation = &mut self.last_incarnation;
        self.mailboxes.entry(name.to_owned()).or_insert_with(|| {
            *last_incarnation = last_incarnation.saturating_add(1);
            Mailbox {
                incarnation: *last_incarnation,
                instance: None,
                hold: None,
                refused: None,
                kv_store: BTreeMap::new(),
                kv_delta: BTreeMap::new(),
            }
        })
    }

    pub(crate) fn instance(&self, name: &str) -> Option<&Instance> {
        self.mailboxes.get(name)?.instance.as_ref()
    }

    pub(crate) fn is_instance(&self, name: &str) -> bool {
        self.instance(name).is_some()
    }

    /// The messages of a mailbox, in the order of their numbers.
    pub(crate) fn mail_of(&self, name: &str) -> impl Iterator<Item = (u64, &Message)> {
        self.messages
            .iter()
            .filter(move |(_, message)| message.mailbox == name)
            .map(|(number, message)| (*number, message))
    }

    pub(crate) fn something_may_be_leasable(&mut self) {
        self.news.leasable = Leasable::Perhaps;
    }

    pub(crate) fn has_changed(&mut self, name: &str) {
        self.news.changed.insert(name.to_owned());
    }

    /// Removes work, and tells whoever holds a lease on it.
    pub(crate) fn steal_work(
        &mut self,
        because: &StolenBecause,
        now: Timestamp,
        is_meant: impl Fn(&Work) -> bool,
    ) {
        let meant = self.work.iter().filter(|(_, work)| is_meant(work));
        let doomed = meant.map(|(number, _)| *number).collect();
        self.steal_numbered(because, now, &doomed);
    }

    /// The same, by number.
    pub(crate) fn steal_numbered(&mut self, because: &StolenBecause, now: Timestamp, doomed: &BTreeSet<u64>) {
        for number in doomed {
            let Some(work) = self.work.remove(number) else { continue };
            if let Some(lease) = work.lease.filter(|lease| lease.is_valid(now)) {
                self.news.stolen.push(StolenLease { token: lease.token, because: because.clone() });
            }
        }
    }

    /// Draws a token that no lease has.
    pub(crate) fn new_token(&self, entropy: &dyn Entropy) -> String {
        let mut nonce = (u128::from(entropy.next_u64()) << 64) | u128::from(entropy.next_u64());
        loop {
            let token = format!("lock_{nonce:032x}");
            if !self.has_token(&token) {
                return token;
            }
            // As good as never, but an entropy that repeats itself must not make two leases one.
            nonce = nonce.wrapping_add(1);
        }
    }

    fn has_token(&self, token: &str) -> bool {
        let of_instances =
            self.mailboxes.values().filter_map(|mailbox| mailbox.hold.as_ref()).map(|hold| &hold.lease);
        let of_work = self.work.values().filter_map(|work| work.lease.as_ref());
        of_instances.chain(of_work).any(|lease| lease.token == token)
    }
}

impl Lease {
    pub(crate) fn is_valid(&self, now: Timestamp) -> bool {
        self.until > now
    }

    /// A lease that was just granted. One on a suspect does not count yet, if the call says what its node serves.
    pub(crate) fn granted(token: String, until: Timestamp, serving: Option<&Serving>, is: Suspicion) -> Self {
        Self { token, until, counts: serving.is_none() || !is.is_suspect() }
    }

    /// Makes it last at least until then.
    pub(crate) fn extend(&mut self, until: Timestamp) {
        self.until = self.until.max(until);
    }
}

impl Mailbox {
    pub(crate) fn is_leased(&self, now: Timestamp) -> bool {
        self.hold.as_ref().is_some_and(|hold| hold.lease.is_valid(now))
    }

    pub(crate) fn current_execution(&self) -> Option<&Execution> {
        self.instance.as_ref()?.current_execution()
    }
}

impl Instance {
    pub(crate) fn current_execution(&self) -> Option<&Execution> {
        self.executions.get(&self.current)
    }

    pub(crate) fn last_event_id(&self, execution_id: u64) -> u64 {
        self.executions.get(&execution_id).map_or(0, Execution::last_event_id)
    }
}

impl Execution {
    pub(crate) fn new(now: Timestamp) -> Self {
        Self {
            status: ExecutionStatus::Running,
            output: None,
            pin: None,
            started: now,
            completed: None,
            events: BTreeMap::new(),
        }
    }

    pub(crate) fn last_event_id(&self) -> u64 {
        self.events.last_key_value().map_or(0, |(id, _)| *id)
    }
}

impl Message {
    pub(crate) fn is_visible(&self, now: Timestamp) -> bool {
        self.visible_at.is_none_or(|visible_at| visible_at <= now)
    }

    pub(crate) fn count_attempt(&mut self) {
        self.attempts = self.attempts.saturating_add(1);
    }
}

impl Work {
    pub(crate) fn is_visible(&self, now: Timestamp) -> bool {
        self.visible_at.is_none_or(|visible_at| visible_at <= now)
    }

    pub(crate) fn is_leased(&self, now: Timestamp) -> bool {
        self.lease.as_ref().is_some_and(|lease| lease.is_valid(now))
    }
}
