//! What an activity sees of the world around it.

use std::fmt;
use std::sync::Arc;

use abide_client::Client;
use abide_model::StepTry;
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, info, warn};

use crate::cancellation::{Cancellation, CancellationReason};
use crate::store_time::StoreTime;

/// Handed to every activity: who asked for it, how to log, how to hear that it should stop.
#[derive(Clone)]
pub struct ActivityContext {
    facts: Arc<Facts>,
    cancellation: Cancellation,
    client: Client,
}

/// Who an activity is.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) instance_id: String,
    pub(crate) execution_id: u64,
    pub(crate) orchestration_name: String,
    pub(crate) orchestration_version: String,
    pub(crate) activity_name: String,
    pub(crate) activity_id: u64,
    pub(crate) attempt: u32,
    pub(crate) step: StepTry,
    pub(crate) store_time: StoreTime,
    pub(crate) worker_id: String,
    pub(crate) session_id: Option<String>,
    pub(crate) tag: Option<String>,
}

impl ActivityContext {
    pub(crate) fn new(facts: Facts, cancellation: Cancellation, client: Client) -> Self {
        Self { facts: Arc::new(facts), cancellation, client }
    }

    /// The instance that asked for this activity.
    #[must_use]
    pub fn instance_id(&self) -> &str {
        &self.facts.instance_id
    }

    /// Which execution of the instance asked.
    #[must_use]
    pub fn execution_id(&self) -> u64 {
        self.facts.execution_id
    }

    /// The registered name of the orchestration that asked; `"unknown"` if the store cannot tell.
    #[must_use]
    pub fn orchestration_name(&self) -> &str {
        &self.facts.orchestration_name
    }

    /// The version of the orchestration that asked; `"unknown"` if the store cannot tell.
    #[must_use]
    pub fn orchestration_version(&self) -> &str {
        &self.facts.orchestration_version
    }

    /// The name this activity is registered under.
    #[must_use]
    pub fn activity_name(&self) -> &str {
        &self.facts.activity_name
    }

    /// The event that scheduled this activity. Each try of a retry policy has an event of its own.
    #[must_use]
    pub fn activity_id(&self) -> u64 {
        self.facts.activity_id
    }

    /// The worker that runs it: `work-{slot}-{node}`.
    #[must_use]
    pub fn worker_id(&self) -> &str {
        &self.facts.worker_id
    }

    /// The session it was scheduled on.
    #[must_use]
    pub fn session_id(&self) -> Option<&str> {
        self.facts.session_id.as_deref()
    }

    /// The tag it was scheduled with.
    #[must_use]
    pub fn tag(&self) -> Option<&str> {
        self.facts.tag.as_deref()
    }

    /// How often this activity has been handed to a worker, from 1. More than one means that an earlier run
    /// may have had effects.
    ///
    /// It counts deliveries of one scheduled activity: after a crash, a lost lease or a shutdown. The tries
    /// of a retry policy are counted by [`retry`](Self::retry), and each of them begins again with attempt 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.facts.attempt
    }

    /// Which try of the retry policy this is, from 1. An activity that was scheduled without a policy has one
    /// try.
    ///
    /// A store that implements only the required methods of `Provider` does not keep it: there it is always
    /// 1.
    #[must_use]
    pub fn retry(&self) -> u32 {
        self.facts.step.number
    }

    /// A key by which a remote service recognises a repetition: the same in every delivery and every retry of
    /// this step, and different for every other step.
    ///
    /// It is `{instance}/{execution}/{event id of the first try}`. An instance that is deleted and then
    /// started again under the same id has the same keys: use another id if the new instance is to have its
    /// own effects. On a store that implements only the required methods of `Provider`, each retry has a key
    /// of its own.
    #[must_use]
    pub fn idempotency_key(&self) -> String {
        self.facts.step.idempotency_key(&self.facts.instance_id, self.facts.execution_id)
    }

    /// What time it is for the store.
    pub(crate) fn store_time(&self) -> StoreTime {
        self.facts.store_time
    }

    /// Logs at info level, with the activity's identity.
    pub fn trace_info(&self, message: impl Into<String>) {
        self.log(Level::Info, &message.into());
    }

    /// Logs at warn level, with the activity's identity.
    pub fn trace_warn(&self, message: impl Into<String>) {
        self.log(Level::Warn, &message.into());
    }

    /// Logs at error level, with the activity's identity.
    pub fn trace_error(&self, message: impl Into<String>) {
        self.log(Level::Error, &message.into());
    }

    /// Logs at debug level, with the activity's identity.
    pub fn trace_debug(&self, message: impl Into<String>) {
        self.log(Level::Debug, &message.into());
    }

    /// Whether this activity should stop: nobody waits for it any more, or the runtime is shutting down.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancellation.token().is_cancelled()
    }

    /// The same as [`is_cancelled`](Self::is_cancelled).
    #[must_use]
    pub fn is_cancellation_requested(&self) -> bool {
        self.is_cancelled()
    }

    /// Waits until this activity should stop.
    pub async fn cancelled(&self) {
        self.cancellation.token().cancelled().await;
    }

    /// The signal to stop, to be passed on to tasks that the activity starts itself. Whoever raises it stops those tasks, and
    /// not the activity.
    #[must_use]
    pub fn cancellation_token(&self) -> CancellationToken {
        self.cancellation.token().child_token()
    }

    /// Why it should stop; `None` while it should not.
    #[must_use]
    pub fn cancellation_reason(&self) -> Option<CancellationReason> {
        self.cancellation.reason()
    }

    /// A client on the store of this runtime.
    #[must_use]
    pub fn get_client(&self) -> Client {
        self.client.clone()
    }

    fn log(&self, level: Level, message: &str) {
        let facts = &*self.facts;
        macro_rules! at {
            ($print:ident) => {
                $print!(target: "abide::activity", instance_id = %facts.instance_id, execution_id = facts.execution_id,
                    orchestration_name = %facts.orchestration_name,
                    orchestration_version = %facts.orchestration_version, activity_name = %facts.activity_name,
                    activity_id = facts.activity_id, worker_id = %facts.worker_id, "{message}")
            };
        }
        match level {
            Level::Info => at!(info),
            Level::Warn => at!(warn),
            Level::Error => at!(error),
            Level::Debug => at!(debug),
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Level {
    Info,
    Warn,
    Error,
    Debug,
}

impl fmt::Debug for ActivityContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let facts = &*self.facts;
        f.debug_struct("ActivityContext")
            .field("instance_id", &facts.instance_id)
            .field("execution_id", &facts.execution_id)
            .field("orchestration_name", &facts.orchestration_name)
            .field("orchestration_version", &facts.orchestration_version)
            .field("activity_name", &facts.activity_name)
            .field("activity_id", &facts.activity_id)
            .field("worker_id", &facts.worker_id)
            .field("store", &"<Provider>")
            .finish_non_exhaustive()
    }
}
