//! Deleting and pruning: one call per instance or tree, however many there are.
//!
//! Candidates are found by reads, page by page, and dealt with one after the other; what may go is decided by the call that deletes it. What
//! one call did stays done, and is not done again if the whole is repeated.

use std::collections::{BTreeSet, VecDeque};

use abide_model::{ExecutionStatus, PruneOptions, PruneResult};
use abide_provider::{AdminRefusal, DeleteInstanceResult, ErrorKind, Operation, PRUNE_BATCH, StoreError};
use tokio_postgres::Row;

use crate::PostgresProvider;
use crate::encode::{column, number};
use crate::news::News;
use crate::node::call::Values;
use crate::statements::Sql;
use crate::text::{spelt, unspell};

/// How many candidates one read finds.
const PAGE: i64 = 1_024;

/// Which instances a deletion takes, and what may stand in its way: see `delete_instances.sql`.
#[derive(Debug, Clone)]
pub(crate) enum Scope {
    Set { force: bool },
    Tree { force: bool },
    Leaves { force: bool },
    Roots { before: Option<u64> },
    Orphans { ends: Vec<ExecutionStatus>, before: Option<u64> },
}

impl Scope {
    /// The values behind the names.
    pub(crate) fn values(&self) -> (&'static str, bool, Option<Vec<&'static str>>, Option<i64>) {
        match self {
            Self::Set { force } => ("set", *force, None, None),
            Self::Tree { force } => ("tree", *force, None, None),
            Self::Leaves { force } => ("leaves", *force, None, None),
            Self::Roots { before } => ("roots", false, None, before.map(column)),
            Self::Orphans { ends, before } => {
                let ends = ends.iter().map(|end| end.as_str()).collect();
                ("orphans", false, Some(ends), before.map(column))
            }
        }
    }
}

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
    prune: Option<ToPrune>,
    place: (i64, i64),
    found: VecDeque<String>,
    is_over: bool,
}

/// What a search for something to prune must know.
#[derive(Debug, Clone, Copy)]
struct ToPrune {
    /// How many executions are kept.
    keep: i64,
    /// Only of instances that ended before this time.
    ended_before: Option<i64>,
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
    pub(crate) fn prunable(options: &PruneOptions, ended_before: Option<u64>) -> Self {
        let prune = ToPrune { keep: i64::from(options.kept()), ended_before: ended_before.map(column) };
        Self::Found(Search::new(Sql::PrunableInstances, options.completed_before, Some(prune)))
    }

    /// The next; none at the end.
    async fn next(
        &mut self,
        store: &PostgresProvider,
        operation: Operation,
    ) -> Result<Option<String>, StoreError> {
        match self {
            Self::Named(ids) => Ok(ids.pop_front()),
            Self::Found(search) => {
                if search.found.is_empty() && !search.is_over {
                    search.go_on(store, operation).await?;
                }
                Ok(search.found.pop_front())
            }
        }
    }
}

impl Search {
    fn new(sql: Sql, before: Option<u64>, prune: Option<ToPrune>) -> Self {
        let before = before.map_or(i64::MAX, column);
        Self { sql, before, prune, place: (i64::MIN, 0), found: VecDeque::new(), is_over: false }
    }

    async fn go_on(&mut self, store: &PostgresProvider, operation: Operation) -> Result<(), StoreError> {
        let (at, no) = self.place;
        let mut values: Values = vec![Box::new(at), Box::new(no), Box::new(self.before)];
        match self.prune {
            None => values.push(Box::new(PAGE)),
            Some(ToPrune { keep, ended_before }) => {
                values.push(Box::new(keep));
                values.push(Box::new(PAGE));
                values.push(Box::new(ended_before));
            }
        }
        let rows = store.rows(operation, self.sql, values).await?;
        self.is_over = i64::try_from(rows.len()).unwrap_or(i64::MAX) < PAGE;
        if let Some(last) = rows.last() {
            self.place = (last.get(0), last.get(1));
        }
        self.found = rows.iter().map(|row| unspell(row.get(2))).collect();
        Ok(())
    }
}

impl PostgresProvider {
    /// What a deletion deleted. The rows that are held for it are counted, and then given free.
    pub(crate) async fn count(
        &self,
        operation: Operation,
        row: &Row,
    ) -> Result<DeleteInstanceResult, StoreError> {
        let mut result = deleted(row);
        let held: Vec<i64> = row.get("held");
        if !held.is_empty() {
            let counted = self.one_row(operation, Sql::CountDeleted, vec![Box::new(held.clone())]).await;
            let released = self.rows(operation, Sql::ReleaseTombstones, vec![Box::new(held)]).await;
            self.shared.removals.begin();
            result.add(&deleted(&counted.map_err(uncounted)?));
            released.map_err(uncounted)?;
        }
        Ok(result)
    }

    pub(crate) fn tell_of_deletion(&self, row: &Row) {
        // What was kept for children that were not yet born may be leasable in other ways now.
        let mut news = News::of_instances(row.get("wakes"), row.get("due_at"));
        news.set_stolen(&row.get::<_, Vec<String>>("stolen"), &row.get::<_, Vec<String>>("because"));
        news.set_changed(row.get::<_, Vec<String>>("gone").into_iter().map(unspell));
        self.shared.tell(news);
    }

