//! Describing one instance: what it waits for, and why.
//!
//! A description is a few bounded reads, the same number whatever the length of the history. `text.rs`
//! explains it in plain English.

mod age;
mod text;

use abide_model::{
    AppErrorKind, ErrorDetails, ExecutionStatus, OpenOperation, OrchestrationStatus, Timestamp, WaitKind,
    Waiting, build_child_instance_id,
};
use abide_provider::{
    Ability, Block, ChildOverview, InstanceOverview, LeaseOverview, Node, ParentLink, ProviderError,
    Unserved, WorkOverview,
};

use crate::{Client, ClientError};

/// One instance at one moment: where it stands, what it waits for, and what keeps it.
///
/// Its `Display` explains it in three to six lines.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Description {
    /// The instance.
    pub instance_id: String,
    /// When it was read, by the store's clock where the store tells the time.
    pub read_at: Timestamp,
    /// The registered name of the orchestration; empty if the store does not know it.
    pub orchestration_name: String,
    /// The version of its handler; `"unknown"` if the start left it to the registry and no turn has run.
    pub orchestration_version: String,
    /// Where it stands.
    pub state: InstanceState,
    /// What blocks it: the instance itself first, then quarantined activities.
    pub blocks: Vec<Block>,
    /// The orchestration, if no live node can run it.
    pub unserved: Option<Unserved>,
    /// How many live nodes can run it; `None` if it has ended, or the store does not list nodes.
    pub serving_nodes: Option<usize>,
    /// The current execution; zero before the first turn.
    pub execution_id: u64,
    /// How many executions are stored; at most 1,000 are counted.
    pub executions: u64,
    /// When the first turn was committed.
    pub created: Option<Timestamp>,
    /// When the last turn was committed.
    pub updated: Option<Timestamp>,
    /// How many operations are open; `None` if the last turn did not record it: the store does not keep it,
    /// or the instance was imported or upgraded and has had no turn since.
    pub open: Option<u64>,
    /// The oldest open operations, at most 16.
    pub operations: Vec<OperationDescription>,
    /// Queued activities where the last turn did not record the open operations, at most 16.
    pub activities: Vec<ActivityDescription>,
    /// Queues that hold messages which the code has not read, by name.
    pub queues: Vec<(String, u64)>,
    /// How many messages wait for its next turn; at most 1,000 are counted.
    pub mail: u64,
    /// The lease on its turn, while a node runs one.
    pub lease: Option<LeaseOverview>,
    /// Whose child it is.
    pub parent: Option<ParentLink>,
    /// Its oldest children, at most 16.
    pub children: Vec<String>,
    /// How many children it has; at most 1,000 are counted.
    pub child_count: u64,
    /// Whether the store keeps what instances wait for.
    keeps_waiting: bool,
    /// How many nodes live, as far as the store lists them.
    live_nodes: usize,
}

/// Where an instance stands.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InstanceState {
    /// Its start, or that of its next execution, waits in the queue.
    Pending {
        /// When it becomes visible, if it is delayed.
        starts_at: Option<Timestamp>,
    },
    /// It runs: a turn is under way, or it waits.
    Running,
    /// No turn of it can run until it is repaired; see [`Description::blocks`].
    Blocked,
    /// It completed.
    Completed {
        /// When; `None` if the store does not tell.
        at: Option<Timestamp>,
    },
    /// It failed.
    Failed {
        /// When; `None` if the store does not tell.
        at: Option<Timestamp>,
        /// Why.
        error: String,
    },
    /// It was canceled.
    Canceled {
        /// When; `None` if the store does not tell.
        at: Option<Timestamp>,
        /// Why.
        reason: String,
    },
}

/// One open operation.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OperationDescription {
    /// What the last turn said of it.
    pub operation: OpenOperation,
    /// The queued activity: how often it was delivered, and its lease.
    pub work: Option<WorkOverview>,
    /// The activity or child orchestration, if no live node can run it.
    pub unserved: Option<Unserved>,
    /// The full id of the child that it waits for.
    pub child_id: Option<String>,
    /// What blocks that child.
    pub child_block: Option<Block>,
}

/// One queued activity of an instance whose last turn did not record the open operations.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ActivityDescription {
    /// Its name, how often it was delivered, and its lease.
    pub work: WorkOverview,
    /// The activity, if no live node can run it.
    pub unserved: Option<Unserved>,
}

