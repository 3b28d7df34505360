//! Pruning that the code asks for in the middle of a turn.
//!
//! An execution that the store knows is pruned behind at once. In its first turn the store does not know it yet: its predecessor
//! is the current one and counts as kept, so that one execution more stays than was asked for. That one goes with the commit,
//! which is fenced, and the code is told of both: what is asked for in the first turn and in a later one has the same answer.
//!
//! What is pruned at once is not fenced, so it takes only what ended before the execution began that is current for the lease. A
//! holder that lost its lease without knowing takes nothing then that came later, however far the instance has got meanwhile.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use abide_engine::Identity;
use abide_model::{PruneOptions, PruneResult};
use abide_provider::{ExecutionInfo, Operation, Provider, ProviderError, Rejection, StoreError};
use futures_util::future::{BoxFuture, Either, FutureExt, select};

use super::commit::CommitEnd;
use super::{Held, Orchestrator};
use crate::insist::{Told, meant};
use crate::store_call::PATIENCE;

/// A prune of very much is made in many parts, and only an answer counts all of them.
const PATIENCE_OF_PRUNES: Duration = Duration::from_secs(60);

/// Executions of which the code was told that they are gone, and that go with the commit.
#[derive(Debug, Default)]
pub(super) struct Promises {
    executions: BTreeMap<u64, Ended>,
}

/// What there is to know of an execution that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ended {
    events: u64,
    at: Option<u64>,
}

impl Ended {
    fn of(info: &ExecutionInfo) -> Self {
        Self { events: u64::try_from(info.event_count).unwrap_or(u64::MAX), at: info.completed_at }
    }

    fn is_before(self, time: Option<u64>) -> bool {
        time.is_none_or(|time| self.at.is_some_and(|at| at < time))
    }

    const fn counted(self) -> PruneResult {
        PruneResult { instances_processed: 0, executions_deleted: 1, events_deleted: self.events }
    }
}

impl Promises {
    /// One more goes with the commit. What is told of it; nothing if it was told before.
    fn promise(&mut self, execution_id: u64, ended: Ended) -> PruneResult {
        match self.executions.insert(execution_id, ended) {
            Some(_told) => PruneResult::default(),
            None => ended.counted(),
        }
    }

    /// Those up to this one are gone by now, if they ended before that time. What was told of them already.
    fn gone_by_now(&mut self, up_to: u64, before: Option<u64>) -> PruneResult {
        let mut told = PruneResult::default();
        self.executions.retain(|id, ended| {
            let is_gone = *id <= up_to && ended.is_before(before);
            if is_gone {
                told.add(&ended.counted());
            }
            !is_gone
        });
        told
    }

    /// What the commit of this execution prunes: what was promised, and what else there is to prune with it.
    ///
    /// Executions end one after the other, so any prune takes all up to one of them. The one that takes more does what both would.
    pub(super) fn and(&self, other: Option<PruneOptions>, execution_id: u64) -> Option<PruneOptions> {
        let Some((last, ended)) = self.executions.last_key_value() else { return other };
        let kept = u32::try_from(execution_id.saturating_sub(*last)).unwrap_or(u32::MAX);
        let takes_it = |other: &PruneOptions| other.kept() <= kept && ended.is_before(other.completed_before);
        // Not what ended later and only by its number comes before: a clock may have been set back.
        let latest = self.executions.values().filter_map(|ended| ended.at).max();
        let completed_before = latest.map(|at| at.saturating_add(1));
        other.filter(takes_it).or(Some(PruneOptions { keep_last: Some(kept), completed_before }))
    }
}

impl Orchestrator {
    /// Prunes earlier executions in the middle of a turn; what the code is told, or how the turn ends without an answer.
    pub(super) async fn prune_in_turn(
        &self,
        held: &Held,
        who: &Identity,
        options: PruneOptions,
        promises: &mut Promises,
    ) -> Result<Result<PruneResult, String>, CommitEnd> {
        if self.core.store.as_management_capability().is_none() {
            return Ok(Err("this store cannot prune: it has no administrative side".to_owned()));
        }
        let current = held.lease.position.execution_id;
        if current == 0 {
            return Ok(Ok(PruneResult { instances_processed: 1, ..PruneResult::default() }));
        }
        let Some(now) = self.info(held, current).await? else {
            return Ok(Err(format!("the store does not know execution {current} of this instance")));
        };
        let at_once = ended_before(&options, now.started_at);
        let (kept, before) = (u64::from(options.kept()), at_once.completed_before);
        let mut pruned = match self.prune_now(held, at_once).await {
            Told::Done(pruned) => pruned,
            Told::Refused { error, .. } if is_lost(&error) => return Err(CommitEnd::NotOurs),
            Told::Refused { error, .. } => return Ok(Err(error.to_string())),
            Told::GivenUp => return Err(CommitEnd::GivenUp),
        };
        self.core.metrics.record_executions_pruned(pruned.executions_deleted);
        if current == who.execution_id {
            return Ok(Ok(pruned));
        }
        take(&mut pruned, &promises.gone_by_now(current.saturating_sub(kept), before));
        let one_more = who.execution_id.saturating_sub(kept);
        let ended =
            if one_more == 0 { None } else { self.info(held, one_more).await?.map(|info| Ended::of(&info)) };
        if let Some(ended) = ended.filter(|ended| ended.is_before(options.completed_before)) {
            pruned.add(&promises.promise(one_more, ended));
        }
        Ok(Ok(pruned))
    }

