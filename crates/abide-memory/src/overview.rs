//! Looking at instances, executions and queues.

use abide_model::{ExecutionStatus, Timestamp};
use abide_provider::rows::MessageClass;
use abide_provider::{
    AdminRefusal, BlockSummary, ExecutionInfo, InstanceInfo, InstanceOrder, InstancePage, InstanceQuery,
    InstanceSummary, InvalidQuery, PageCursor, QueueDepths, SystemMetrics,
};

use crate::state::{Instance, Mailbox, State};

/// An instance, with its name and the number of its mailbox.
pub(crate) struct Named<'a> {
    pub(crate) id: &'a str,
    pub(crate) incarnation: u64,
    pub(crate) instance: &'a Instance,
}

impl State {
    pub(crate) fn instances(&self) -> impl Iterator<Item = Named<'_>> {
        self.mailboxes.iter().filter_map(|(id, mailbox)| {
            let instance = mailbox.instance.as_ref()?;
            Some(Named { id, incarnation: mailbox.incarnation, instance })
        })
    }

    pub(crate) fn existing(&self, id: &str) -> Result<&Instance, AdminRefusal> {
        self.instance(id).ok_or_else(|| AdminRefusal::not_found(id))
    }

    pub(crate) fn newest_first(&self, status: Option<ExecutionStatus>) -> Vec<String> {
        let mut found: Vec<_> = self
            .instances()
            .filter(|named| status.is_none_or(|status| named.instance.status() == status))
            .collect();
        found.sort_by_key(|named| std::cmp::Reverse((named.instance.created, named.incarnation)));
        found.into_iter().map(|named| named.id.to_owned()).collect()
    }

    pub(crate) fn executions(&self, id: &str) -> Vec<u64> {
        self.instance(id).into_iter().flat_map(|instance| instance.executions.keys().copied()).collect()
    }

    pub(crate) fn instance_info(&self, id: &str) -> Result<InstanceInfo, AdminRefusal> {
        let instance = self.existing(id)?;
        Ok(InstanceInfo {
            instance_id: id.to_owned(),
            orchestration_name: instance.name.clone(),
            orchestration_version: instance.version.clone(),
            current_execution_id: instance.current,
            status: instance.status().as_str().to_owned(),
            output: instance.current_execution().and_then(|execution| execution.output.clone()),
            created_at: instance.created.as_millis(),
            updated_at: instance.updated.as_millis(),
            parent_instance_id: instance.parent_id().map(str::to_owned),
        })
    }

    pub(crate) fn execution_info(&self, id: &str, execution_id: u64) -> Result<ExecutionInfo, AdminRefusal> {
        let execution = self
            .existing(id)?
            .executions
            .get(&execution_id)
            .ok_or_else(|| AdminRefusal::ExecutionNotFound { instance: id.to_owned(), execution_id })?;
        Ok(ExecutionInfo {
            execution_id,
            status: execution.status.as_str().to_owned(),
            output: execution.output.clone(),
            started_at: execution.started.as_millis(),
            completed_at: execution.completed.map(Timestamp::as_millis),
            event_count: execution.events.len(),
        })
    }

    pub(crate) fn metrics(&self) -> SystemMetrics {
        let mut metrics = SystemMetrics::default();
        for Named { instance, .. } in self.instances() {
            metrics.total_instances += 1;
            match instance.status() {
                ExecutionStatus::Running | ExecutionStatus::ContinuedAsNew => metrics.running_instances += 1,
                ExecutionStatus::Completed => metrics.completed_instances += 1,
                ExecutionStatus::Failed => metrics.failed_instances += 1,
            }
            for execution in instance.executions.values() {
                metrics.total_executions += 1;
                metrics.total_events += count(execution.events.len());
            }
        }
        metrics
    }

    pub(crate) fn queue_depths(&self, now: Timestamp) -> QueueDepths {
        let waits = |number: &u64, mailbox: &str| {
            let hold = self.mailboxes.get(mailbox).filter(|mailbox| mailbox.is_leased(now));
            hold.and_then(|mailbox| mailbox.hold.as_ref()).is_none_or(|hold| !hold.batch.contains(number))
        };
        let orchestrator_queue = self.messages.iter().filter(|(number, message)| {
            let is_future_timer =
                matches!(message.class, MessageClass::Timer { .. }) && !message.is_visible(now);
            !is_future_timer && waits(number, &message.mailbox)
        });
        let worker_queue = self.work.values().filter(|work| !work.is_leased(now));
        QueueDepths {
            orchestrator_queue: orchestrator_queue.count(),
            worker_queue: worker_queue.count(),
            timer_queue: 0,
        }
    }

    pub(crate) fn page(&self, query: &InstanceQuery) -> Result<InstancePage, AdminRefusal> {
        let size = usize::try_from(query.page_size()?).unwrap_or(usize::MAX);
        let start = query.start()?.map(Key::of_cursor).transpose()?;
        let blocked = self.list_blocked(usize::MAX);
        let mut found: Vec<(Key, InstanceSummary)> = self
            .mailboxes
            .iter()
            .filter_map(|(id, mailbox)| {
                let mut summary = summary_of(id, mailbox.instance.as_ref()?);
                let blocks = blocked.iter().filter(|blocked| blocked.instance == *id);
                summary.block = BlockSummary::first(blocks.map(|blocked| &blocked.block));
                let key = Key::of(query.order, id, mailbox, &summary);
                let is_behind = start.as_ref().is_none_or(|start| key > *start);
                (is_behind && query.admits(&summary)).then_some((key, summary))
            })
            .collect();
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
        let has_more = found.len() > size;
        found.truncate(size);
        let next = found.last().filter(|_| has_more).map(|(key, _)| key.cursor());
        Ok(InstancePage { instances: found.into_iter().map(|(_, summary)| summary).collect(), next })
    }
}