    /// Deletes candidates that are meant, each with everything below it; up to `limit`.
    pub(crate) async fn delete_many(
        &self,
        operation: Operation,
        mut candidates: Candidates,
        scope: &Scope,
        limit: u32,
    ) -> Result<DeleteInstanceResult, StoreError> {
        let mut total = DeleteInstanceResult::default();
        let mut left = limit;
        while left > 0 {
            let Some(id) = candidates.next(self, operation).await? else { break };
            match self.delete(operation, &[id], scope).await {
                Ok(None) => {}
                Ok(Some(deleted)) => {
                    total.add(&deleted);
                    left -= 1;
                }
                Err(error) => return Err(half_way(error, total.instances_deleted, "instances were deleted")),
            }
        }
        Ok(total)
    }

    /// Prunes one instance, however many executions it has.
    pub(crate) async fn prune_one(
        &self,
        id: &str,
        options: &PruneOptions,
    ) -> Result<PruneResult, StoreError> {
        let operation = Operation::PruneExecutions;
        match self.prune(operation, id, options, None).await? {
            Pruned::Result(result) => Ok(result),
            Pruned::Unknown | Pruned::Spared => Err(AdminRefusal::not_found(id).store_error(operation)),
        }
    }

    /// Prunes many instances, up to `limit` of those that have something to prune.
    pub(crate) async fn prune_many(
        &self,
        mut candidates: Candidates,
        before: Option<u64>,
        options: &PruneOptions,
        limit: u32,
    ) -> Result<PruneResult, StoreError> {
        let operation = Operation::PruneExecutionsBulk;
        // What a search found and has nothing to prune after all was not meant; what was named is processed all the same.
        let by_name = matches!(candidates, Candidates::Named(_));
        let mut total = PruneResult::default();
        let mut left = limit;
        while left > 0 {
            let Some(id) = candidates.next(self, operation).await? else { break };
            match self.prune(operation, &id, options, before).await {
                Ok(Pruned::Result(pruned)) => {
                    let had_something = pruned.executions_deleted > 0;
                    left -= u32::from(had_something);
                    if had_something || by_name {
                        total.add(&pruned);
                    }
                }
                Ok(Pruned::Unknown | Pruned::Spared) => {}
                Err(error) => {
                    return Err(half_way(error, total.executions_deleted, "executions were pruned"));
                }
            }
        }
        Ok(total)
    }

    /// Prunes an instance in parts.
    async fn prune(
        &self,
        operation: Operation,
        id: &str,
        options: &PruneOptions,
        before: Option<u64>,
    ) -> Result<Pruned, StoreError> {
        let mut total = PruneResult { instances_processed: 1, ..PruneResult::default() };
        loop {
            let values: Values = vec![
                Box::new(spelt(id)),
                Box::new(i64::from(options.kept())),
                Box::new(options.completed_before.map(column)),
                Box::new(column(PRUNE_BATCH)),
                Box::new(before.map(column)),
            ];
            let row = match self.one_row(operation, Sql::PruneExecutions, values).await {
                Ok(row) => row,
                Err(error) => {
                    return Err(half_way(error, total.executions_deleted, "executions were pruned"));
                }
            };
            let mut news = News::default();
            news.set_stolen(&row.get::<_, Vec<String>>("stolen"), &row.get::<_, Vec<String>>("because"));
            self.shared.tell(news);
            match row.get::<_, &str>("outcome") {
                "ok" => {}
                // Deleted meanwhile: nothing is left to prune.
                _ if total.executions_deleted > 0 => return Ok(Pruned::Result(total)),
                "unknown" => return Ok(Pruned::Unknown),
                _ => return Ok(Pruned::Spared),
            }
            let executions = number(row.get("executions"));
            total.executions_deleted = total.executions_deleted.saturating_add(executions);
            total.events_deleted = total.events_deleted.saturating_add(number(row.get("events")));
            if executions < PRUNE_BATCH {
                return Ok(Pruned::Result(total));
            }
        }
    }
}

/// What became of a prune.
enum Pruned {
    Result(PruneResult),
    /// There is no such instance.
    Unknown,
    /// It did not end before the time that was given.
    Spared,
}

fn deleted(row: &Row) -> DeleteInstanceResult {
    DeleteInstanceResult {
        instances_deleted: number(row.get("instances")),
        executions_deleted: number(row.get("executions")),
        events_deleted: number(row.get("events")),
        queue_messages_deleted: number(row.get("items")),
    }
}

/// What was to be deleted is, whatever became of the count.
fn uncounted(mut error: StoreError) -> StoreError {
    if error.kind == ErrorKind::NotApplied {
        error.kind = ErrorKind::Unknown;
    }
    error.message = format!("it is deleted, but what it had was not counted: {}", error.message);
    error
}

/// An error behind parts that are done: what is done stays done.
pub(crate) fn half_way(error: StoreError, done: u64, what: &str) -> StoreError {
    if done == 0 {
        return error;
    }
    let kind = if error.kind == ErrorKind::NotApplied { ErrorKind::Unknown } else { error.kind };
    let message = format!("{done} {what} before this: {}", error.message);
    StoreError { kind, message, ..error }
}
