//! Setting, removing and reading values, in the words of a test.

use std::collections::BTreeMap;

use abide_model::EventKind;

use crate::support::{Ack, Subject, Turn};

/// The engine allows no larger value.
pub(crate) const LARGEST_VALUE: usize = 65_536;

/// Key-value events of a turn.
pub(crate) trait Values {
    fn set(self, id: u64, key: &str, value: &str) -> Self;
    fn clear(self, id: u64, key: &str) -> Self;
    fn clear_all(self, id: u64) -> Self;
}

impl Values for Ack {
    /// Written at a time that is the id of the event, so that it can be recognised.
    fn set(self, id: u64, key: &str, value: &str) -> Self {
        let (key, value) = (key.to_owned(), value.to_owned());
        self.event(id, EventKind::KeyValueSet { key, value, last_updated_at_ms: id })
    }

    fn clear(self, id: u64, key: &str) -> Self {
        self.event(id, EventKind::KeyValueCleared { key: key.to_owned() })
    }

    fn clear_all(self, id: u64) -> Self {
        self.event(id, EventKind::KeyValuesCleared)
    }
}

/// One value, as a client sees it.
pub(crate) async fn value(store: &Subject<'_>, instance: &str, key: &str) -> Option<String> {
    let value = store.get_kv_value(instance, key).await;
    value.unwrap_or_else(|error| panic!("the value '{key}' of '{instance}' cannot be read: {error}"))
}

/// All values, as a client sees them.
pub(crate) async fn values(store: &Subject<'_>, instance: &str) -> BTreeMap<String, String> {
    let values = store.get_kv_all_values(instance).await;
    let values = values.unwrap_or_else(|error| panic!("the values of '{instance}' cannot be read: {error}"));
    values.into_iter().collect()
}

/// These are all values, as a client sees them: together, one by one, and by their number.
pub(crate) async fn assert_values(store: &Subject<'_>, instance: &str, expected: &[(&str, &str)]) {
    assert_eq!(values(store, instance).await, pairs(expected), "all values of '{instance}'");
    for (key, expected) in expected {
        assert_eq!(value(store, instance, key).await.as_deref(), Some(*expected), "'{key}' of '{instance}'");
    }
    let stats = store.get_instance_stats(instance).await.expect("statistics can be asked for");
    let count = u64::try_from(expected.len()).expect("few values");
    assert_eq!(stats.map_or(0, |stats| stats.kv_user_key_count), count, "the number of keys of '{instance}'");
}

/// What replay gets to see: the values that earlier executions left.
pub(crate) fn snapshot(turn: &Turn) -> BTreeMap<String, String> {
    turn.item.kv_snapshot.iter().map(|(key, entry)| (key.clone(), entry.value.clone())).collect()
}

pub(crate) fn pairs(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}