/// Where an instance comes in an order. Keys of one order only are compared.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Newest(std::cmp::Reverse<(u64, u64)>),
    Oldest((u64, u64)),
    Id(String),
}

impl Key {
    fn of(order: InstanceOrder, id: &str, mailbox: &Mailbox, summary: &InstanceSummary) -> Self {
        let created = (summary.created_at, mailbox.incarnation);
        match order {
            InstanceOrder::NewestFirst => Self::Newest(std::cmp::Reverse(created)),
            InstanceOrder::OldestFirst => Self::Oldest(created),
            InstanceOrder::ById => Self::Id(id.to_owned()),
        }
    }

    fn of_cursor(cursor: &PageCursor) -> Result<Self, InvalidQuery> {
        match cursor.order() {
            InstanceOrder::NewestFirst => Ok(Self::Newest(std::cmp::Reverse(created_of(cursor)?))),
            InstanceOrder::OldestFirst => Ok(Self::Oldest(created_of(cursor)?)),
            InstanceOrder::ById => Ok(Self::Id(cursor.tie().to_owned())),
        }
    }

    fn cursor(&self) -> PageCursor {
        match self {
            Self::Newest(std::cmp::Reverse((at, number))) => {
                PageCursor::created(InstanceOrder::NewestFirst, *at, number.to_string())
            }
            Self::Oldest((at, number)) => {
                PageCursor::created(InstanceOrder::OldestFirst, *at, number.to_string())
            }
            Self::Id(id) => PageCursor::id(id),
        }
    }
}

fn created_of(cursor: &PageCursor) -> Result<(u64, u64), InvalidQuery> {
    let invalid = |_| InvalidQuery::Cursor { text: cursor.to_string() };
    Ok((cursor.created_at(), cursor.tie().parse().map_err(invalid)?))
}

fn summary_of(id: &str, instance: &Instance) -> InstanceSummary {
    InstanceSummary {
        instance_id: id.to_owned(),
        orchestration_name: instance.name.clone(),
        orchestration_version: instance.version.clone(),
        execution_id: instance.current,
        status: instance.status(),
        custom_status: instance.custom_status.clone(),
        created_at: instance.created.as_millis(),
        updated_at: instance.updated.as_millis(),
        completed_at: instance.ended().map(Timestamp::as_millis),
        parent_instance_id: instance.parent_id().map(str::to_owned),
        block: None,
    }
}

impl Instance {
    /// How its current execution stands.
    pub(crate) fn status(&self) -> ExecutionStatus {
        self.current_execution().map_or(ExecutionStatus::Running, |execution| execution.status)
    }

    /// When it completed or failed, if it did.
    pub(crate) fn ended(&self) -> Option<Timestamp> {
        self.current_execution().filter(|execution| execution.status.is_end())?.completed
    }

    pub(crate) fn parent_id(&self) -> Option<&str> {
        self.parent.as_ref().map(|parent| parent.instance.as_str())
    }
}

pub(crate) fn count(size: usize) -> u64 {
    u64::try_from(size).unwrap_or(u64::MAX)
}
