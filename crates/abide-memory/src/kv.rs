//! The key-value store: what finished executions left, and what the current one changed.

use std::collections::BTreeMap;

use abide_model::KvEntry;
use abide_provider::rows::KvRows;

use crate::state::{Mailbox, State};

impl Mailbox {
    pub(crate) fn change_kv(&mut self, rows: KvRows) {
        let KvRows { clear_all, changes, fold } = rows;
        if clear_all {
            let keys: Vec<String> = self.kv_store.keys().chain(self.kv_delta.keys()).cloned().collect();
            self.kv_delta.extend(keys.into_iter().map(|key| (key, None)));
        }
        self.kv_delta.extend(changes);
        if fold {
            self.kv_store = self.kv_view();
            self.kv_delta.clear();
        }
    }

    /// The delta laid over the store.
    pub(crate) fn kv_view(&self) -> BTreeMap<String, KvEntry> {
        let mut view = self.kv_store.clone();
        for (key, change) in &self.kv_delta {
            match change {
                Some(entry) => view.insert(key.clone(), entry.clone()),
                None => view.remove(key),
            };
        }
        view
    }
}

impl State {
    /// What people see: all values, as the current execution left them.
    pub(crate) fn kv_view(&self, name: &str) -> BTreeMap<String, KvEntry> {
        self.mailboxes.get(name).map(Mailbox::kv_view).unwrap_or_default()
    }

    /// What replay sees: all values, as earlier executions left them.
    pub(crate) fn kv_snapshot(&self, name: &str) -> BTreeMap<String, KvEntry> {
        self.mailboxes.get(name).map(|mailbox| mailbox.kv_store.clone()).unwrap_or_default()
    }
}
