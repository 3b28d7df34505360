//! Key-value state of the instance: written by its orchestrations, read by them and by clients.
//!
//! Reads see what previous executions left and what this one wrote. Writes are recorded with their time, so
//! that pruning by age decides the same on replay.

use std::collections::BTreeMap;

use abide_model::{Action, Codec};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::OrchestrationContext;
use super::activity::undecodable;
use super::system::GET_KV_VALUE;
use crate::ask::{Ask, Extra};
use crate::future::DurableFuture;

impl OrchestrationContext {
    /// Writes a key.
    pub fn set_kv_value(&self, key: impl Into<String>, value: impl Into<String>) {
        let (key, value) = (key.into(), value.into());
        self.tape.ask(|token, kv| {
            let (last_updated_at_ms, keys) = kv.set(&key, &value);
            Ask {
                token,
                action: Action::SetKeyValue { key, value, last_updated_at_ms },
                extra: keys.map_or(Extra::Nothing, Extra::Keys),
            }
        });
    }

    /// Writes a key as JSON.
    ///
    /// # Panics
    ///
    /// If the value cannot be encoded: this fails the orchestration.
    pub fn set_kv_value_typed<T: Serialize>(&self, key: impl Into<String>, value: &T) {
        let text = match self.tape.codec() {
            Codec::Reference => serde_json::to_string(value),
            Codec::Lossless => serde_json::to_value(value).map(|mut tree| {
                tree.sort_all_objects();
                tree.to_string()
            }),
        };
        let text = text
            .unwrap_or_else(|error| panic!("a {} cannot be encoded: {error}", std::any::type_name::<T>()));
        self.set_kv_value(key, text);
    }

    /// Reads a key.
    #[must_use]
    pub fn get_kv_value(&self, key: &str) -> Option<String> {
        self.tape.read_kv(|kv| kv.get(key).map(|entry| entry.value.clone()))
    }

    /// Reads a key as JSON.
    ///
    /// # Errors
    ///
    /// If the value is not what `T` expects.
    pub fn get_kv_value_typed<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, String> {
        self.get_kv_value(key).map(|text| serde_json::from_str(&text)).transpose().map_err(|error| {
            let problem = undecodable::<T>(self.tape.codec(), "value", &error);
            format!("KV deserialization error for key '{key}': {problem}")
        })
    }

    /// All keys and values. The order of a `HashMap` differs from run to run: do not iterate over it to
    /// decide anything, use [`get_kv_entries`](Self::get_kv_entries) for that.
    #[must_use]
    #[expect(clippy::disallowed_types, reason = "a frozen signature; the docs say what to use instead")]
    pub fn get_kv_all_values(&self) -> std::collections::HashMap<String, String> {
        self.get_kv_entries().into_iter().collect()
    }

    /// All keys and values, in the order of the keys.
    #[must_use]
    pub fn get_kv_entries(&self) -> BTreeMap<String, String> {
        self.tape.read_kv(|kv| kv.iter().map(|(key, entry)| (key.clone(), entry.value.clone())).collect())
    }

    /// All keys, ascending.
    #[must_use]
    pub fn get_kv_all_keys(&self) -> Vec<String> {
        self.tape.read_kv(|kv| kv.keys().cloned().collect())
    }

    /// How many keys there are.
    #[must_use]
    pub fn get_kv_length(&self) -> usize {
        self.tape.read_kv(BTreeMap::len)
    }

    /// Removes a key; one that does not exist is no error.
    pub fn clear_kv_value(&self, key: impl Into<String>) {
        let key = key.into();
        self.tape.ask(|token, kv| {
            kv.clear(&key);
            Ask::plain(token, Action::ClearKeyValue { key })
        });
    }

    /// Removes all keys.
    pub fn clear_all_kv_values(&self) {
        self.tape.ask(|token, kv| {
            kv.clear_all();
            Ask::plain(token, Action::ClearKeyValues)
        });
    }

    /// Removes the keys that were last written before a time (milliseconds since the epoch), in ascending
    /// order, and says how many.
    #[expect(clippy::must_use_candidate, reason = "it is called for what it does")]
    pub fn prune_kv_values_updated_before(&self, updated_before_ms: u64) -> usize {
        let old: Vec<String> = self.tape.read_kv(|kv| {
            kv.iter()
                .filter(|(_, entry)| entry.last_updated_at_ms < updated_before_ms)
                .map(|(key, _)| key.clone())
                .collect()
        });
        let count = old.len();
        for key in old {
            self.clear_kv_value(key);
        }
        count
    }

    /// Reads a key of another instance, as it is when a worker looks.
    pub fn get_kv_value_from_instance(
        &self,
        instance_id: impl Into<String>,
        key: impl Into<String>,
    ) -> DurableFuture<Result<Option<String>, String>> {
        let request = serde_json::json!({ "instance_id": instance_id.into(), "key": key.into() });
        self.schedule_activity(GET_KV_VALUE, request.to_string()).map(|result| {
            result.and_then(|text| {
                serde_json::from_str(&text)
                    .map_err(|error| format!("get_kv_value_from_instance deserialization error: {error}"))
            })
        })
    }

    /// Reads a key of another instance as JSON.
    pub fn get_kv_value_from_instance_typed<T: DeserializeOwned + Send + 'static>(
        &self,
        instance_id: impl Into<String>,
        key: impl Into<String>,
    ) -> DurableFuture<Result<Option<T>, String>> {
        let (instance_id, key) = (instance_id.into(), key.into());
        let what = format!("value of key '{key}' of instance '{instance_id}'");
        let codec = self.tape.codec();
        self.get_kv_value_from_instance(instance_id, key).map(move |value| {
            value?.map(|text| serde_json::from_str(&text)).transpose().map_err(|error| {
                let problem = undecodable::<T>(codec, &what, &error);
                format!("get_kv_value_from_instance_typed deserialization error: {problem}")
            })
        })
    }
}
