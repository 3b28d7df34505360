//! Deleting and pruning many instances, a few at a time; and pruning one that has many executions.
//!
//! The writer serves everybody, so one call must not keep it for long: candidates are found by a read, and then dealt with
//! in parts, each a transaction of its own that looks again at what it deletes. What one part did stays done, and is not
//! done again if the call is repeated.

use std::collections::{BTreeSet, VecDeque};

use abide_model::{PruneOptions, PruneResult};
use abide_provider::{DeleteInstanceResult, ErrorKind, Force, Operation, Rejection, StoreError};
use rusqlite::params;

use crate::SqliteProvider;
use crate::deletion::half_deleted;
use crate::encode::column;
use crate::job::{Kind, Phase, job};
use crate::statements::{Sql, Statements};
use crate::store::delete::{Before, Deleted, Meant};
use crate::store::prune::{Chosen, Progress, PruneWish, PrunedPart, Rest};
use crate::text::lossy;

/// How many candidates one transaction deals with, at most.
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

    /// Takes back what one transaction did not get to.
    fn put_back(&mut self, rest: impl DoubleEndedIterator<Item = String>) {
        let queue = match self {
            Self::Named(ids) => ids,
            Self::Found(search) => &mut search.found,
        };
        for id in rest.rev() {
            queue.push_front(id);
        }
    }
}

impl Search {
    fn new(sql: Sql, before: Option<u64>, prune: Option<ToPrune>) -> Self {
        let before = before.map_or(i64::MAX, column);
        Self { sql, before, prune, place: (i64::MIN, 0), found: VecDeque::new(), is_over: false }
    }

    async fn go_on(&mut self, store: &SqliteProvider, operation: Operation) -> Result<(), StoreError> {
        let (sql, place, before, prune) = (self.sql, self.place, self.before, self.prune);
        let page = store.read_with(operation, move |statements| find(statements, sql, place, before, prune));
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
    prune: Option<ToPrune>,
) -> rusqlite::Result<Vec<(i64, i64, String)>> {
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, lossy(row, 2)?));
    match prune {
        None => statements.rows(sql, params![at, no, before, PAGE], read),
        Some(ToPrune { keep, ended_before }) => {
            statements.rows(sql, params![at, no, before, keep, PAGE, ended_before], read)
        }
    }
}

impl SqliteProvider {
    pub(crate) async fn delete_in_parts(
        &self,
        operation: Operation,
        mut candidates: Candidates,
        meant: Meant,
        limit: u32,
    ) -> Result<DeleteInstanceResult, StoreError> {
        let mut total = DeleteInstanceResult::default();
        let mut left = limit;
        while left > 0 {
            match self.delete_part(operation, &mut candidates, &meant, left).await {
                Ok(None) => break,
                Ok(Some(deleted)) => {
                    left = left.saturating_sub(deleted.candidates);
                    let counted = self.count(operation, deleted.erased).await;
                    total.add(&counted.map_err(|error| half_deleted(error, &total))?);
                    if let Some(id) = deleted.too_large
                        && self.thin_out_finished(operation, &id, &mut total).await?
                    {
                        candidates.put_back(std::iter::once(id));
                    }
                }
                Err(error) => return Err(half_deleted(error, &total)),
            }
        }
        Ok(total)
    }

    /// Deletes a large tree that is finished, from its leaves up, until one transaction can delete the rest. One that is not
    /// finished is left alone. Says which it was.
    async fn thin_out_finished(
        &self,
        operation: Operation,
        id: &str,
        total: &mut DeleteInstanceResult,
    ) -> Result<bool, StoreError> {
        match self.thin_out(operation, id, Force::No, total).await {
            Ok(()) => Ok(true),
            Err(error) if error.kind == ErrorKind::Rejected(Rejection::Running) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Deals with the next few candidates; `None` if there are none.
    async fn delete_part(
        &self,
        operation: Operation,
        candidates: &mut Candidates,
        meant: &Meant,
        limit: u32,
    ) -> Result<Option<Deleted>, StoreError> {
        let part = candidates.next(self, operation).await?;
        if part.is_empty() {
            return Ok(None);
        }
        let (meant, mine) = (meant.clone(), part.clone());
        let kind = Kind::write(operation, Phase::Commit);
        let deleted = self.run(job(kind, move |tx| Ok(tx.delete_meant(&mine, &meant, limit)?))).await?;
        candidates.put_back(part.into_iter().skip(deleted.looked_at));
        Ok(Some(deleted))
    }

    /// Prunes many instances, up to `limit` of those that have something to prune.
    pub(crate) async fn prune_in_parts(
        &self,
        mut candidates: Candidates,
        before: Before,
        options: PruneOptions,
        limit: u32,
    ) -> Result<PruneResult, StoreError> {
        let chosen = match candidates {
            Candidates::Named(_) => Chosen::ByName,
            Candidates::Found(_) => Chosen::BySearch,
        };
        let wish = PruneWish { before, options, candidates: chosen };
        let mut total = PruneResult::default();
        let (mut left, mut first) = (limit, Progress::Untouched);
        while left > 0 {
            match self.prune_part(&mut candidates, &wish, left, first).await {
                Ok(None) => break,
                Ok(Some(part)) => {
                    total.add(&part.result);
                    left = left.saturating_sub(part.used);
                    first = part.next;
                }
                Err(error) => {
                    return Err(half_way(error, total.executions_deleted, "executions were pruned"));
                }
            }
        }
        Ok(total)
    }

    async fn prune_part(
        &self,
        candidates: &mut Candidates,
        wish: &PruneWish,
        limit: u32,
        first: Progress,
    ) -> Result<Option<PrunedPart>, StoreError> {
        let operation = Operation::PruneExecutionsBulk;
        let part = candidates.next(self, operation).await?;
        if part.is_empty() {
            return Ok(None);
        }
        let (wish, mine) = (wish.clone(), part.clone());
        let kind = Kind::write(operation, Phase::Commit);
        let prune = job(kind, move |tx| Ok(tx.prune_meant(&mine, &wish, limit, first)?));
        let pruned = self.run(prune).await?;
        candidates.put_back(part.into_iter().skip(pruned.done));
        Ok(Some(pruned))
    }

    /// Prunes one instance, however many executions it has.
    pub(crate) async fn prune_one(
        &self,
        id: &str,
        options: &PruneOptions,
    ) -> Result<PruneResult, StoreError> {
        let kind = Kind::write(Operation::PruneExecutions, Phase::Commit);
        let mut total = PruneResult { instances_processed: 1, ..PruneResult::default() };
        loop {
            let (id, options) = (id.to_owned(), options.clone());
            let (part, rest) = match self.run(job(kind, move |tx| tx.prune_instance(&id, &options))).await {
                Ok(part) => part,
                // Deleted meanwhile: nothing is left to prune.
                Err(error) if total.executions_deleted > 0 && is_not_found(&error) => return Ok(total),
                Err(error) => {
                    return Err(half_way(error, total.executions_deleted, "executions were pruned"));
                }
            };
            total.executions_deleted = total.executions_deleted.saturating_add(part.executions_deleted);
            total.events_deleted = total.events_deleted.saturating_add(part.events_deleted);
            if rest == Rest::Nothing {
                return Ok(total);
            }
        }
    }
}

fn is_not_found(error: &StoreError) -> bool {
    error.kind == ErrorKind::Rejected(Rejection::NotFound)
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
