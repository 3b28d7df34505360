//! What is known about an instance and its executions: name, parent, history, size.

use std::collections::HashMap;
use std::sync::Mutex;

use abide_model::{Event, SystemStats};
use abide_provider::{Committed, InstanceLease, LeaseInstances, Operation, OrchestrationItem, TurnCommit};
use async_trait::async_trait;

use crate::bug::{Answer, Bug, StoreAnswer, refusal};
use crate::planted::bugs;
use crate::store::Store;

bugs! {
    /// Name and version are those of the first turn, whatever later ones say.
    NameOfFirstTurn => "instance_creation::test_metadata_updates_name_and_version";
    /// Name and version are forgotten by a turn that does not repeat them.
    NameForgotten => "instance_creation::test_metadata_updates_name_and_version";
    /// A later turn moves a child to another parent.
    ParentMoves { parents: Mutex<HashMap<String, String>> } => "instance_creation::test_parent_link_is_kept";
    /// A lease says that the execution is the first one for ever.
    ExecutionNeverAdvances => "multi_execution::test_execution_id_sequencing";
    /// Reading gives the events of all executions.
    ReadGivesAllExecutions => "multi_execution::test_execution_isolation";
    /// Reading the latest history gives the first execution's.
    ReadGivesFirstExecution => "multi_execution::test_latest_execution_detection";
    /// Reading any execution gives the latest one's.
    ReadIgnoresExecution => "multi_execution::test_execution_isolation";
    /// A history that cannot be read is an empty one.
    UnreadableHistoryIsEmpty => "error_handling::test_read_corrupted_history_returns_error";
    /// Instances whose history cannot be read fail the fetch.
    UnreadableHistoryFailsFetch => "error_handling::test_corrupted_serialization_data";
    /// Events come back without the time they were recorded at.
    EventsLoseTheirTime => "queue_semantics::test_ack_appends_without_rewriting";
    /// Statistics count the events of all executions.
    StatsOfAllExecutions => "management::test_get_instance_stats_history";
    /// Statistics do not count messages that were carried forward.
    StatsForgetCarried => "management::test_get_instance_stats_carry_forward";
    /// Statistics of a history that cannot be read are zeros.
    StatsOfUnreadableHistory => "management::test_get_instance_stats_of_unreadable_history";
    /// Statistics of what does not exist are zeros.
    StatsOfNothing => "management::test_get_instance_stats_nonexistent";
}

#[async_trait]
impl Bug for NameOfFirstTurn {
    async fn commit(&self, store: &Store, mut commit: TurnCommit) -> StoreAnswer<Committed> {
        if store.is_instance(&commit.instance) {
            commit.turn.metadata.orchestration_name = None;
            commit.turn.metadata.orchestration_version = None;
        }
        store.commit(commit).await
    }
}

#[async_trait]
impl Bug for NameForgotten {
    async fn commit(&self, store: &Store, mut commit: TurnCommit) -> StoreAnswer<Committed> {
        let metadata = &mut commit.turn.metadata;
        metadata.orchestration_name.get_or_insert_default();
        metadata.orchestration_version.get_or_insert_default();
        store.commit(commit).await
    }
}

#[async_trait]
impl Bug for ParentMoves {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        if let Some(parent) = commit.turn.metadata.parent_instance_id.clone() {
            self.parents.lock().unwrap().insert(commit.instance.clone(), parent);
        }
        store.commit(commit).await
    }

    async fn get_parent_id(&self, store: &Store, instance: &str) -> Answer<Option<String>> {
        let parent = store.get_parent_id(instance).await?;
        Ok(self.parents.lock().unwrap().get(instance).cloned().or(parent))
    }
}

#[async_trait]
impl Bug for ExecutionNeverAdvances {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let mut leases = store.lease_instances(request).await?;
        for lease in &mut leases {
            lease.position.execution_id = lease.position.execution_id.min(1);
        }
        Ok(leases)
    }

    async fn latest_execution_id(&self, store: &Store, instance: &str) -> Answer<u64> {
        store.latest_execution_id(instance).await.map(|_| 1)
    }
}

