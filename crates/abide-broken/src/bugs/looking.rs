//! Looking at instances, executions and queues.

use abide_provider::{ExecutionInfo, InstanceInfo, Operation, QueueDepths, SystemMetrics};
use async_trait::async_trait;

use crate::bug::{Answer, Bug, refusal};
use crate::planted::bugs;
use crate::store::Store;

bugs! {
    /// The oldest instances are listed first.
    OldestListedFirst => "management::test_list_instances";
    /// Listing by status lists everything.
    StatusNotLookedAt => "management::test_list_instances_by_status";
    /// Listing by status goes by any execution, not by the current one.
    StatusOfAnyExecution => "management::test_list_instances_by_status";
    /// A status that does not exist is an error.
    UnknownStatusRefused => "management::test_list_instances_by_status";
    /// The youngest execution is listed first.
    YoungestExecutionFirst => "management::test_list_executions";
    /// What does not exist has an execution.
    ExecutionOfNothing => "management::test_what_is_no_instance_is_not_found";
    /// An instance says when it was created as zero.
    TimesAreZero => "management::test_times_of_an_instance";
    /// An instance was last changed when it was created.
    NeverUpdated => "management::test_times_of_an_instance";
    /// An execution does not say when it ended.
    NoEndOfExecution => "management::test_times_of_executions";
    /// An execution began when its instance was created.
    ExecutionBeganWithInstance => "management::test_times_of_executions";
    /// An execution's count of events is its instance's.
    EventsOfAllExecutions => "management::test_get_execution_info";
    /// Any execution can be looked at, also one that does not exist.
    AnyExecutionExists => "management::test_get_execution_info";
    /// An instance does not show its output.
    NoOutput => "management::test_get_instance_info";
    /// An instance between two executions counts as completed.
    BetweenIsCompleted => "management::test_get_system_metrics";
    /// The number of executions is the number of instances.
    OneExecutionEach => "management::test_get_system_metrics";
    /// Failed instances count as completed.
    FailedIsCompleted => "management::test_get_system_metrics";
    /// What was given back does not count as waiting.
    AbandonedDoNotWait => "management::test_queue_depths_after_leases";
    /// What is leased counts as waiting.
    LeasedWaits => "management::test_get_queue_depths";
    /// A timer counts as waiting before it is due.
    FutureTimersWait => "management::test_queue_depths_with_timers";
    /// Timers are counted as a queue of their own.
    TimersCountedApart => "management::test_queue_depths_with_timers";
}

#[async_trait]
impl Bug for OldestListedFirst {
    async fn list_instances(&self, store: &Store) -> Answer<Vec<String>> {
        let mut listed = store.list_instances().await?;
        listed.reverse();
        Ok(listed)
    }
}

#[async_trait]
impl Bug for StatusNotLookedAt {
    async fn list_instances_by_status(&self, store: &Store, _: &str) -> Answer<Vec<String>> {
        store.list_instances().await
    }
}

#[async_trait]
impl Bug for StatusOfAnyExecution {
    async fn list_instances_by_status(&self, store: &Store, status: &str) -> Answer<Vec<String>> {
        let executions = store.dump().executions;
        let mut listed = store.list_instances().await?;
        listed.retain(|name| {
            executions.iter().any(|((of, _), execution)| of == name && execution.status == status)
        });
        Ok(listed)
    }
}

#[async_trait]
impl Bug for UnknownStatusRefused {
    async fn list_instances_by_status(&self, store: &Store, status: &str) -> Answer<Vec<String>> {
        if !["Running", "Completed", "Failed", "ContinuedAsNew"].contains(&status) {
            return Err(refusal(Operation::ListInstancesByStatus, "there is no such status"));
        }
        store.list_instances_by_status(status).await
    }
}

#[async_trait]
impl Bug for YoungestExecutionFirst {
    async fn list_executions(&self, store: &Store, instance: &str) -> Answer<Vec<u64>> {
        let mut listed = store.list_executions(instance).await?;
        listed.reverse();
        Ok(listed)
    }
}

#[async_trait]
impl Bug for ExecutionOfNothing {
    async fn latest_execution_id(&self, store: &Store, instance: &str) -> Answer<u64> {
        Ok(store.latest_execution_id(instance).await.unwrap_or(1))
    }
}

#[async_trait]
impl Bug for TimesAreZero {
    async fn get_instance_info(&self, store: &Store, instance: &str) -> Answer<InstanceInfo> {
        let info = store.get_instance_info(instance).await?;
        Ok(InstanceInfo { created_at: 0, updated_at: 0, ..info })
    }
}

#[async_trait]
impl Bug for NeverUpdated {
    async fn get_instance_info(&self, store: &Store, instance: &str) -> Answer<InstanceInfo> {
        let info = store.get_instance_info(instance).await?;
        Ok(InstanceInfo { updated_at: info.created_at, ..info })
    }
}

