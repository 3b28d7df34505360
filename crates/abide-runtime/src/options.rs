//! What a user can choose about a runtime.
//!
//! Everything is a public field with a default, so that programs write `RuntimeOptions { …, ..Default::default() }`.
//! Nothing is checked here: `settings/` makes of it what a runtime can rely on, or says why not.

use std::time::Duration;

use abide_model::SemverRange;
use abide_model::limits::DEFAULT_MAX_PAYLOAD_BYTES;
use abide_provider::TagFilter;
use serde::{Deserialize, Serialize};

use crate::observability::ObservabilityConfig;
use crate::{AutoPruneConfig, ProblemPolicy};

/// What can be chosen about a runtime.
#[derive(Debug, Clone)]
pub struct RuntimeOptions {
    /// How often a store that cannot wake us is asked for work.
    pub dispatcher_min_poll_interval: Duration,
    /// How long a call for work waits in the store before it is made again: the safety net beneath wake-ups.
    pub dispatcher_long_poll_timeout: Duration,
    /// How many turns run at once, beside those that take in the result of an activity as soon as it has finished here. In a crowd of
    /// activities that are soon done, few instances are taken up at a time: what has begun is done first.
    pub orchestration_concurrency: usize,
    /// How many activities run at once; with 0 this node runs none.
    pub worker_concurrency: usize,
    /// How long an instance is ours without a renewal.
    pub orchestrator_lock_timeout: Duration,
    /// How long before its end such a lease is renewed at the latest. It is renewed after a third of its time if that is sooner.
    pub orchestrator_lock_renewal_buffer: Duration,
    /// How long a turn may keep its thread. After that its lease is not renewed any more: another node takes the instance over, and
    /// the turn counts as one that crashed.
    pub max_turn_time: Duration,
    /// How long an activity is ours without a renewal; how soon another node takes over from one that crashed.
    pub worker_lock_timeout: Duration,
    /// How long before its end such a lease is renewed at the latest. It is renewed after a third of its time if that is sooner.
    pub worker_lock_renewal_buffer: Duration,
    /// Logs and metrics.
    pub observability: ObservabilityConfig,
    /// How long work waits whose handler is not registered here.
    pub unregistered_backoff: UnregisteredBackoffConfig,
    /// How often a message or an activity is tried before it counts as poison.
    pub max_attempts: u32,
    /// How long a cancelled activity may go on before it is aborted.
    pub activity_cancellation_grace_period: Duration,
    /// Which executions this node takes, by the version that started them; `None` is all up to this build's own.
    pub supported_replay_versions: Option<SemverRange>,
    /// How long a session is ours without a renewal.
    pub session_lock_timeout: Duration,
    /// How long before its end such a lease is renewed at the latest. It is renewed after a third of its time if that is sooner.
    pub session_lock_renewal_buffer: Duration,
    /// How long a session without activities stays with its node.
    pub session_idle_timeout: Duration,
    /// How often sessions that nobody owns are forgotten.
    pub session_cleanup_interval: Duration,
    /// How many sessions this node serves at once; 0 leaves them to others.
    pub max_sessions_per_runtime: usize,
    /// The name of this node as an owner of sessions, if it is to own the same ones after a restart. With it,
    /// the node owns a session, and runs its activities side by side; without it, one slot does, and runs
    /// them one after the other.
    pub worker_node_id: Option<String>,
    /// Which activities this node runs, by their tag.
    pub worker_tag_filter: TagFilter,
    /// How much memory instances may take that stay resident between their turns, so that their history is not read and
    /// replayed for each; 0 keeps none.
    pub instance_cache_bytes: usize,
    /// The largest payload that is stored, in bytes: an input, a result, an output. A result that is larger
    /// fails its activity; an input that is larger fails the request for it; an output that is larger fails
    /// the orchestration. All requests of one turn may hold four times as much together. Clients have an
    /// option of the same name.
    pub max_payload_bytes: usize,
    /// Which ended executions are pruned when an orchestration continues as new, for all or by name; and whether any are.
    pub auto_prune: AutoPruneConfig,
    /// Which finished instances are removed; `None` keeps all of them.
    pub retention: Option<RetentionConfig>,
    /// What the build of this program is called. Instances remember the builds that could not run them, and are left to
    /// others. `None` is a hash of the executable.
    pub build_id: Option<String>,
    /// What becomes of an instance whose code does not do what its history says. `None` is the constructor's default,
    /// here and below: [`Runtime::builder`](crate::Runtime::builder) blocks, the reference's constructors fail.
    pub on_nondeterminism: Option<ProblemPolicy>,
    /// What becomes of an instance whose orchestration code panics.
    pub on_panic: Option<ProblemPolicy>,
    /// What becomes of an instance whose history cannot be read.
    pub on_corrupt: Option<ProblemPolicy>,
    /// What becomes of a turn or an activity that was under way in `max_attempts` crashes.
    pub on_crashes: Option<ProblemPolicy>,
    /// What becomes of work whose handler is not registered here. [`ProblemPolicy::Block`] leaves it to nodes that have
    /// the handler, however long that takes; [`ProblemPolicy::Fail`] leases it, and counts the attempts.
    pub on_missing: Option<ProblemPolicy>,
}

