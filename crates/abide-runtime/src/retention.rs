//! Removing instances that ended long ago, if the operator says so.

use std::sync::Arc;
use std::time::Duration;

use abide_provider::{Operation, Retention};
use futures_util::FutureExt;
use tracing::{debug, info, warn};

use crate::RetentionConfig;
use crate::core::Core;
use crate::pacing::some_of;
use crate::store_call::{Called, Pause};

/// A batch is removed within this time, or not by us.
const PATIENCE: Duration = Duration::from_secs(60);

/// Between two batches others have their turn.
const BREATH: Duration = Duration::from_millis(10);

/// The first round comes within this time: a node that is restarted often must not put it off for ever.
const SOON: Duration = Duration::from_secs(60);

/// Removes what is old enough, from time to time, until the runtime ends.
pub(crate) async fn enforce(core: Arc<Core>) {
    let Some(retention) = core.settings.retention.clone() else { return };
    if core.store.as_management_capability().is_none() {
        return warn!(target: "abide::runtime",
            "finished instances are not removed: this store has no administrative side");
    }
    let mut wait = retention.every.min(SOON);
    let mut last = Round::Done;
    while core.caller.pause(some_of(wait, &*core.entropy)).await == Pause::Over {
        last = sweep(&core, &retention, last).await;
        wait = retention.every;
    }
}

/// What became of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Round {
    Done,
    Failed,
}

/// One batch after the other, until there is nothing more.
async fn sweep(core: &Arc<Core>, retention: &RetentionConfig, last: Round) -> Round {
    let mut removed = 0_u64;
    let round = loop {
        let instances = match remove(core, retention).await {
            Ok(instances) => instances,
            Err(failure) => {
                complain(core, last, &failure);
                break Round::Failed;
            }
        };
        removed = removed.saturating_add(instances);
        // A root is at least one instance: with fewer instances than a batch may have roots, it was not full. Trees only make for
        // one batch more than is needed.
        let was_full = instances >= u64::from(retention.batch);
        if !was_full || core.caller.pause(BREATH).await == Pause::Ending {
            break Round::Done;
        }
    };
    if removed > 0 {
        info!(target: "abide::runtime", instances = removed, keep_finished_for = ?retention.keep_finished_for,
            "instances that ended long ago were removed");
    }
    round
}

/// Removes a batch; says how many instances it had, or why the store did not do it.
async fn remove(core: &Arc<Core>, retention: &RetentionConfig) -> Result<u64, String> {
    let (store, request) = (
        Arc::clone(&core.store),
        Retention {
            keep_for: retention.keep_finished_for,
            limit: retention.batch,
            host_time: core.clock.wall(),
        },
    );
    let call = async move { Some(store.as_management_capability()?.enforce_retention(request).await) };
    match core.caller.call(Operation::EnforceRetention, PATIENCE, call.boxed()).await {
        Called::Answered(Some(Ok(deleted))) => {
            core.metrics.record_instances_removed(deleted.instances_deleted);
            Ok(deleted.instances_deleted)
        }
        Called::Answered(Some(Err(error))) => Err(error.to_string()),
        Called::Answered(None) => Err("the store has no administrative side any more".to_owned()),
        Called::Unanswered(error) => Err(error.to_string()),
    }
}

/// Of failures in a row the first is told: until one round comes through, nothing is removed. A runtime that ends cuts it off
/// itself.
fn complain(core: &Core, last: Round, failure: &str) {
    if last == Round::Done && !core.stop.ending.is_cancelled() {
        warn!(target: "abide::runtime", failure, "old instances could not be removed; the next round will try again");
    } else {
        debug!(target: "abide::runtime", failure, "old instances could not be removed");
    }
}