    async fn prune_now(&self, held: &Held, options: PruneOptions) -> Told<PruneResult> {
        self.insist_on(held, (Operation::PruneExecutions, PATIENCE_OF_PRUNES), move |store, instance| {
            let options = options.clone();
            async move {
                let admin = store.as_management_capability().ok_or_else(no_side)?;
                admin.prune_executions(&instance, options).await
            }
            .boxed()
        })
        .await
    }

    /// What the store knows of an execution; `None` if it is not there.
    async fn info(&self, held: &Held, execution_id: u64) -> Result<Option<ExecutionInfo>, CommitEnd> {
        let info = self.insist_on(held, (Operation::GetExecutionInfo, PATIENCE), move |store, instance| {
            async move {
                let admin = store.as_management_capability().ok_or_else(no_side)?;
                admin.get_execution_info(&instance, execution_id).await
            }
            .boxed()
        });
        match info.await {
            Told::Done(info) => Ok(Some(info)),
            Told::Refused { error, .. } if is_lost(&error) => Err(CommitEnd::NotOurs),
            Told::Refused { .. } => Ok(None),
            Told::GivenUp => Err(CommitEnd::GivenUp),
        }
    }

    /// Asks the store until it answers, but not once it is known that the lease is lost: then it is up to others. What was pruned
    /// already may be pruned again, so a lost answer may be asked for again.
    async fn insist_on<T, F>(
        &self,
        held: &Held,
        (operation, patience): (Operation, Duration),
        mut call: F,
    ) -> Told<T>
    where
        T: Send + 'static,
        F: FnMut(Arc<dyn Provider>, String) -> BoxFuture<'static, Result<T, ProviderError>>,
    {
        let lost = || StoreError::rejected(operation, Rejection::LeaseLost, "the lease is lost");
        let ask = || {
            let answer = call(Arc::clone(&self.core.store), held.lease.instance.clone());
            async move { answer.await.map_err(|error| meant(operation, error, Rejection::Invalid)) }.boxed()
        };
        let told = Box::pin(self.core.insist_within(patience, operation, ask));
        match select(Box::pin(held.lost.cancelled()), told).await {
            Either::Left(_) => Told::Refused { error: lost(), perhaps_applied: true },
            Either::Right((told, _)) => told,
        }
    }
}

/// The same, but nothing that ended after this time.
fn ended_before(options: &PruneOptions, time: u64) -> PruneOptions {
    let after = time.saturating_add(1);
    let completed_before = options.completed_before.map_or(after, |before| before.min(after));
    PruneOptions { completed_before: Some(completed_before), ..*options }
}

fn no_side() -> ProviderError {
    ProviderError::permanent(Operation::PruneExecutions.as_str(), "no administrative side")
}

fn is_lost(error: &StoreError) -> bool {
    error.rejection() == Some(Rejection::LeaseLost)
}

const fn take(from: &mut PruneResult, told: &PruneResult) {
    from.executions_deleted = from.executions_deleted.saturating_sub(told.executions_deleted);
    from.events_deleted = from.events_deleted.saturating_sub(told.events_deleted);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(keep_last: u32, completed_before: Option<u64>) -> PruneOptions {
        PruneOptions { keep_last: Some(keep_last), completed_before }
    }

    /// The eighth execution promised that these are gone, which ended at a hundred times their number.
    fn promised(executions: &[u64]) -> Promises {
        let mut promises = Promises::default();
        for id in executions {
            promises.promise(*id, Ended { events: 5, at: Some(id * 100) });
        }
        promises
    }

    #[test]
    fn without_a_promise_the_commit_prunes_what_it_would() {
        assert_eq!(promised(&[]).and(None, 8), None);
        assert_eq!(promised(&[]).and(Some(keep(3, Some(7))), 8), Some(keep(3, Some(7))));
    }

    #[test]
    fn the_wish_that_takes_more_does_what_both_would() {
        assert_eq!(promised(&[7]).and(None, 8), Some(keep(1, Some(701))));
        assert_eq!(promised(&[4, 6]).and(None, 8), Some(keep(2, Some(601))));
        // Another wish that keeps more, or takes less because of its time.
        assert_eq!(promised(&[7]).and(Some(keep(5, None)), 8), Some(keep(1, Some(701))));
        assert_eq!(promised(&[6]).and(Some(keep(1, Some(600))), 8), Some(keep(2, Some(601))));
        // One that takes what was promised too.
        assert_eq!(promised(&[6]).and(Some(keep(1, Some(601))), 8), Some(keep(1, Some(601))));
        assert_eq!(promised(&[6]).and(Some(keep(1, None)), 8), Some(keep(1, None)));
        assert_eq!(promised(&[6]).and(Some(keep(2, None)), 8), Some(keep(2, None)));
    }

    #[test]
    fn nothing_is_told_twice() {
        let mut promises = promised(&[4, 6]);
        let again = promises.promise(6, Ended { events: 5, at: Some(600) });
        assert_eq!(again, PruneResult::default());
        // The fourth went at once after all; the sixth ended too late for that.
        let told = promises.gone_by_now(6, Some(600));
        assert_eq!((told.executions_deleted, told.events_deleted), (1, 5));
        assert_eq!(promises.executions.into_keys().collect::<Vec<_>>(), [6]);
    }
}
