//! Deleting and pruning many instances, a few at a time.
//!
//! The writer serves everybody, so one call must not keep it for long: candidates are found by a read, and then dealt with
//! in parts, each a transaction of its own that looks again at what it deletes.

use std::collections::{BTreeSet, VecDeque};

use abide_model::{PruneOptions, PruneResult};
use abide_provider::{DEFAULT_BULK, DeleteInstanceResult, Operation, StoreError};
use rusqlite::params;

use crate::SqliteProvider;
use crate::encode::column;
use crate::job::{Kind, Phase, job};
use crate::statements::{Sql, Statements};
use crate::store::delete::{Before, Meant};
use crate::text::lossy;

/// How many candidates one transaction deals with.
const PART: usize = 64;

/// How many candidates one read finds.
const PAGE: i64 = 1_024;

/// Where the candidates come from.
pub(crate) enum Candidates {
    /// These.
    Named(VecDeque<String>),
    /// What a statement finds, page by page.
    Found(Search),
}

/// A statement that finds candidates behind a place, and the place it has got to.
pub(crate) struct Search {
    sql: Sql,
    /// Ended before this time.
    before: i64,
    /// For pruning: how many executions to keep.
    keep: Option<i64>,
    place: (i64, i64),
    found: VecDeque<String>,
    is_over: bool,
}

impl Candidates {
    /// These, each once.
    pub(crate) fn named(ids: Vec<String>) -> Self {
        let mut seen = BTreeSet::new();
        Self::Named(ids.into_iter().filter(|id| seen.insert(id.clone())).collect())
    }

    /// What ended, in the order in which it did.
    pub(crate) fn ended(sql: Sql, before: Option<u64>) -> Self {
        Self::Found(Search::new(sql, before, None))
    }

    /// What has executions to prune, in the order of creation.
    pub(crate) fn prunable(options: &PruneOptions) -> Self {
        let keep = i64::from(options.keep_last.unwrap_or(1).max(1));
        Self::Found(Search::new(Sql::PrunableInstances, options.completed_before, Some(keep)))
    }

    /// The next few; none at the end.
    async fn next(
        &mut self,
        store: &SqliteProvider,
        operation: Operation,
    ) -> Result<Vec<String>, StoreError> {
        let queue = match self {
            Self::Named(ids) => ids,
            Self::Found(search) => {
                if search.found.is_empty() && !search.is_over {
                    search.go_on(store, operation).await?;
                }
                &mut search.found
            }
        };
        Ok(queue.drain(..queue.len().min(PART)).collect())
    }
}

impl Search {
    fn new(sql: Sql, before: Option<u64>, keep: Option<i64>) -> Self {
        let before = before.map_or(i64::MAX, column);
        Self { sql, before, keep, place: (i64::MIN, 0), found: VecDeque::new(), is_over: false }
    }

    async fn go_on(&mut self, store: &SqliteProvider, operation: Operation) -> Result<(), StoreError> {
        let (sql, place, before, keep) = (self.sql, self.place, self.before, self.keep);
        let page = store.read_with(operation, move |statements| find(statements, sql, place, before, keep));
        let page = page.await?;
        self.is_over = i64::try_from(page.len()).unwrap_or(i64::MAX) < PAGE;
        if let Some((at, no, _)) = page.last() {
            self.place = (*at, *no);
        }
        self.found = page.into_iter().map(|(.., id)| id).collect();
        Ok(())
    }
}

fn find(
    statements: &Statements<'_>,
    sql: Sql,
    (at, no): (i64, i64),
    before: i64,
    keep: Option<i64>,
) -> rusqlite::Result<Vec<(i64, i64, String)>> {
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, lossy(row, 2)?));
    match keep {
        None => statements.rows(sql, params![at, no, before, PAGE], read),
        Some(keep) => statements.rows(sql, params![at, no, before, keep, PAGE], read),
    }
}

impl SqliteProvider {
    pub(crate) async fn delete_in_parts(
        &self,
        operation: Operation,
        mut candidates: Candidates,
        meant: Meant,
        limit: Option<u32>,
    ) -> Result<DeleteInstanceResult, StoreError> {
        let mut total = DeleteInstanceResult::default();
        let mut left = limit.unwrap_or(DEFAULT_BULK);
        while left > 0 {
            let part = candidates.next(self, operation).await?;
            if part.is_empty() {
                break;
            }
            let meant = meant.clone();
            let kind = Kind::write(operation, Phase::Commit);
            let deleted = self.run(job(kind, move |tx| Ok(tx.delete_meant(&part, &meant, left)?))).await?;
            total.add(&deleted.result);
            left = left.saturating_sub(deleted.candidates);
        }
        Ok(total)
    }

    pub(crate) async fn prune_in_parts(
        &self,
        mut candidates: Candidates,
        before: Before,
        options: PruneOptions,
        limit: Option<u32>,
    ) -> Result<PruneResult, StoreError> {
        let operation = Operation::PruneExecutionsBulk;
        let mut total = PruneResult::default();
        let limit = u64::from(limit.unwrap_or(DEFAULT_BULK));
        while total.instances_processed < limit {
            let part = candidates.next(self, operation).await?;
            if part.is_empty() {
                break;
            }
            let (options, left) = (options.clone(), limit - total.instances_processed);
            let kind = Kind::write(operation, Phase::Commit);
            let prune = job(kind, move |tx| Ok(tx.prune_meant(&part, before, &options, left)?));
            let pruned = self.run(prune).await?;
            total.instances_processed += pruned.instances_processed;
            total.executions_deleted += pruned.executions_deleted;
            total.events_deleted += pruned.events_deleted;
        }
        Ok(total)
    }
}