#[async_trait]
impl Bug for ReadGivesAllExecutions {
    async fn read(&self, store: &Store, instance: &str, execution: Option<u64>) -> Answer<Vec<Event>> {
        if execution.is_some_and(|execution| !store.executions_of(instance).contains(&execution)) {
            return Ok(Vec::new());
        }
        let mut events = Vec::new();
        for execution in store.executions_of(instance) {
            events.extend(store.read_with_execution(instance, execution).await?);
        }
        Ok(events)
    }
}

#[async_trait]
impl Bug for ReadGivesFirstExecution {
    async fn read(&self, store: &Store, instance: &str, execution: Option<u64>) -> Answer<Vec<Event>> {
        store.read_with_execution(instance, execution.unwrap_or(1)).await
    }
}

#[async_trait]
impl Bug for ReadIgnoresExecution {
    async fn read(&self, store: &Store, instance: &str, _: Option<u64>) -> Answer<Vec<Event>> {
        store.read(instance).await
    }
}

#[async_trait]
impl Bug for UnreadableHistoryIsEmpty {
    async fn read(&self, store: &Store, instance: &str, execution: Option<u64>) -> Answer<Vec<Event>> {
        let events = match execution {
            None => store.read(instance).await,
            Some(execution) => store.read_with_execution(instance, execution).await,
        };
        Ok(events.unwrap_or_default())
    }
}

#[async_trait]
impl Bug for UnreadableHistoryFailsFetch {
    async fn fetched(&self, store: &Store, lease: InstanceLease) -> Answer<(OrchestrationItem, String, u32)> {
        let history = store.read_history_after(&lease, 0).await;
        let history = history.map_err(|error| refusal(Operation::FetchOrchestrationItem, &error.message))?;
        let kv = store.read_kv_snapshot(&lease).await?;
        Ok(lease.into_item(Ok(history), kv))
    }
}

fn without_time(mut events: Vec<Event>) -> Vec<Event> {
    for event in &mut events {
        event.timestamp_ms = 0;
    }
    events
}

#[async_trait]
impl Bug for EventsLoseTheirTime {
    async fn read(&self, store: &Store, instance: &str, execution: Option<u64>) -> Answer<Vec<Event>> {
        let events = match execution {
            None => store.read(instance).await,
            Some(execution) => store.read_with_execution(instance, execution).await,
        };
        events.map(without_time)
    }

    async fn read_history_after(
        &self,
        store: &Store,
        lease: &InstanceLease,
        after: u64,
    ) -> StoreAnswer<Vec<Event>> {
        store.read_history_after(lease, after).await.map(without_time)
    }
}

#[async_trait]
impl Bug for StatsOfAllExecutions {
    async fn get_instance_stats(&self, store: &Store, instance: &str) -> Answer<Option<SystemStats>> {
        let mut stats = store.get_instance_stats(instance).await?;
        if let Some(stats) = &mut stats {
            stats.history_event_count = 0;
            for execution in store.executions_of(instance) {
                let events = store.read_with_execution(instance, execution).await?;
                stats.history_event_count += u64::try_from(events.len()).unwrap_or(u64::MAX);
            }
        }
        Ok(stats)
    }
}

#[async_trait]
impl Bug for StatsForgetCarried {
    async fn get_instance_stats(&self, store: &Store, instance: &str) -> Answer<Option<SystemStats>> {
        let stats = store.get_instance_stats(instance).await?;
        Ok(stats.map(|stats| SystemStats { queue_pending_count: 0, ..stats }))
    }
}

#[async_trait]
impl Bug for StatsOfUnreadableHistory {
    async fn get_instance_stats(&self, store: &Store, instance: &str) -> Answer<Option<SystemStats>> {
        Ok(store.get_instance_stats(instance).await.unwrap_or_else(|_| Some(SystemStats::default())))
    }
}

#[async_trait]
impl Bug for StatsOfNothing {
    async fn get_instance_stats(&self, store: &Store, instance: &str) -> Answer<Option<SystemStats>> {
        Ok(Some(store.get_instance_stats(instance).await?.unwrap_or_default()))
    }
}