impl Client {
    /// Describes an instance: where it stands, what it waits for, since when, and what keeps it. Works
    /// without a runtime, and also for an instance whose start is still queued.
    ///
    /// It costs a few reads, the same number whatever the length of the history. A store with only the
    /// required methods tells less: it does not keep what instances wait for.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use abide_client::{Client, ClientError};
    /// # use abide_memory::InMemoryProvider;
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// # let client = Client::new(Arc::new(InMemoryProvider::new()));
    /// client.start_orchestration("order-1", "Ship", "two boxes").await?;
    /// let description = client.describe("order-1").await?;
    /// assert!(description.to_string().starts_with("order-1 has not started"));
    /// # Ok::<(), ClientError>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// [`ClientError::InstanceNotFound`]; if the store fails.
    pub async fn describe(&self, instance: &str) -> Result<Description, ClientError> {
        let Some(overview) = self.overview(instance).await? else {
            return Err(ClientError::InstanceNotFound { instance_id: instance.to_owned() });
        };
        let abilities = self.store().abilities();
        let has_ended = overview.status.is_some_and(ExecutionStatus::is_end);
        let mut blocks = Vec::new();
        if abilities.has(Ability::Blocking) && !has_ended {
            blocks = self.read_blocks(instance).await?.into_iter().map(|blocked| blocked.block).collect();
        }
        let details = match overview.status {
            Some(ExecutionStatus::Failed) if abilities.has(Ability::Overviews) => {
                self.failure(instance).await?
            }
            Some(_) | None => None,
        };
        let pin = overview.pin.clone();
        let mut description = self.assemble(instance, overview, blocks, details.as_ref());
        if has_ended {
            return Ok(description);
        }
        let children = self.children_of(&description).await?;
        description.find_blocked_children(&children);
        if abilities.has(Ability::Nodes) {
            let nodes = self.ask(async { self.store().nodes().await.map_err(ProviderError::from) }).await?;
            description.find_unserved(pin.as_deref(), &children, &nodes);
        }
        Ok(description)
    }

    /// What the store knows of an instance, also of one whose start is queued; `None` if there is no such
    /// instance.
    pub(crate) async fn overview(&self, instance: &str) -> Result<Option<InstanceOverview>, ClientError> {
        self.ask(async { self.store().read_overview(instance).await.map_err(ProviderError::from) }).await
    }

    /// The children that the instance waits for, in one read.
    async fn children_of(&self, description: &Description) -> Result<Vec<ChildOverview>, ClientError> {
        let ids: Vec<String> =
            description.operations.iter().filter_map(|operation| operation.child_id.clone()).collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        self.ask(async { self.store().read_children(&ids).await.map_err(ProviderError::from) }).await
    }

    /// Why an instance failed, which the status reads from its last event alone.
    async fn failure(&self, instance: &str) -> Result<Option<ErrorDetails>, ClientError> {
        Ok(match self.get_orchestration_status(instance).await? {
            OrchestrationStatus::Failed { details, .. } => Some(details),
            OrchestrationStatus::NotFound
            | OrchestrationStatus::Running { .. }
            | OrchestrationStatus::Completed { .. } => None,
        })
    }

    fn assemble(
        &self,
        instance: &str,
        overview: InstanceOverview,
        blocks: Vec<Block>,
        details: Option<&ErrorDetails>,
    ) -> Description {
        let waiting = overview.waiting.as_deref().and_then(Waiting::read);
        let state = state_of(&overview, &blocks, details);
        let activities = if waiting.is_none() { overview.work.clone() } else { Vec::new() };
        let activities = activities.into_iter().map(|work| ActivityDescription { work, unserved: None });
        let Waiting { open, operations, queues } = waiting.clone().unwrap_or_default();
        let operations = operations
            .into_iter()
            .map(|operation| OperationDescription {
                work: overview.work.iter().find(|work| work.event_id == operation.event_id).cloned(),
                child_id: operation.child.as_deref().map(|child| build_child_instance_id(instance, child)),
                operation,
                unserved: None,
                child_block: None,
            })
            .collect();
        Description {
            instance_id: instance.to_owned(),
            read_at: overview.store_time.unwrap_or_else(|| self.clock().wall()),
            orchestration_name: overview.orchestration_name,
            orchestration_version: overview.orchestration_version,
            state,
            blocks,
            unserved: None,
            serving_nodes: None,
            execution_id: overview.execution_id,
            executions: overview.executions,
            created: overview.created,
            updated: overview.updated,
            open: waiting.is_some().then_some(open),
            operations,
            activities: activities.collect(),
            queues,
            mail: overview.mail,
            lease: overview.lease,
            parent: overview.parent,
            children: overview.children,
            child_count: overview.child_count,
            keeps_waiting: self.store().abilities().has(Ability::Overviews),
            live_nodes: 0,
        }
    }
}

