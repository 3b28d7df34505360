//! Looking at instances, executions and queues, on any connection.

use std::collections::BTreeSet;

use abide_model::{ExecutionStatus, Timestamp};
use abide_provider::{ExecutionInfo, InstanceInfo, QueueDepths, SystemMetrics};
use rusqlite::{Row, params};

use super::mailbox::parse_batch;
use crate::encode::{column, number};
use crate::statements::{Sql, Statements};
use crate::text::{Text, lossy, lossy_or_null};

/// An instance in a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) no: i64,
    /// As stored: a damaged name must not be taken for another one.
    pub(crate) id: Text,
    /// How it stands; `None` if that cannot be read.
    pub(crate) status: Option<ExecutionStatus>,
}

impl Member {
    /// Reads number, name and status.
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self { no: row.get(0)?, id: row.get(1)?, status: lossy(row, 2)?.parse().ok() })
    }
}

impl Statements<'_> {
    pub(crate) fn ids(&self, sql: Sql, params: impl rusqlite::Params) -> rusqlite::Result<Vec<String>> {
        self.rows(sql, params, |row| lossy(row, 0))
    }

    pub(crate) fn executions(&self, instance: &str) -> rusqlite::Result<Vec<u64>> {
        self.rows(Sql::ListExecutions, [instance], |row| Ok(number(row.get(0)?)))
    }

    pub(crate) fn instance_info(&self, instance: &str) -> rusqlite::Result<Option<InstanceInfo>> {
        self.row(Sql::InstanceInfo, [instance], |row| {
            Ok(InstanceInfo {
                instance_id: instance.to_owned(),
                orchestration_name: lossy(row, 0)?,
                orchestration_version: lossy(row, 1)?,
                current_execution_id: number(row.get(2)?),
                status: lossy(row, 3)?,
                output: lossy_or_null(row, 4)?,
                created_at: number(row.get(5)?),
                updated_at: number(row.get(6)?),
                parent_instance_id: lossy_or_null(row, 7)?,
            })
        })
    }

    pub(crate) fn execution_info(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> rusqlite::Result<Option<ExecutionInfo>> {
        self.row(Sql::ExecutionInfo, params![instance, column(execution_id)], |row| {
            Ok(ExecutionInfo {
                execution_id,
                status: lossy(row, 0)?,
                output: lossy_or_null(row, 1)?,
                started_at: number(row.get(2)?),
                completed_at: row.get::<_, Option<i64>>(3)?.map(number),
                event_count: usize::try_from(row.get::<_, i64>(4)?).unwrap_or(0),
            })
        })
    }

    pub(crate) fn metrics(&self) -> rusqlite::Result<SystemMetrics> {
        let mut metrics = SystemMetrics {
            total_executions: self.count(Sql::CountExecutions, [])?,
            total_events: self.count(Sql::CountAllEvents, [])?,
            ..SystemMetrics::default()
        };
        let by_status =
            self.rows(Sql::CountInstances, [], |row| Ok((lossy(row, 0)?, number(row.get(1)?))))?;
        for (status, instances) in by_status {
            metrics.total_instances += instances;
            match status.parse().unwrap_or(ExecutionStatus::Running) {
                ExecutionStatus::Running | ExecutionStatus::ContinuedAsNew => {
                    metrics.running_instances += instances;
                }
                ExecutionStatus::Completed => metrics.completed_instances += instances,
                ExecutionStatus::Failed => metrics.failed_instances += instances,
            }
        }
        Ok(metrics)
    }

    pub(crate) fn queue_depths(&self, now: Timestamp) -> rusqlite::Result<QueueDepths> {
        let now = column(now.as_millis());
        let messages = self.count(Sql::CountMessages, [now])?;
        let mut leased = 0;
        let batches = self.rows(Sql::LeasedMessages, [now], |row| {
            Ok((row.get::<_, i64>(0)?, parse_batch(&lossy(row, 1)?)))
        })?;
        for (mailbox, batch) in batches {
            for message in batch {
                leased += u64::from(self.row(Sql::HasMessage, [mailbox, message], |_| Ok(()))?.is_some());
            }
        }
        let size = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        Ok(QueueDepths {
            orchestrator_queue: size(messages.saturating_sub(leased)),
            worker_queue: size(self.count(Sql::CountWaitingWork, [now])?),
            timer_queue: 0,
        })
    }

    pub(crate) fn count(&self, sql: Sql, params: impl rusqlite::Params) -> rusqlite::Result<u64> {
        Ok(self.row(sql, params, |row| row.get::<_, i64>(0))?.map_or(0, number))
    }

    pub(crate) fn children(&self, id: &Text) -> rusqlite::Result<Vec<Member>> {
        self.children_up_to(id, usize::MAX)
    }

    fn children_up_to(&self, id: &Text, most: usize) -> rusqlite::Result<Vec<Member>> {
        self.rows(Sql::Children, params![id, i64::try_from(most).unwrap_or(i64::MAX)], Member::read)
    }

    /// Everything below an instance, parents before children.
    pub(crate) fn descendants(&self, id: &Text) -> rusqlite::Result<Vec<Member>> {
        Ok(self.descendants_up_to(id, usize::MAX)?.unwrap_or_default())
    }

    /// The same; `None` if there are `most` or more.
    pub(crate) fn descendants_up_to(&self, id: &Text, most: usize) -> rusqlite::Result<Option<Vec<Member>>> {
        let mut seen = BTreeSet::from([id.clone()]);
        let mut found: Vec<Member> = Vec::new();
        let mut next = 0;
        let mut parent = Some(id.clone());
        while let Some(id) = parent {
            // Links that form a ring, by damage, must not be followed for ever.
            let children = self.children_up_to(&id, most)?;
            found.extend(children.into_iter().filter(|child| seen.insert(child.id.clone())));
            if found.len() >= most {
                return Ok(None);
            }
            parent = found.get(next).map(|member| member.id.clone());
            next += 1;
        }
        Ok(Some(found))
    }

    /// Whether nothing will happen to an instance any more unless somebody wants it.
    pub(crate) fn is_finished(&self, no: i64, status: Option<ExecutionStatus>) -> rusqlite::Result<bool> {
        match status {
            Some(ExecutionStatus::Completed | ExecutionStatus::Failed) => Ok(true),
            Some(ExecutionStatus::ContinuedAsNew) => {
                Ok(self.row(Sql::HasSuccessor, [no], |_| Ok(()))?.is_none())
            }
            Some(ExecutionStatus::Running) | None => Ok(false),
        }
    }
}
