//! Options that were looked at: what the rest of the runtime relies on.
//!
//! Start with [`Settings`]. What makes no sense is refused when a runtime starts, with a sentence that names the field, its
//! value and what is allowed ([`InvalidOptions`]). What makes sense but cannot be had as asked is changed, and said
//! ([`Warning`]). The fields are called like the options they come from.
//!
//! Deliberately absent: logging. The builder of the runtime logs the warnings.

mod check;
mod invalid;
#[cfg(test)]
mod tests;

use std::time::Duration;

use abide_model::{SemverRange, current_build_version};
use abide_provider::{DispatcherCapabilityFilter, SUSPECT_AFTER, TagFilter};

pub use invalid::InvalidOptions;
pub(crate) use invalid::Warning;

use check::{check_cleaning, check_counts, check_ids, check_lengths, check_tags, check_times};

use crate::build_id;
use crate::observability::ObservabilityConfig;
use crate::problem_policy::{ProblemPolicies, ProblemPolicy};
use crate::{AutoPruneConfig, RetentionConfig, RuntimeOptions, UnregisteredBackoffConfig};

/// A lease that is shorter may end before a busy disk has written what was done under it, and then again, for ever.
const SHORTEST_LEASE: Duration = Duration::from_millis(30);

/// Looking more often than this for something to do is doing nothing else.
const SHORTEST_POLL: Duration = Duration::from_millis(1);

/// More at once than this is a mistake: of units, of a sign, or of a subtraction.
const MOST_SLOTS: usize = 100_000;

/// Longer than anything waits: more is a mistake of units or of a subtraction. Points in time that are computed
/// from durations up to this do not overflow.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// Options that make sense.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) dispatcher_min_poll_interval: Duration,
    pub(crate) dispatcher_long_poll_timeout: Duration,
    /// 0 if this node runs no turns.
    pub(crate) orchestration_concurrency: usize,
    /// 0 if this node runs no activities.
    pub(crate) worker_concurrency: usize,
    pub(crate) orchestrator_lock_timeout: Duration,
    pub(crate) orchestrator_renewal_interval: Duration,
    pub(crate) max_turn_time: Duration,
    pub(crate) worker_lock_timeout: Duration,
    pub(crate) worker_renewal_interval: Duration,
    pub(crate) session_lock_timeout: Duration,
    pub(crate) session_renewal_interval: Duration,
    pub(crate) session_idle_timeout: Duration,
    pub(crate) session_cleanup_interval: Duration,
    pub(crate) max_sessions_per_runtime: usize,
    pub(crate) unregistered_backoff: UnregisteredBackoffConfig,
    /// At least 1.
    pub(crate) max_attempts: u32,
    pub(crate) activity_cancellation_grace_period: Duration,
    /// What this node can replay: never more than its build.
    pub(crate) supported_replay_versions: SemverRange,
    /// Not empty.
    pub(crate) worker_node_id: Option<String>,
    pub(crate) worker_tag_filter: TagFilter,
    pub(crate) instance_cache_bytes: usize,
    /// At least 1.
    pub(crate) max_payload_bytes: usize,
    pub(crate) auto_prune: AutoPruneConfig,
    pub(crate) retention: Option<RetentionConfig>,
    pub(crate) observability: ObservabilityConfig,
    pub(crate) problem_policies: ProblemPolicies,
    /// Not empty.
    pub(crate) build_id: String,
    /// What is not as it was asked for.
    pub(crate) warnings: Vec<Warning>,
}

impl Settings {
    /// How long after a lease began, or was renewed, it is renewed: early enough for two more tries, whatever the buffer,
    /// and `buffer` before its end. But a buffer as long as the lease itself, which is what remains if only the timeout is
    /// shortened, does not mean renewing all the time.
    pub(crate) fn renewal_interval(lease: Duration, buffer: Duration) -> Duration {
        lease.saturating_sub(buffer).clamp(lease / 6, lease / 3).max(Duration::from_millis(1))
    }

    /// So many attempts are made. Where crashes lead to a quarantine, one of them is made as a suspect, so that what
    /// only ran beside the culprit is not quarantined with it.
    pub(crate) fn most_attempts(&self) -> u32 {
        match self.problem_policies.crashes {
            ProblemPolicy::Block => self.max_attempts.max(SUSPECT_AFTER + 1),
            ProblemPolicy::Fail => self.max_attempts,
        }
    }

