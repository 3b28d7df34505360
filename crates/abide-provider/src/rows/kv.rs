//! Key-value events as changes of two tables.
//!
//! Values of finished executions are the *store*; what the current execution changed is the *delta*, with a
//! tombstone for a cleared key. A snapshot for replay is the store alone, because the current execution's own
//! writes come back by replaying it; people see the delta laid over the store. The end of an execution folds one
//! into the other.

use std::collections::BTreeMap;

use abide_model::{Event, EventKind, KvEntry};

/// What a turn does to the key-value store, in this order: clear, change, fold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KvRows {
    /// First put a tombstone on every key of the store and of the delta.
    pub clear_all: bool,
    /// Then put these into the delta; `None` is a tombstone.
    pub changes: BTreeMap<String, Option<KvEntry>>,
    /// At last apply the delta to the store, and empty it.
    pub fold: bool,
}

impl KvRows {
    pub(super) fn of(events: &[Event]) -> Self {
        let mut rows = Self::default();
        for event in events {
            rows.apply(&event.kind);
        }
        rows
    }

    fn apply(&mut self, kind: &EventKind) {
        if let EventKind::KeyValueSet { key, value, last_updated_at_ms } = kind {
            let entry = KvEntry { value: value.clone(), last_updated_at_ms: *last_updated_at_ms };
            self.changes.insert(key.clone(), Some(entry));
        } else if let EventKind::KeyValueCleared { key } = kind {
            self.changes.insert(key.clone(), None);
        } else if matches!(kind, EventKind::KeyValuesCleared) {
            self.clear_all = true;
            self.changes.clear();
        }
    }
}