#[async_trait]
impl Bug for NoEndOfExecution {
    async fn get_execution_info(
        &self,
        store: &Store,
        instance: &str,
        execution: u64,
    ) -> Answer<ExecutionInfo> {
        let info = store.get_execution_info(instance, execution).await?;
        Ok(ExecutionInfo { completed_at: None, ..info })
    }
}

#[async_trait]
impl Bug for ExecutionBeganWithInstance {
    async fn get_execution_info(
        &self,
        store: &Store,
        instance: &str,
        execution: u64,
    ) -> Answer<ExecutionInfo> {
        let info = store.get_execution_info(instance, execution).await?;
        Ok(ExecutionInfo { started_at: store.get_instance_info(instance).await?.created_at, ..info })
    }
}

#[async_trait]
impl Bug for EventsOfAllExecutions {
    async fn get_execution_info(
        &self,
        store: &Store,
        instance: &str,
        execution: u64,
    ) -> Answer<ExecutionInfo> {
        let info = store.get_execution_info(instance, execution).await?;
        let executions = store.dump().executions;
        let counts = executions.iter().filter(|((name, _), _)| name == instance);
        let event_count = counts.map(|(_, execution)| execution.event_ids.len()).sum();
        Ok(ExecutionInfo { event_count, ..info })
    }
}

#[async_trait]
impl Bug for AnyExecutionExists {
    async fn get_execution_info(
        &self,
        store: &Store,
        instance: &str,
        execution: u64,
    ) -> Answer<ExecutionInfo> {
        let current = store.latest_execution_id(instance).await?;
        match store.get_execution_info(instance, execution).await {
            Ok(info) => Ok(info),
            Err(_) => store.get_execution_info(instance, current).await,
        }
    }
}

#[async_trait]
impl Bug for NoOutput {
    async fn get_instance_info(&self, store: &Store, instance: &str) -> Answer<InstanceInfo> {
        let info = store.get_instance_info(instance).await?;
        Ok(InstanceInfo { output: None, ..info })
    }
}

#[async_trait]
impl Bug for BetweenIsCompleted {
    async fn get_system_metrics(&self, store: &Store) -> Answer<SystemMetrics> {
        let mut metrics = store.get_system_metrics().await?;
        let between = store.list_instances_by_status("ContinuedAsNew").await?.len();
        let between = u64::try_from(between).unwrap_or(u64::MAX);
        metrics.running_instances -= between;
        metrics.completed_instances += between;
        Ok(metrics)
    }
}

#[async_trait]
impl Bug for OneExecutionEach {
    async fn get_system_metrics(&self, store: &Store) -> Answer<SystemMetrics> {
        let metrics = store.get_system_metrics().await?;
        Ok(SystemMetrics { total_executions: metrics.total_instances, ..metrics })
    }
}

#[async_trait]
impl Bug for FailedIsCompleted {
    async fn get_system_metrics(&self, store: &Store) -> Answer<SystemMetrics> {
        let mut metrics = store.get_system_metrics().await?;
        metrics.completed_instances += std::mem::take(&mut metrics.failed_instances);
        Ok(metrics)
    }
}

#[async_trait]
impl Bug for AbandonedDoNotWait {
    async fn get_queue_depths(&self, store: &Store) -> Answer<QueueDepths> {
        let mut depths = store.get_queue_depths().await?;
        let dump = store.dump();
        let leased = |number: &u64| dump.instances.values().any(|dump| dump.batch.contains(number));
        let given_back =
            dump.messages.iter().filter(|(number, message)| message.attempts > 0 && !leased(number));
        depths.orchestrator_queue -= given_back.count();
        let given_back = dump.work.values().filter(|work| work.attempts > 0 && work.leased_until.is_none());
        depths.worker_queue -= given_back.count();
        Ok(depths)
    }
}

#[async_trait]
impl Bug for LeasedWaits {
    async fn get_queue_depths(&self, store: &Store) -> Answer<QueueDepths> {
        let mut depths = store.get_queue_depths().await?;
        let dump = store.dump();
        depths.orchestrator_queue += dump.instances.values().map(|dump| dump.batch.len()).sum::<usize>();
        depths.worker_queue = dump.work.len();
        Ok(depths)
    }
}

/// How many timers are not due.
fn future_timers(store: &Store) -> usize {
    let messages = store.dump().messages;
    messages.values().filter(|message| message.class == "Timer" && message.visible_at.is_some()).count()
}

#[async_trait]
impl Bug for FutureTimersWait {
    async fn get_queue_depths(&self, store: &Store) -> Answer<QueueDepths> {
        let mut depths = store.get_queue_depths().await?;
        depths.orchestrator_queue += future_timers(store);
        Ok(depths)
    }
}

#[async_trait]
impl Bug for TimersCountedApart {
    async fn get_queue_depths(&self, store: &Store) -> Answer<QueueDepths> {
        let mut depths = store.get_queue_depths().await?;
        depths.timer_queue = future_timers(store);
        Ok(depths)
    }
}
