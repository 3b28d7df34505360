//! Custom status and key-value store.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

use abide_model::{EventKind, KvEntry, PruneOptions, PruneResult, SystemStats};
use abide_provider::{Committed, DeleteInstanceResult, InstanceLease, TurnCommit};
use async_trait::async_trait;

use crate::bug::{Answer, Bug, StoreAnswer};
use crate::planted::bugs;
use crate::store::Store;

bugs! {
    /// The custom status changes, its version does not.
    StatusVersionStays => "custom_status::test_custom_status_version_increments";
    /// The version of a custom status counts turns.
    StatusVersionCountsTurns { turns: Mutex<HashMap<String, u64>> } => "custom_status::test_custom_status_none_preserves";
    /// A turn that does not set the custom status clears it.
    QuietTurnClearsStatus { cleared: Mutex<HashMap<String, bool>> } => "custom_status::test_custom_status_none_preserves";
    /// A custom status cannot be cleared.
    StatusNeverCleared { last: Mutex<HashMap<String, String>> } => "custom_status::test_custom_status_clear";
    /// The first custom status of a turn counts, not the last.
    FirstStatusOfTurn => "custom_status::test_custom_status_last_of_a_turn_wins";
    /// An empty custom status is none.
    EmptyStatusIsNone => "custom_status::test_custom_status_empty_is_not_cleared";
    /// The custom status is told again to one who has seen it.
    StatusToldAgain => "custom_status::test_custom_status_polling_no_change";
    /// What does not exist has a custom status.
    StatusOfNothing => "custom_status::test_custom_status_nonexistent_instance";
    /// An instance that never said anything has a custom status.
    StatusOfSilence => "custom_status::test_custom_status_default_on_new_instance";
    /// A new execution begins without the custom status.
    StatusOfExecution => "custom_status::test_custom_status_survives_continue_as_new";
    /// The custom status of a refused ack is kept.
    RefusedAckSetsStatus { refused: Mutex<HashMap<String, String>> } => "custom_status::test_custom_status_unchanged_by_refused_ack";
    /// The snapshot has what the current execution wrote.
    SnapshotHasCurrent => "kv_store::test_kv_delta_snapshot_excludes_current_execution";
    /// What an execution wrote is not in the snapshot of its successor.
    DeltaNotMerged => "kv_store::test_kv_delta_merged_on_can";
    /// A removed value is still there for readers, if an earlier execution wrote it.
    TombstoneIgnored => "kv_store::test_kv_delta_tombstone_overrides_store";
    /// Readers see what earlier executions left, not what the current one wrote.
    ReadersSeeStoreOnly => "kv_store::test_kv_delta_client_reads_merged";
    /// Readers see what the current execution wrote, not what earlier ones left.
    ReadersSeeDeltaOnly => "kv_store::test_kv_delta_client_reads_merged";
    /// Values are kept for everyone together, not for each instance.
    ValuesShared => "kv_store::test_kv_instance_isolation";
    /// A value that was never set is an empty one.
    MissingValueIsEmpty => "kv_store::test_kv_get_nonexistent";
    /// An instance without values has one without a name.
    NamelessValue => "kv_store::test_kv_snapshot_empty";
    /// An empty value is none.
    EmptyValueIsNone => "kv_store::test_kv_empty_value";
    /// Values are cut off after 30,000 characters.
    LargeValueCut => "kv_store::test_kv_large_value";
    /// Keys are compared without regard to case.
    KeysIgnoreCase => "kv_store::test_kv_special_chars_in_key";
    /// The snapshot does not say when values were written.
    SnapshotWithoutTimes => "kv_store::test_kv_snapshot_keeps_times";
    /// Removing all values does not remove those of earlier executions.
    ClearAllSparesStore => "kv_store::test_kv_delta_clear_all_tombstones_store";
    /// Removing all values removes those of other instances too.
    ClearAllOfEveryone { cleared: Mutex<Vec<String>> } => "kv_store::test_kv_clear_isolation";
    /// Values that a refused ack wrote are kept.
    RefusedAckSetsValues { refused: Mutex<HashMap<String, String>> } => "kv_store::test_kv_refused_ack_changes_no_value";
    /// Values outlive the instance that is deleted.
    DeleteLeavesValues { left: Mutex<HashMap<String, HashMap<String, String>>> } => "kv_store::test_kv_delete_instance_cascades";
    /// Values that a pruned execution wrote go with it.
    PruneTakesValues { pruned: Mutex<Vec<String>> } => "kv_store::test_kv_prune_preserves_all_keys";
    /// A turn replaces what earlier turns of its execution wrote.
    LastTurnOnly { last: Mutex<HashMap<String, Vec<String>>> } => "kv_store::test_kv_keys_accumulate_over_turns";
    /// Statistics count the values of earlier executions only.
    StatsOfStoreOnly => "management::test_get_instance_stats_kv_delta_only";
    /// Statistics count removed values.
    StatsCountRemoved => "management::test_get_instance_stats_kv_merged";
}

