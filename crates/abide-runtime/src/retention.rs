//! Removing instances that ended long ago, if the operator says so.

use std::sync::Arc;
use std::time::Duration;

use abide_provider::{Operation, Retention};
use futures_util::FutureExt;
use tracing::{debug, info};

use crate::RetentionConfig;
use crate::core::Core;
use crate::store_call::{Called, Pause};

/// A batch is removed within this time, or not by us.
const PATIENCE: Duration = Duration::from_secs(60);

/// Between two batches others have their turn.
const BREATH: Duration = Duration::from_millis(10);

/// Removes what is old enough, from time to time, until the runtime ends.
pub(crate) async fn enforce(core: Arc<Core>) {
    let Some(retention) = core.settings.retention.clone() else { return };
    if core.store.as_management_capability().is_none() {
        return debug!(target: "abide::runtime", "this store cannot remove instances: it has no administrative side");
    }
    loop {
        if core.caller.pause(some_of(&core, retention.every)).await == Pause::Ending {
            return;
        }
        sweep(&core, &retention).await;
    }
}

/// Between half of it and all, so that nodes that started together do not come together.
fn some_of(core: &Core, every: Duration) -> Duration {
    let nanos = u64::try_from(every.as_nanos()).unwrap_or(u64::MAX);
    every.saturating_sub(Duration::from_nanos(core.entropy.next_u64() % (nanos / 2).saturating_add(1)))
}

/// One batch after the other, until there is nothing more.
async fn sweep(core: &Arc<Core>, retention: &RetentionConfig) {
    let mut removed = 0_u64;
    while let Some(batch) = remove(core, retention).await {
        removed = removed.saturating_add(batch);
        let is_full = batch >= u64::from(retention.batch);
        if !is_full || core.caller.pause(BREATH).await == Pause::Ending {
            break;
        }
    }
    if removed > 0 {
        info!(target: "abide::runtime", instances = removed, keep_finished_for = ?retention.keep_finished_for,
            "instances that ended long ago were removed");
    }
}

/// Removes a batch; says how many instances it had. `None` if the store did not do it: the next round will.
async fn remove(core: &Arc<Core>, retention: &RetentionConfig) -> Option<u64> {
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
            Some(deleted.instances_deleted)
        }
        Called::Answered(Some(Err(error))) => {
            debug!(target: "abide::runtime", %error, "old instances could not be removed; the next round will");
            None
        }
        Called::Answered(None) | Called::Unanswered(_) => None,
    }
}