    /// What this node asks a store for.
    pub(crate) fn capabilities(&self) -> DispatcherCapabilityFilter {
        DispatcherCapabilityFilter {
            supported_duroxide_versions: vec![self.supported_replay_versions.clone()],
        }
    }
}

impl Settings {
    /// Checks options. Policies that they do not name are `default`.
    pub(crate) fn checked(options: RuntimeOptions, default: ProblemPolicy) -> Result<Self, InvalidOptions> {
        check_lengths(&options)?;
        check_times(&options)?;
        check_counts(&options)?;
        check_tags(&options.worker_tag_filter)?;
        check_cleaning(&options)?;
        check_ids(&options)?;

        let problem_policies = ProblemPolicies::of(&options, default);
        let mut warnings = Vec::new();
        let orchestrator_lock_timeout = options.orchestrator_lock_timeout;
        let worker_lock_timeout = options.worker_lock_timeout;
        let session_lock_timeout = options.session_lock_timeout;
        Ok(Self {
            dispatcher_min_poll_interval: poll_interval(options.dispatcher_min_poll_interval, &mut warnings),
            dispatcher_long_poll_timeout: options.dispatcher_long_poll_timeout,
            orchestration_concurrency: options.orchestration_concurrency,
            worker_concurrency: options.worker_concurrency,
            orchestrator_renewal_interval: Self::renewal_interval(
                orchestrator_lock_timeout,
                options.orchestrator_lock_renewal_buffer,
            ),
            orchestrator_lock_timeout,
            max_turn_time: options.max_turn_time,
            worker_renewal_interval: Self::renewal_interval(
                worker_lock_timeout,
                options.worker_lock_renewal_buffer,
            ),
            worker_lock_timeout,
            session_renewal_interval: Self::renewal_interval(
                session_lock_timeout,
                options.session_lock_renewal_buffer,
            ),
            session_lock_timeout,
            session_idle_timeout: options.session_idle_timeout,
            session_cleanup_interval: options.session_cleanup_interval,
            max_sessions_per_runtime: options.max_sessions_per_runtime,
            unregistered_backoff: options.unregistered_backoff,
            max_attempts: options.max_attempts,
            activity_cancellation_grace_period: options.activity_cancellation_grace_period,
            supported_replay_versions: replay_versions(options.supported_replay_versions, &mut warnings)?,
            worker_node_id: options.worker_node_id,
            worker_tag_filter: options.worker_tag_filter,
            instance_cache_bytes: options.instance_cache_bytes,
            max_payload_bytes: options.max_payload_bytes,
            auto_prune: options.auto_prune,
            retention: options.retention,
            observability: options.observability,
            problem_policies,
            build_id: options.build_id.unwrap_or_else(|| build_id::of_this_executable().to_owned()),
            warnings,
        })
    }
}

#[cfg(test)]
impl TryFrom<RuntimeOptions> for Settings {
    type Error = InvalidOptions;

    fn try_from(options: RuntimeOptions) -> Result<Self, InvalidOptions> {
        Self::checked(options, ProblemPolicy::Block)
    }
}

fn poll_interval(asked: Duration, warnings: &mut Vec<Warning>) -> Duration {
    if asked < SHORTEST_POLL {
        warnings.push(Warning::PollIntervalTooShort { asked });
    }
    asked.max(SHORTEST_POLL)
}

/// Later builds may replay by rules that this one does not know: taking up their executions would ruin them.
fn replay_versions(
    asked: Option<SemverRange>,
    warnings: &mut Vec<Warning>,
) -> Result<SemverRange, InvalidOptions> {
    let Some(asked) = asked else { return Ok(SemverRange::default_for_current_build()) };
    if asked.min > asked.max {
        return Err(InvalidOptions::ReplayVersionsInverted { range: asked });
    }
    let build = current_build_version();
    if asked.max <= build {
        return Ok(asked);
    }
    let range = SemverRange::new(asked.min.clone(), build);
    warnings.push(Warning::ReplayVersionsBeyondBuild { asked });
    Ok(range)
}