type Status = Option<(Option<String>, u64)>;

#[async_trait]
impl Bug for StatusVersionStays {
    async fn get_custom_status(&self, store: &Store, instance: &str, last_seen: u64) -> Answer<Status> {
        let status = store.get_custom_status(instance, 0).await?;
        Ok(status.map(|(status, _)| (status, 1)).filter(|(_, version)| *version > last_seen))
    }
}

#[async_trait]
impl Bug for StatusVersionCountsTurns {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        let instance = commit.instance.clone();
        let committed = store.commit(commit).await?;
        *self.turns.lock().unwrap().entry(instance).or_default() += 1;
        Ok(committed)
    }

    async fn get_custom_status(&self, store: &Store, instance: &str, last_seen: u64) -> Answer<Status> {
        let turns = self.turns.lock().unwrap().get(instance).copied().unwrap_or_default();
        let status = store.get_custom_status(instance, 0).await?;
        Ok(status.map(|(status, _)| (status, turns)).filter(|(_, version)| *version > last_seen))
    }
}

fn sets_status(commit: &TurnCommit) -> bool {
    commit.turn.events.iter().any(|event| matches!(event.kind, EventKind::CustomStatusUpdated { .. }))
}

#[async_trait]
impl Bug for QuietTurnClearsStatus {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        let (instance, is_cleared) = (commit.instance.clone(), !sets_status(&commit));
        let committed = store.commit(commit).await?;
        self.cleared.lock().unwrap().insert(instance, is_cleared);
        Ok(committed)
    }

    async fn get_custom_status(&self, store: &Store, instance: &str, last_seen: u64) -> Answer<Status> {
        let is_cleared = self.cleared.lock().unwrap().get(instance).copied().unwrap_or_default();
        let status = store.get_custom_status(instance, last_seen).await?;
        Ok(status.map(|(status, version)| (status.filter(|_| !is_cleared), version)))
    }
}

#[async_trait]
impl Bug for StatusNeverCleared {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        let instance = commit.instance.clone();
        let committed = store.commit(commit).await?;
        let status = store.dump().instances.remove(&instance).and_then(|dump| dump.custom_status);
        self.last.lock().unwrap().extend(status.map(|status| (instance, status)));
        Ok(committed)
    }

    async fn get_custom_status(&self, store: &Store, instance: &str, last_seen: u64) -> Answer<Status> {
        let last = self.last.lock().unwrap().get(instance).cloned();
        let status = store.get_custom_status(instance, last_seen).await?;
        Ok(status.map(|(status, version)| (status.or(last), version)))
    }
}

#[async_trait]
impl Bug for FirstStatusOfTurn {
    async fn commit(&self, store: &Store, mut commit: TurnCommit) -> StoreAnswer<Committed> {
        let mut first = None;
        for event in &mut commit.turn.events {
            if let EventKind::CustomStatusUpdated { status } = &mut event.kind {
                *status = first.get_or_insert_with(|| status.clone()).clone();
            }
        }
        store.commit(commit).await
    }
}

#[async_trait]
impl Bug for EmptyStatusIsNone {
    async fn get_custom_status(&self, store: &Store, instance: &str, last_seen: u64) -> Answer<Status> {
        let status = store.get_custom_status(instance, last_seen).await?;
        Ok(status.map(|(status, version)| (status.filter(|status| !status.is_empty()), version)))
    }
}

#[async_trait]
impl Bug for StatusToldAgain {
    async fn get_custom_status(&self, store: &Store, instance: &str, last_seen: u64) -> Answer<Status> {
        store.get_custom_status(instance, last_seen.saturating_sub(1)).await
    }
}

