//! Where two stores differ.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use abide_memory::Dump;

/// Each row that is not the same in the model and in the store of this name.
#[must_use]
pub fn dumps(memory: &Dump, stored: &Dump, name: &str) -> Vec<String> {
    if memory == stored {
        return Vec::new();
    }
    let compare = Comparison { name };
    let mut found = Vec::new();
    found.extend(compare.maps("instance", &memory.instances, &stored.instances));
    found.extend(compare.maps("execution", &memory.executions, &stored.executions));
    found.extend(compare.maps("message", &memory.messages, &stored.messages));
    found.extend(compare.maps("work", &memory.work, &stored.work));
    found.extend(compare.maps("session", &memory.sessions, &stored.sessions));
    found.extend(compare.maps("kv store", &memory.kv_store, &stored.kv_store));
    found.extend(compare.maps("kv delta", &memory.kv_delta, &stored.kv_delta));
    found.extend(compare.maps("request", &memory.request_keys, &stored.request_keys));
    if memory.dead_letters != stored.dead_letters {
        found.push(format!("dead letters: memory {}, {name} {}", memory.dead_letters, stored.dead_letters));
    }
    found
}

/// The model, and a store of this name.
#[derive(Clone, Copy)]
struct Comparison<'a> {
    name: &'a str,
}

impl Comparison<'_> {
    fn maps<K: Ord + Debug, V: PartialEq + Debug>(
        self,
        what: &str,
        memory: &BTreeMap<K, V>,
        stored: &BTreeMap<K, V>,
    ) -> Vec<String> {
        let name = self.name;
        let keys: BTreeSet<&K> = memory.keys().chain(stored.keys()).collect();
        let differing = keys.into_iter().filter(|key| memory.get(key) != stored.get(key));
        let row = |key: &K| {
            format!("{what} {key:?}:\n    memory {:?}\n    {name} {:?}", memory.get(key), stored.get(key))
        };
        differing.map(row).collect()
    }
}
