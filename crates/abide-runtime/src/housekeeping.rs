//! What is done from time to time: gauges, and sessions that nobody owns any more.

use std::sync::Arc;
use std::time::Duration;

use abide_provider::Operation;
use futures_util::FutureExt;
use tracing::{debug, info};

use crate::core::Core;
use crate::store_call::{Called, PATIENCE, Pause};

/// Does its rounds until the runtime ends.
pub(crate) async fn keep_house(core: Arc<Core>) {
    let gauges = core.settings.observability.gauge_poll_interval;
    let sessions = core.settings.session_cleanup_interval;
    let (mut next_gauges, mut next_sessions) =
        (Duration::ZERO, core.clock.monotonic().saturating_add(sessions));
    let mut round = Round::First;
    loop {
        let now = core.clock.monotonic();
        if now >= next_gauges {
            read_gauges(&core, round).await;
            round = Round::Later;
            next_gauges = now.saturating_add(gauges);
        }
        if now >= next_sessions {
            forget_sessions(&core).await;
            next_sessions = now.saturating_add(sessions);
        }
        let pause = next_gauges.min(next_sessions).saturating_sub(core.clock.monotonic());
        if core.caller.pause(pause).await == Pause::Ending {
            return;
        }
    }
}

/// Whether something is done for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Round {
    First,
    Later,
}

async fn read_gauges(core: &Arc<Core>, round: Round) {
    let store = Arc::clone(&core.store);
    let call = async move {
        let admin = store.as_management_capability()?;
        Some((admin.get_system_metrics().await, admin.get_queue_depths().await))
    };
    match core.caller.call(Operation::GetQueueDepths, PATIENCE, call.boxed()).await {
        Called::Answered(Some((metrics, depths))) => {
            if let Ok(metrics) = metrics {
                let running = i64::try_from(metrics.running_instances).unwrap_or(i64::MAX);
                core.metrics.set_active_orchestrations(running);
                if round == Round::First && running > 0 {
                    info!(target: "abide::runtime", running, "this store has running instances: going on with them");
                }
            }
            if let Ok(depths) = depths {
                let (orchestrations, work) = (depths.orchestrator_queue, depths.worker_queue);
                core.metrics.update_queue_depths(count(orchestrations), count(work));
            }
        }
        Called::Answered(None) | Called::Unanswered(_) => {}
    }
}

fn count(depth: usize) -> u64 {
    u64::try_from(depth).unwrap_or(u64::MAX)
}

async fn forget_sessions(core: &Arc<Core>) {
    let (store, idle) = (Arc::clone(&core.store), core.settings.session_idle_timeout);
    let call = async move { store.cleanup_orphaned_sessions(idle).await };
    let called = core.caller.call(Operation::CleanupOrphanedSessions, PATIENCE, call.boxed()).await;
    if let Called::Answered(Err(error)) = called {
        debug!(target: "abide::runtime", %error, "sessions could not be cleaned up; the next round will");
    }
}
