//! What every part of a running runtime has at hand.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use abide_model::{Clock, Entropy, Spawn};
use abide_provider::{Abilities, Provider};
use futures_util::future::BoxFuture;
use tokio::sync::Notify;

use crate::block_log::{BlockLog, Blocked};
use crate::chances::Chances;
use crate::crowd::Crowd;
use crate::executor::Executor;
use crate::health::Pulse;
use crate::observability::MetricsProvider;
use crate::registry::{ActivityRegistry, OrchestrationRegistry};
use crate::reminders::Reminders;
use crate::renewal::Renewals;
use crate::serving::NodeServing;
use crate::settings::Settings;
use crate::stop::Stop;
use crate::store_call::Caller;

/// Shared by the lanes, the renewals and the housekeeping.
pub(crate) struct Core {
    pub(crate) store: Arc<dyn Provider>,
    pub(crate) abilities: Abilities,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) spawn: Arc<dyn Spawn>,
    pub(crate) executor: Arc<Executor>,
    pub(crate) settings: Settings,
    pub(crate) orchestrations: OrchestrationRegistry,
    pub(crate) activities: ActivityRegistry,
    pub(crate) metrics: Arc<MetricsProvider>,
    pub(crate) renewals: Arc<Renewals>,
    pub(crate) serving: NodeServing,
    pub(crate) blocks: BlockLog,
    pub(crate) blocked: Blocked,
    pub(crate) pulse: Pulse,
    /// Of activities.
    pub(crate) crowd: Crowd,
    pub(crate) chances: Chances,
    pub(crate) reminders: Reminders,
    pub(crate) stop: Stop,
    pub(crate) caller: Caller,
    /// Leases that were given to us, and those of them that are over.
    pub(crate) work_done: AtomicU64,
    /// Tells this runtime from every other.
    pub(crate) id: String,
    /// A lease was renewed.
    pub(crate) renewed: Notify,
    /// For stores in which nobody can wait: mail was sent from here.
    pub(crate) new_mail: Notify,
    /// For stores in which nobody can wait: work was enqueued from here.
    pub(crate) new_work: Notify,
}

impl Core {
    /// Starts a task that a shutdown waits for.
    pub(crate) fn spawn(&self, name: &'static str, task: BoxFuture<'static, ()>) {
        self.spawn.spawn(name, self.stop.tracked(task));
    }
}