#[async_trait]
impl Bug for StatusOfNothing {
    async fn get_custom_status(&self, store: &Store, instance: &str, last_seen: u64) -> Answer<Status> {
        let status = store.get_custom_status(instance, last_seen).await?;
        Ok(status.or_else(|| (!store.is_instance(instance) && last_seen == 0).then_some((None, 0))))
    }
}

#[async_trait]
impl Bug for StatusOfSilence {
    async fn get_custom_status(&self, store: &Store, instance: &str, last_seen: u64) -> Answer<Status> {
        let status = store.get_custom_status(instance, last_seen).await?;
        Ok(status.or_else(|| (store.is_instance(instance) && last_seen == 0).then_some((None, 0))))
    }
}

#[async_trait]
impl Bug for StatusOfExecution {
    async fn get_custom_status(&self, store: &Store, instance: &str, last_seen: u64) -> Answer<Status> {
        let history = store.read(instance).await.unwrap_or_default();
        let is_set = history.iter().any(|event| matches!(event.kind, EventKind::CustomStatusUpdated { .. }));
        let status = store.get_custom_status(instance, last_seen).await?;
        Ok(status.filter(|_| is_set))
    }
}

#[async_trait]
impl Bug for RefusedAckSetsStatus {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        let instance = commit.instance.clone();
        let status = commit.turn.events.iter().find_map(|event| {
            let EventKind::CustomStatusUpdated { status } = &event.kind else { return None };
            status.clone()
        });
        let answer = store.commit(commit).await;
        if answer.is_err() {
            self.refused.lock().unwrap().extend(status.map(|status| (instance, status)));
        }
        answer
    }

    async fn get_custom_status(&self, store: &Store, instance: &str, last_seen: u64) -> Answer<Status> {
        let status = store.get_custom_status(instance, last_seen).await?;
        let refused = self.refused.lock().unwrap().get(instance).cloned();
        Ok(refused.map(|refused| (Some(refused), last_seen + 1)).or(status))
    }
}

/// What earlier executions of an instance left.
fn left(store: &Store, instance: &str) -> BTreeMap<String, (String, u64)> {
    let values = store.dump().kv_store.into_iter().filter(|((name, _), _)| name == instance);
    values.map(|((_, key), entry)| (key, entry)).collect()
}

/// What the current execution of an instance changed.
fn changed(store: &Store, instance: &str) -> BTreeMap<String, Option<(String, u64)>> {
    let values = store.dump().kv_delta.into_iter().filter(|((name, _), _)| name == instance);
    values.map(|((_, key), change)| (key, change)).collect()
}

fn entry((value, last_updated_at_ms): (String, u64)) -> KvEntry {
    KvEntry { value, last_updated_at_ms }
}

#[async_trait]
impl Bug for SnapshotHasCurrent {
    async fn read_kv_snapshot(
        &self,
        store: &Store,
        lease: &InstanceLease,
    ) -> StoreAnswer<BTreeMap<String, KvEntry>> {
        let mut snapshot = store.read_kv_snapshot(lease).await?;
        for (key, change) in changed(store, &lease.instance) {
            match change {
                None => snapshot.remove(&key),
                Some(change) => snapshot.insert(key, entry(change)),
            };
        }
        Ok(snapshot)
    }
}

#[async_trait]
impl Bug for DeltaNotMerged {
    async fn read_kv_snapshot(
        &self,
        store: &Store,
        lease: &InstanceLease,
    ) -> StoreAnswer<BTreeMap<String, KvEntry>> {
        store.read_kv_snapshot(lease).await.map(|_| BTreeMap::new())
    }
}

#[async_trait]
impl Bug for TombstoneIgnored {
    async fn kv_values(&self, store: &Store, instance: &str) -> Answer<HashMap<String, String>> {
        let mut values: HashMap<_, _> =
            left(store, instance).into_iter().map(|(key, (value, _))| (key, value)).collect();
        let set = changed(store, instance).into_iter();
        values.extend(set.filter_map(|(key, change)| Some((key, change?.0))));
        Ok(values)
    }
}

#[async_trait]
impl Bug for ReadersSeeStoreOnly {
    async fn kv_values(&self, store: &Store, instance: &str) -> Answer<HashMap<String, String>> {
        Ok(left(store, instance).into_iter().map(|(key, (value, _))| (key, value)).collect())
    }
}

