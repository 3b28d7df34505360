//! Reading, on any connection and without a lease.

use std::collections::BTreeMap;

use abide_model::{Event, EventKind, ExecutionStatus, KvEntry, SystemStats};
use abide_provider::InstanceLease;
use rusqlite::{Row, params};
use serde::Deserialize;

use super::mailbox::MailboxRow;
use crate::encode::{column, number};
use crate::statements::{Sql, Statements};
use crate::text::{Text, lossy};

/// The turns of an execution, as stored; decoded by whoever asked.
#[derive(Debug, Default)]
pub(crate) struct StoredHistory(Vec<Vec<u8>>);

impl StoredHistory {
    pub(crate) fn read(
        sql: &Statements<'_>,
        mailbox: i64,
        execution: i64,
        after: i64,
    ) -> rusqlite::Result<Self> {
        Ok(Self(sql.rows(Sql::ReadTurns, [mailbox, execution, after], stored_turn)?))
    }

    /// The last turn of an execution, if there is one.
    pub(crate) fn read_last(sql: &Statements<'_>, execution: [i64; 2]) -> rusqlite::Result<Option<Self>> {
        Ok(sql.row(Sql::LastTurn, execution, stored_turn)?.map(|turn| Self(vec![turn])))
    }

    /// The events behind `after`, or why they cannot be read.
    pub(crate) fn decode(self, after: u64) -> Result<Vec<Event>, String> {
        let mut events = Vec::new();
        for turn in self.0 {
            let events_of_turn: Vec<Event> =
                serde_json::from_slice(&turn).map_err(|error| place_of(&turn, &error))?;
            events.extend(events_of_turn.into_iter().filter(|event| event.event_id > after));
        }
        Ok(events)
    }

    fn bytes(&self) -> usize {
        self.0.iter().map(Vec::len).sum()
    }
}

fn stored_turn(row: &Row<'_>) -> rusqlite::Result<Vec<u8>> {
    Ok(row.get_ref(0)?.as_bytes().map(<[u8]>::to_vec).unwrap_or_default())
}

/// The instance of a lease: this one, and not another that was started under its name since.
pub(crate) struct Leased {
    mailbox: i64,
    instance: String,
}

impl Leased {
    pub(crate) fn of(lease: &InstanceLease) -> Self {
        Self { mailbox: column(lease.position.incarnation), instance: lease.instance.clone() }
    }

    /// Reads something of it; `None` if it is not there any more.
    pub(crate) fn read<T>(
        &self,
        sql: &Statements<'_>,
        read: impl FnOnce(i64) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Option<(T, Standing)>> {
        match self.standing(sql)? {
            Standing::Gone => Ok(None),
            standing @ (Standing::Sound | Standing::Damaged) => Ok(Some((read(self.mailbox)?, standing))),
        }
    }

    /// Whether its row is there, and says how it stands.
    pub(crate) fn standing(&self, sql: &Statements<'_>) -> rusqlite::Result<Standing> {
        let row = sql.row(Sql::NameOfMailbox, [self.mailbox], |row| {
            Ok((lossy(row, 0)?, row.get::<_, i64>(1)?, lossy(row, 2)?))
        })?;
        Ok(match row {
            Some((name, execution, status)) if name == self.instance => {
                let is_sound = execution == 0 || status.parse::<ExecutionStatus>().is_ok();
                if is_sound { Standing::Sound } else { Standing::Damaged }
            }
            Some(_) | None => Standing::Gone,
        })
    }
}

/// What the row of a leased instance says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    Sound,
    /// It is there, but how it stands cannot be read. Its history must not be taken for one that runs.
    Damaged,
    Gone,
}

impl Standing {
    /// What to say of one that is damaged.
    pub(crate) const DAMAGED: &'static str =
        "the stored status of the instance is none; restore it from its execution, then retry the instance";
}

/// Where it cannot be read. Not what is there: payloads do not belong into errors.
fn place_of(turn: &[u8], error: &serde_json::Error) -> String {
    let events: Vec<serde_json::Value> = serde_json::from_slice(turn).unwrap_or_default();
    let culprit = events.into_iter().find(|event| Event::deserialize(event).is_err());
    match culprit {
        None => {
            format!("a stored turn is no list of events (line {}, column {})", error.line(), error.column())
        }
        Some(event) => {
            let kind = event.get("type").and_then(serde_json::Value::as_str).unwrap_or("unknown");
            let id = event.get("event_id").and_then(serde_json::Value::as_u64).unwrap_or_default();
            format!("event {id} of type '{kind}' is not known to this version, or damaged")
        }
    }
}

/// Keys with values and when they were written, as stored.
#[derive(Debug, Default)]
pub(crate) struct StoredKv(Vec<(Text, Text, u64)>);