impl Description {
    /// What no live node serves of that for which it waits. Nothing if no node lives: then nothing is served
    /// at all.
    pub(crate) fn unserved_here_or_below(&self) -> Option<&Unserved> {
        if self.live_nodes == 0 {
            return None;
        }
        let operations = self.operations.iter().filter_map(|each| each.unserved.as_ref());
        let activities = self.activities.iter().filter_map(|each| each.unserved.as_ref());
        self.unserved.iter().chain(operations).chain(activities).next()
    }

    fn find_blocked_children(&mut self, children: &[ChildOverview]) {
        for operation in &mut self.operations {
            operation.child_block = child_of(operation, children).and_then(|child| child.block.clone());
        }
    }

    /// Notes what no live node can run. What is leased is being run.
    fn find_unserved(&mut self, pin: Option<&str>, children: &[ChildOverview], nodes: &[Node]) {
        let (name, version) = (&self.orchestration_name, &self.orchestration_version);
        let serves =
            |node: &&Node| unserved_execution(name, version, pin, std::slice::from_ref(*node)).is_none();
        self.live_nodes = nodes.len();
        self.serving_nodes = Some(nodes.iter().filter(serves).count());
        if self.lease.is_none() {
            self.unserved = unserved_execution(name, version, pin, nodes);
        }
        for ActivityDescription { work, unserved } in &mut self.activities {
            if !is_under_way(work) && !work.name.is_empty() {
                *unserved = Unserved::activity(&work.name, work.tag.as_deref(), nodes);
            }
        }
        for each in &mut self.operations {
            let OperationDescription { operation, work, .. } = &*each;
            let is_under_way = work.as_ref().is_some_and(is_under_way);
            let is_activity = matches!(operation.kind, WaitKind::Activity | WaitKind::Retry);
            if is_activity && !is_under_way {
                // Between two tries it is not queued, and its tag is not known.
                let tag = work.as_ref().map(|work| work.tag.as_deref());
                each.unserved = match tag {
                    Some(tag) => Unserved::activity(&operation.name, tag, nodes),
                    None => Unserved::activity_of_any_tag(&operation.name, nodes),
                };
            } else if operation.kind == WaitKind::Child {
                each.unserved = match child_of(each, children) {
                    Some(child) => unserved_child(child, nodes),
                    None => Unserved::orchestration(&operation.name, None, nodes),
                };
            }
        }
    }
}

const fn is_under_way(work: &WorkOverview) -> bool {
    work.lease.is_some() || work.is_held
}

fn child_of<'a>(
    operation: &OperationDescription,
    children: &'a [ChildOverview],
) -> Option<&'a ChildOverview> {
    let id = operation.child_id.as_ref()?;
    children.iter().find(|child| child.instance == *id)
}

fn unserved_child(child: &ChildOverview, nodes: &[Node]) -> Option<Unserved> {
    let has_ended = child.status.is_some_and(ExecutionStatus::is_end);
    if has_ended || child.is_leased || child.block.as_ref().is_some_and(|block| !block.holds_activity) {
        return None;
    }
    let (name, version) = (&child.orchestration_name, &child.orchestration_version);
    unserved_execution(name, version, child.pin.as_deref(), nodes)
}

/// Why no live node can run an execution. One whose name is not known may be run by any.
fn unserved_execution(name: &str, version: &str, pin: Option<&str>, nodes: &[Node]) -> Option<Unserved> {
    let version = Some(version).filter(|version| !version.is_empty());
    if name.is_empty() { None } else { Unserved::execution(name, version, pin, nodes) }
}

fn state_of(overview: &InstanceOverview, blocks: &[Block], details: Option<&ErrorDetails>) -> InstanceState {
    let at = overview.completed;
    match overview.status {
        Some(ExecutionStatus::Completed) => return InstanceState::Completed { at },
        Some(ExecutionStatus::Failed) => return failed(overview, details),
        Some(ExecutionStatus::Running | ExecutionStatus::ContinuedAsNew) | None => {}
    }
    if blocks.iter().any(|block| !block.holds_activity) {
        return InstanceState::Blocked;
    }
    match overview.status {
        Some(ExecutionStatus::Running) => InstanceState::Running,
        Some(_) | None => InstanceState::Pending { starts_at: overview.starts_at },
    }
}

fn failed(overview: &InstanceOverview, details: Option<&ErrorDetails>) -> InstanceState {
    let at = overview.completed;
    if let Some(ErrorDetails::Application { kind: AppErrorKind::Cancelled { reason }, .. }) = details {
        return InstanceState::Canceled { at, reason: reason.clone() };
    }
    let error = details.map(ErrorDetails::display_message).or_else(|| overview.output.clone());
    InstanceState::Failed { at, error: error.unwrap_or_default() }
}
