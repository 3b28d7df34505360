//! What administration takes and returns.

use abide_model::Event;
pub use abide_model::{PruneOptions, PruneResult};
use async_trait::async_trait;

/// What is known about an instance.
#[derive(Debug, Clone)]
pub struct InstanceInfo {
    /// The instance.
    pub instance_id: String,
    /// The registered name of its orchestration.
    pub orchestration_name: String,
    /// The version of its handler.
    pub orchestration_version: String,
    /// Its latest execution.
    pub current_execution_id: u64,
    /// How that execution stands.
    pub status: String,
    /// Its output, its error, or its successor's input.
    pub output: Option<String>,
    /// When it was created, in milliseconds since the Unix epoch.
    pub created_at: u64,
    /// When it last changed, in milliseconds since the Unix epoch.
    pub updated_at: u64,
    /// The instance that waits for its result, if it is a child.
    pub parent_instance_id: Option<String>,
}

/// What is known about one execution.
#[derive(Debug, Clone)]
pub struct ExecutionInfo {
    /// The execution.
    pub execution_id: u64,
    /// How it stands.
    pub status: String,
    /// Its output, its error, or its successor's input.
    pub output: Option<String>,
    /// When it started, in milliseconds since the Unix epoch.
    pub started_at: u64,
    /// When it ended, in milliseconds since the Unix epoch.
    pub completed_at: Option<u64>,
    /// How many events it has.
    pub event_count: usize,
}

/// How much there is of everything.
#[derive(Debug, Clone, Default)]
pub struct SystemMetrics {
    /// Instances.
    pub total_instances: u64,
    /// Executions of all instances.
    pub total_executions: u64,
    /// Instances that have not ended, those between two executions among them.
    pub running_instances: u64,
    /// Instances that ended with a result.
    pub completed_instances: u64,
    /// Instances that failed.
    pub failed_instances: u64,
    /// Events of all executions.
    pub total_events: u64,
}

/// How much waits in the queues. What is leased is being worked on and does not count; what was given back does.
#[derive(Debug, Clone, Default)]
pub struct QueueDepths {
    /// Messages for instances. A timer counts once it is due.
    pub orchestrator_queue: usize,
    /// Activities.
    pub worker_queue: usize,
    /// Always zero: timers are messages.
    pub timer_queue: usize,
}

/// Which instances a bulk operation means; all that are set must hold.
#[derive(Debug, Clone, Default)]
pub struct InstanceFilter {
    /// Only these.
    pub instance_ids: Option<Vec<String>>,
    /// Only what ended before this time, in milliseconds since the Unix epoch.
    pub completed_before: Option<u64>,
    /// At most this many; 1,000 if not set.
    pub limit: Option<u32>,
}

impl InstanceFilter {
    /// How many instances are meant at most.
    #[must_use]
    pub fn at_most(&self) -> u32 {
        self.limit.unwrap_or(crate::DEFAULT_BULK)
    }
}

/// What was deleted.
#[derive(Debug, Clone, Default)]
pub struct DeleteInstanceResult {
    /// Instances.
    pub instances_deleted: u64,
    /// Executions of theirs.
    pub executions_deleted: u64,
    /// Events of those.
    pub events_deleted: u64,
    /// Messages and activities of theirs.
    pub queue_messages_deleted: u64,
}

impl DeleteInstanceResult {
    /// Adds what another deletion deleted.
    pub fn add(&mut self, other: &Self) {
        self.instances_deleted = self.instances_deleted.saturating_add(other.instances_deleted);
        self.executions_deleted = self.executions_deleted.saturating_add(other.executions_deleted);
        self.events_deleted = self.events_deleted.saturating_add(other.events_deleted);
        self.queue_messages_deleted =
            self.queue_messages_deleted.saturating_add(other.queue_messages_deleted);
    }
}

/// An instance and everything below it.
#[derive(Debug, Clone)]
pub struct InstanceTree {
    /// The instance asked for.
    pub root_id: String,
    /// That instance first, then its descendants, parents before children.
    pub all_ids: Vec<String>,
}

impl InstanceTree {
    /// Whether there is nothing below it.
    #[must_use]
    pub fn is_root_only(&self) -> bool {
        self.all_ids.len() == 1
    }

    /// How many instances it has.
    #[must_use]
    pub fn size(&self) -> usize {
        self.all_ids.len()
    }
}

/// An older administrative trait, kept so that programs that name it compile. Nothing here implements it; see
/// [`ProviderAdmin`](crate::ProviderAdmin).
#[async_trait]
pub trait ManagementProvider: Send + Sync {
    /// No instances.
    async fn list_instances(&self) -> Result<Vec<String>, String> {
        Ok(Vec::new())
    }

    /// No instances.
    async fn list_instances_by_status(&self, _status: &str) -> Result<Vec<String>, String> {
        Ok(Vec::new())
    }

    /// The first execution.
    async fn list_executions(&self, _instance: &str) -> Result<Vec<u64>, String> {
        Ok(vec![abide_model::INITIAL_EXECUTION_ID])
    }

    /// Not supported.
    async fn read_execution(&self, instance: &str, _execution_id: u64) -> Result<Vec<Event>, String> {
        Err(format!("not supported for instance: {instance}"))
    }

    /// The first execution.
    async fn latest_execution_id(&self, _instance: &str) -> Result<u64, String> {
        Ok(abide_model::INITIAL_EXECUTION_ID)
    }

    /// Not supported.
    async fn get_instance_info(&self, instance: &str) -> Result<InstanceInfo, String> {
        Err(format!("not supported for instance: {instance}"))
    }

    /// Not supported.
    async fn get_execution_info(&self, instance: &str, _execution_id: u64) -> Result<ExecutionInfo, String> {
        Err(format!("not supported for instance: {instance}"))
    }

    /// Nothing.
    async fn get_system_metrics(&self) -> Result<SystemMetrics, String> {
        Ok(SystemMetrics::default())
    }

    /// Nothing.
    async fn get_queue_depths(&self) -> Result<QueueDepths, String> {
        Ok(QueueDepths::default())
    }
}