#[async_trait]
impl Bug for ReadersSeeDeltaOnly {
    async fn kv_values(&self, store: &Store, instance: &str) -> Answer<HashMap<String, String>> {
        let values = store.get_kv_all_values(instance).await?;
        let status = store.dump().instances.remove(instance).and_then(|dump| dump.status);
        let set = changed(store, instance);
        let is_over = status.as_deref() != Some("Running");
        Ok(values.into_iter().filter(|(key, _)| is_over || set.contains_key(key)).collect())
    }
}

#[async_trait]
impl Bug for ValuesShared {
    async fn kv_values(&self, store: &Store, instance: &str) -> Answer<HashMap<String, String>> {
        let mut values = HashMap::new();
        for other in store.list_instances().await? {
            values.extend(store.get_kv_all_values(&other).await?);
        }
        values.extend(store.get_kv_all_values(instance).await?);
        Ok(values)
    }
}

#[async_trait]
impl Bug for MissingValueIsEmpty {
    async fn kv_value(&self, store: &Store, instance: &str, key: &str) -> Answer<Option<String>> {
        let value = store.get_kv_value(instance, key).await?;
        Ok(value.or_else(|| store.is_instance(instance).then(String::new)))
    }
}

#[async_trait]
impl Bug for NamelessValue {
    async fn read_kv_snapshot(
        &self,
        store: &Store,
        lease: &InstanceLease,
    ) -> StoreAnswer<BTreeMap<String, KvEntry>> {
        let mut snapshot = store.read_kv_snapshot(lease).await?;
        if snapshot.is_empty() {
            snapshot.insert(String::new(), entry((String::new(), 0)));
        }
        Ok(snapshot)
    }
}

#[async_trait]
impl Bug for EmptyValueIsNone {
    async fn kv_values(&self, store: &Store, instance: &str) -> Answer<HashMap<String, String>> {
        let values = store.get_kv_all_values(instance).await?;
        Ok(values.into_iter().filter(|(_, value)| !value.is_empty()).collect())
    }
}

#[async_trait]
impl Bug for LargeValueCut {
    async fn kv_values(&self, store: &Store, instance: &str) -> Answer<HashMap<String, String>> {
        let values = store.get_kv_all_values(instance).await?;
        let cut = |value: String| value.chars().take(30_000).collect();
        Ok(values.into_iter().map(|(key, value)| (key, cut(value))).collect())
    }
}

#[async_trait]
impl Bug for KeysIgnoreCase {
    async fn kv_values(&self, store: &Store, instance: &str) -> Answer<HashMap<String, String>> {
        let values = store.get_kv_all_values(instance).await?;
        Ok(values.into_iter().map(|(key, value)| (key.to_lowercase(), value)).collect())
    }
}

#[async_trait]
impl Bug for SnapshotWithoutTimes {
    async fn read_kv_snapshot(
        &self,
        store: &Store,
        lease: &InstanceLease,
    ) -> StoreAnswer<BTreeMap<String, KvEntry>> {
        let mut snapshot = store.read_kv_snapshot(lease).await?;
        for entry in snapshot.values_mut() {
            entry.last_updated_at_ms = 0;
        }
        Ok(snapshot)
    }
}

fn clears_all(commit: &TurnCommit) -> bool {
    commit.turn.events.iter().any(|event| matches!(event.kind, EventKind::KeyValuesCleared))
}

#[async_trait]
impl Bug for ClearAllSparesStore {
    async fn kv_values(&self, store: &Store, instance: &str) -> Answer<HashMap<String, String>> {
        let mut values = store.get_kv_all_values(instance).await?;
        let history = store.read(instance).await?;
        if history.iter().any(|event| matches!(event.kind, EventKind::KeyValuesCleared)) {
            values.extend(left(store, instance).into_iter().map(|(key, (value, _))| (key, value)));
        }
        Ok(values)
    }
}

#[async_trait]
impl Bug for ClearAllOfEveryone {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        let others = store.dump().instances.into_keys().filter(|name| *name != commit.instance);
        if clears_all(&commit) {
            self.cleared.lock().unwrap().extend(others);
        }
        store.commit(commit).await
    }

    async fn kv_values(&self, store: &Store, instance: &str) -> Answer<HashMap<String, String>> {
        if self.cleared.lock().unwrap().iter().any(|name| name == instance) {
            return Ok(HashMap::new());
        }
        store.get_kv_all_values(instance).await
    }
}

