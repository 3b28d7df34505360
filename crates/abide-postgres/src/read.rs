//! What was read, made readable.

use std::collections::BTreeMap;

use abide_model::{Event, EventKind, KvEntry, SystemStats};
use abide_provider::{Operation, Rejection, StoreError};
use serde::Deserialize;
use tokio_postgres::Row;

use crate::encode::number;
use crate::text::unspell;

/// The turns of an execution, as stored.
#[derive(Debug, Default)]
pub(crate) struct StoredHistory(Vec<String>);

/// The turns in the first column. One without a turn says only that there is an instance.
pub(crate) fn stored_history(rows: &[Row]) -> StoredHistory {
    StoredHistory(rows.iter().filter_map(|row| row.get::<_, Option<String>>(0)).collect())
}

impl StoredHistory {
    pub(crate) fn of_turns(turns: Vec<String>) -> Self {
        Self(turns)
    }

    /// The events behind `after`, or why they cannot be read.
    pub(crate) fn decode(self, after: u64) -> Result<Vec<Event>, String> {
        let mut events = Vec::new();
        for turn in self.0 {
            let events_of_turn: Vec<Event> =
                serde_json::from_str(&turn).map_err(|error| place_of(&turn, &error))?;
            events.extend(events_of_turn.into_iter().filter(|event| event.event_id > after));
        }
        Ok(events)
    }

    /// How large an instance with these turns and values is.
    pub(crate) fn stats(self, values: Vec<String>) -> Result<SystemStats, String> {
        let turns = self.0.len();
        let stored: usize = self.0.iter().map(String::len).sum();
        let events = self.decode(0)?;
        // A turn is stored as an array: brackets and commas are not part of its events.
        let punctuation = turns + events.len();
        let carried = events.first().map_or(0, |event| carried(&event.kind));
        Ok(SystemStats {
            history_event_count: size(events.len()),
            history_size_bytes: size(stored.saturating_sub(punctuation)),
            queue_pending_count: size(carried),
            kv_user_key_count: size(values.len()),
            kv_total_value_bytes: size(values.into_iter().map(|value| unspell(value).len()).sum()),
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

/// Where it cannot be read. Not what is there: payloads do not belong into errors.
fn place_of(turn: &str, error: &serde_json::Error) -> String {
    let events: Vec<serde_json::Value> = serde_json::from_str(turn).unwrap_or_default();
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

/// Keys with values and when they were written. A row without a key says only that there is an instance.
pub(crate) fn kv_of(rows: &[Row]) -> BTreeMap<String, KvEntry> {
    let entry = |row: &Row| {
        let key = row.get::<_, Option<String>>(0)?;
        let value = unspell(row.get(1));
        Some((unspell(key), KvEntry { value, last_updated_at_ms: number(row.get(2)) }))
    };
    rows.iter().filter_map(entry).collect()
}

/// A history that cannot be read.
pub(crate) fn corrupt(operation: Operation, instance: &str, error: &str) -> StoreError {
    let message = format!("the history of instance '{instance}' cannot be read: {error}");
    StoreError::rejected(operation, Rejection::Corrupt, message)
}

/// A row that cannot be read.
pub(crate) fn damaged(operation: Operation, instance: &str, error: &str) -> StoreError {
    let message = format!("what instance '{instance}' keeps cannot be read: {error}");
    StoreError::rejected(operation, Rejection::Corrupt, message)
}