/// How long finished instances are kept.
///
/// A root goes with everything below it, and only if all of that has ended. Several nodes may have the same rule.
///
/// In a file a time is written as serde does it, in seconds and nanoseconds:
///
/// ```
/// # use std::time::Duration;
/// use abide_runtime::RetentionConfig;
///
/// let text = r#"{ "keep_finished_for": { "secs": 86400, "nanos": 0 } }"#;
/// let read: RetentionConfig = serde_json::from_str(text).unwrap();
/// assert_eq!(read, RetentionConfig::keeping_for(Duration::from_secs(86_400)));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetentionConfig {
    /// For how long after their end.
    pub keep_finished_for: Duration,
    /// How often they are looked for; for the first time within a minute.
    #[serde(default = "RetentionConfig::once_a_minute")]
    pub every: Duration,
    /// How many roots are removed at once; more are removed one batch after the other.
    #[serde(default = "RetentionConfig::a_hundred")]
    pub batch: u32,
}

impl RetentionConfig {
    /// Keeps finished instances for this long; looks once a minute, and removes a hundred at once.
    #[must_use]
    pub const fn keeping_for(time: Duration) -> Self {
        Self { keep_finished_for: time, every: Self::once_a_minute(), batch: Self::a_hundred() }
    }

    const fn once_a_minute() -> Duration {
        Duration::from_secs(60)
    }

    const fn a_hundred() -> u32 {
        100
    }
}

impl Default for RuntimeOptions {
    fn default() -> Self {
        Self {
            dispatcher_min_poll_interval: Duration::from_millis(100),
            dispatcher_long_poll_timeout: Duration::from_secs(30),
            orchestration_concurrency: 512,
            worker_concurrency: 512,
            orchestrator_lock_timeout: Duration::from_secs(5),
            orchestrator_lock_renewal_buffer: Duration::from_secs(2),
            max_turn_time: Duration::from_secs(60),
            worker_lock_timeout: Duration::from_secs(30),
            worker_lock_renewal_buffer: Duration::from_secs(5),
            observability: ObservabilityConfig::default(),
            unregistered_backoff: UnregisteredBackoffConfig::default(),
            max_attempts: 10,
            activity_cancellation_grace_period: Duration::from_secs(10),
            supported_replay_versions: None,
            session_lock_timeout: Duration::from_secs(30),
            session_lock_renewal_buffer: Duration::from_secs(5),
            session_idle_timeout: Duration::from_secs(300),
            session_cleanup_interval: Duration::from_secs(300),
            max_sessions_per_runtime: 10,
            worker_node_id: None,
            worker_tag_filter: TagFilter::default(),
            instance_cache_bytes: 256 * 1024 * 1024,
            max_payload_bytes: DEFAULT_MAX_PAYLOAD_BYTES,
            auto_prune: AutoPruneConfig::default(),
            retention: None,
            build_id: None,
            on_nondeterminism: None,
            on_panic: None,
            on_corrupt: None,
            on_crashes: None,
            on_missing: None,
        }
    }
}

/// How long work waits whose handler is not registered here: another node may have it, or will after a deploy.
///
/// A node leases such work if its store cannot leave it to others, or with
/// [`RuntimeOptions::on_missing`] set to [`ProblemPolicy::Fail`].
#[derive(Debug, Clone)]
pub struct UnregisteredBackoffConfig {
    /// After the first attempt.
    pub base_delay: Duration,
    /// At most, unless very many instances wait: a node leases 33 per second of those that have waited this long, so
    /// that 40,000 of them wait about twenty minutes each.
    pub max_delay: Duration,
}

impl UnregisteredBackoffConfig {
    /// How often the delay doubles.
    const DOUBLINGS: u32 = 6;

    /// How long to wait after this many attempts: the base, doubled with each attempt up to the seventh, and never more
    /// than the maximum.
    #[must_use]
    pub fn delay(&self, attempt_count: u32) -> Duration {
        let doublings = attempt_count.saturating_sub(1).min(Self::DOUBLINGS);
        self.base_delay.saturating_mul(1 << doublings).min(self.max_delay)
    }
}

impl Default for UnregisteredBackoffConfig {
    fn default() -> Self {
        Self { base_delay: Duration::from_secs(1), max_delay: Duration::from_secs(60) }
    }
}