impl StoredKv {
    fn read(row: &Row<'_>) -> rusqlite::Result<(Text, Text, u64)> {
        Ok((row.get(0)?, row.get(1)?, number(row.get(2)?)))
    }

    pub(crate) fn decode(self) -> Result<BTreeMap<String, KvEntry>, String> {
        let entry = |(key, value, last_updated_at_ms): (Text, Text, u64)| {
            Ok((key.decode()?, KvEntry { value: value.decode()?, last_updated_at_ms }))
        };
        self.0.into_iter().map(entry).collect()
    }
}

/// What `get_instance_stats` needs.
#[derive(Debug)]
pub(crate) struct StoredStats {
    history: StoredHistory,
    kv: StoredKv,
}

impl StoredStats {
    pub(crate) fn compute(self) -> Result<SystemStats, String> {
        let kv = self.kv.decode()?;
        let turns = self.history.0.len();
        let stored = self.history.bytes();
        let events = self.history.decode(0)?;
        // A turn is stored as an array: brackets and commas are not part of its events.
        let punctuation = turns + events.len();
        let carried = events.first().map_or(0, |event| carried(&event.kind));
        Ok(SystemStats {
            history_event_count: size(events.len()),
            history_size_bytes: size(stored.saturating_sub(punctuation)),
            queue_pending_count: size(carried),
            kv_user_key_count: size(kv.len()),
            kv_total_value_bytes: size(kv.values().map(|entry| entry.value.len()).sum()),
        })
    }
}

/// How many queue messages a start brought along.
fn carried(kind: &EventKind) -> usize {
    if let EventKind::OrchestrationStarted { carry_forward_events: Some(carried), .. } = kind {
        carried.len()
    } else {
        0
    }
}

fn size(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// Everything that can be asked without a lease.
impl Statements<'_> {
    fn mailbox(&self, instance: &str) -> rusqlite::Result<Option<MailboxRow>> {
        self.row(Sql::MailboxById, [instance], MailboxRow::read)
    }

    /// The history of the current execution.
    pub(crate) fn read_current(&self, instance: &str) -> rusqlite::Result<StoredHistory> {
        match self.mailbox(instance)? {
            None => Ok(StoredHistory::default()),
            Some(mailbox) => StoredHistory::read(self, mailbox.no, mailbox.execution, 0),
        }
    }

    /// The history of one execution.
    pub(crate) fn read_execution(&self, instance: &str, execution: u64) -> rusqlite::Result<StoredHistory> {
        match self.mailbox(instance)? {
            None => Ok(StoredHistory::default()),
            Some(mailbox) => StoredHistory::read(self, mailbox.no, column(execution), 0),
        }
    }

    pub(crate) fn custom_status(&self, instance: &str) -> rusqlite::Result<Option<(Option<Text>, u64)>> {
        let Some(mailbox) = self.mailbox(instance)? else { return Ok(None) };
        self.row(Sql::CustomStatus, [mailbox.no], |row| Ok((row.get(0)?, number(row.get(1)?))))
    }

    /// One value: of the delta if it says anything about the key, tombstones included, else of the store.
    pub(crate) fn kv_value(&self, instance: &str, key: &str) -> rusqlite::Result<Option<Text>> {
        let Some(mailbox) = self.mailbox(instance)? else { return Ok(None) };
        let at = params![mailbox.no, key];
        match self.row(Sql::KvDeltaValue, at, |row| row.get(0))? {
            Some(changed) => Ok(changed),
            None => self.row(Sql::KvStoreValue, at, |row| row.get(0)),
        }
    }

    /// What people see.
    pub(crate) fn kv_merged(&self, instance: &str) -> rusqlite::Result<StoredKv> {
        match self.mailbox(instance)? {
            None => Ok(StoredKv::default()),
            Some(mailbox) => self.rows(Sql::KvMerged, [mailbox.no], StoredKv::read).map(StoredKv),
        }
    }

    /// What earlier executions left.
    pub(crate) fn kv_snapshot(&self, mailbox: i64) -> rusqlite::Result<StoredKv> {
        self.rows(Sql::KvSnapshot, [mailbox], StoredKv::read).map(StoredKv)
    }

    pub(crate) fn stats(&self, instance: &str) -> rusqlite::Result<Option<StoredStats>> {
        let Some(mailbox) = self.mailbox(instance)?.filter(MailboxRow::is_instance) else { return Ok(None) };
        Ok(Some(StoredStats {
            history: StoredHistory::read(self, mailbox.no, mailbox.execution, 0)?,
            kv: self.rows(Sql::KvMerged, [mailbox.no], StoredKv::read).map(StoredKv)?,
        }))
    }

    /// When time alone makes something leasable.
    pub(crate) fn next_due(&self, due: Sql) -> rusqlite::Result<Option<i64>> {
        Ok(self.row(due, [], |row| row.get::<_, Option<i64>>(0))?.flatten())
    }
}