#[async_trait]
impl Bug for RefusedAckSetsValues {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        let set = commit.turn.events.iter().filter_map(|event| {
            let EventKind::KeyValueSet { key, value, .. } = &event.kind else { return None };
            Some((key.clone(), value.clone()))
        });
        let set: Vec<_> = set.collect();
        let answer = store.commit(commit).await;
        if answer.is_err() {
            self.refused.lock().unwrap().extend(set);
        }
        answer
    }

    async fn kv_values(&self, store: &Store, instance: &str) -> Answer<HashMap<String, String>> {
        let mut values = store.get_kv_all_values(instance).await?;
        values.extend(self.refused.lock().unwrap().clone());
        Ok(values)
    }
}

#[async_trait]
impl Bug for DeleteLeavesValues {
    async fn delete_instance(
        &self,
        store: &Store,
        instance: &str,
        force: bool,
    ) -> Answer<DeleteInstanceResult> {
        for name in store.get_instance_tree(instance).await?.all_ids {
            let values = store.get_kv_all_values(&name).await?;
            self.left.lock().unwrap().insert(name, values);
        }
        store.delete_instance(instance, force).await
    }

    async fn kv_values(&self, store: &Store, instance: &str) -> Answer<HashMap<String, String>> {
        let mut values = self.left.lock().unwrap().get(instance).cloned().unwrap_or_default();
        values.extend(store.get_kv_all_values(instance).await?);
        Ok(values)
    }
}

#[async_trait]
impl Bug for PruneTakesValues {
    async fn prune_executions(
        &self,
        store: &Store,
        instance: &str,
        options: PruneOptions,
    ) -> Answer<PruneResult> {
        let pruned = store.prune_executions(instance, options).await?;
        if pruned.executions_deleted > 0 {
            self.pruned.lock().unwrap().push(instance.to_owned());
        }
        Ok(pruned)
    }

    async fn kv_values(&self, store: &Store, instance: &str) -> Answer<HashMap<String, String>> {
        let values = store.get_kv_all_values(instance).await?;
        let is_pruned = self.pruned.lock().unwrap().iter().any(|name| name == instance);
        let current = changed(store, instance);
        Ok(values.into_iter().filter(|(key, _)| !is_pruned || current.contains_key(key)).collect())
    }
}

#[async_trait]
impl Bug for LastTurnOnly {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        let set = commit.turn.events.iter().filter_map(|event| {
            let EventKind::KeyValueSet { key, .. } = &event.kind else { return None };
            Some(key.clone())
        });
        let (set, instance): (Vec<String>, _) = (set.collect(), commit.instance.clone());
        let committed = store.commit(commit).await?;
        if !set.is_empty() {
            self.last.lock().unwrap().insert(instance, set);
        }
        Ok(committed)
    }

    async fn kv_values(&self, store: &Store, instance: &str) -> Answer<HashMap<String, String>> {
        let values = store.get_kv_all_values(instance).await?;
        let last = self.last.lock().unwrap().get(instance).cloned().unwrap_or_default();
        let changed = changed(store, instance);
        let is_kept = |key: &String| last.contains(key) || !changed.contains_key(key);
        Ok(values.into_iter().filter(|(key, _)| is_kept(key)).collect())
    }
}

fn count(size: usize) -> u64 {
    u64::try_from(size).unwrap_or(u64::MAX)
}

#[async_trait]
impl Bug for StatsOfStoreOnly {
    async fn get_instance_stats(&self, store: &Store, instance: &str) -> Answer<Option<SystemStats>> {
        let kv_user_key_count = count(left(store, instance).len());
        let stats = store.get_instance_stats(instance).await?;
        Ok(stats.map(|stats| SystemStats { kv_user_key_count, ..stats }))
    }
}

#[async_trait]
impl Bug for StatsCountRemoved {
    async fn get_instance_stats(&self, store: &Store, instance: &str) -> Answer<Option<SystemStats>> {
        let mut keys: Vec<String> = left(store, instance).into_keys().collect();
        keys.extend(changed(store, instance).into_keys());
        keys.sort();
        keys.dedup();
        let kv_user_key_count = count(keys.len());
        let stats = store.get_instance_stats(instance).await?;
        Ok(stats.map(|stats| SystemStats { kv_user_key_count, ..stats }))
    }
}
