//! Options that were looked at: what the rest of the runtime relies on.
//!
//! Start with [`Settings`]. What makes no sense is refused when a runtime starts, with a sentence that names the field, its
//! value and what is allowed ([`InvalidOptions`]). What makes sense but cannot be had as asked is changed, and said
//! ([`Warning`]). The fields are called like the options they come from.
//!
//! Deliberately absent: telling anybody. Whoever starts the runtime logs the warnings.

use std::time::Duration;

use abide_model::limits::{MAX_TAG_NAME_BYTES, MAX_WORKER_TAGS};
use abide_model::{SemverRange, current_build_version};
use abide_provider::{DispatcherCapabilityFilter, SUSPECT_AFTER, TagFilter};

use crate::build_id;
use crate::observability::ObservabilityConfig;
use crate::problem_policy::{ProblemPolicies, ProblemPolicy};
use crate::{AutoPruneConfig, NeverPrunes, RetentionConfig, RuntimeOptions, UnregisteredBackoffConfig};

/// A lease that is shorter may end before a busy disk has written what was done under it, and then again, for ever.
const SHORTEST_LEASE: Duration = Duration::from_millis(30);

/// Looking more often than this for something to do is doing nothing else.
const SHORTEST_POLL: Duration = Duration::from_millis(1);

/// More at once than this is a mistake: of units, of a sign, or of a subtraction.
const MOST_SLOTS: usize = 100_000;

/// Longer than anything waits. Points in time that are computed from durations up to this do not overflow.
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

/// Options that make no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidOptions {
    /// A lease would end before anything can be done under it.
    #[error(
        "{field} is {value:?}; it must be at least {SHORTEST_LEASE:?}, or leases end before the work under them is \
         written and it is done again and again"
    )]
    LockTimeoutTooShort {
        /// Which option.
        field: &'static str,
        /// What it is.
        value: Duration,
    },
    /// No turn could be run.
    #[error("max_turn_time is zero; it must be longer, or every turn counts as one that crashed")]
    NoTurnTime,
    /// Something would be done all the time.
    #[error("{field} is zero; it must be longer, or the runtime would do nothing else")]
    ZeroInterval {
        /// Which option.
        field: &'static str,
    },
    /// Nothing would ever run.
    #[error(
        "orchestration_concurrency and worker_concurrency are both 0; at least one must be above. A program that only \
         starts and queries orchestrations needs a client, not a runtime"
    )]
    NoSlots,
    /// A build needs a name.
    #[error("build_id is empty; it must name this build of the program, or be None")]
    EmptyBuildId,
    /// Nobody means that many.
    #[error("{field} is {value}; it must be at most {MOST_SLOTS}")]
    TooManySlots {
        /// Which option.
        field: &'static str,
        /// What it is.
        value: usize,
    },
    /// Everything would be poison.
    #[error("max_attempts is 0; it must be at least 1, or everything counts as poison before it is tried")]
    NoAttempts,
    /// Nothing could be stored.
    #[error("max_payload_bytes is 0; it must be at least 1, or every request with an input fails")]
    NoPayload,
    /// A session would be taken for idle while an activity keeps it.
    #[error(
        "session_idle_timeout ({}s) must be greater than worker lock renewal interval ({}s): it is by renewing their \
         leases that activities keep their session from being idle",
        idle.as_secs_f64(), renewal.as_secs_f64()
    )]
    SessionIdleTimeoutTooShort {
        /// What `session_idle_timeout` is.
        idle: Duration,
        /// `worker_lock_timeout` less `worker_lock_renewal_buffer`.
        renewal: Duration,
    },
    /// No version lies in the range.
    #[error(
        "supported_replay_versions is {}..={}; its minimum must not be later than its maximum", range.min, range.max
    )]
    ReplayVersionsInverted {
        /// What it is.
        range: SemverRange,
    },
    /// The query for work would have too many terms.
    #[error("worker_tag_filter has {count} tags; a worker can serve at most {MAX_WORKER_TAGS}")]
    TooManyTags {
        /// How many there are.
        count: usize,
    },
    /// No activity can have that tag.
    #[error(
        "worker_tag_filter has a tag of {bytes} bytes, beginning with {beginning:?}; tags have at most \
         {MAX_TAG_NAME_BYTES}, so no activity can have this one"
    )]
    TagTooLong {
        /// How it begins.
        beginning: String,
        /// How long it is.
        bytes: usize,
    },
    /// A name is wanted, or none.
    #[error("worker_node_id is empty; it must be a name that no other node has, or None")]
    EmptyNodeId,
    /// A policy makes no sense.
    #[error("auto_prune, {}: {problem}", place_of(orchestration.as_deref()))]
    AutoPrune {
        /// For which orchestration it is; `None` for the default.
        orchestration: Option<String>,
        /// What is wrong with it.
        problem: NeverPrunes,
    },
    /// Nothing would ever be removed.
    #[error("retention.batch is 0; it must be at least 1, or nothing is ever removed")]
    EmptyRetentionBatch,
}

/// Something that is not as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Warning {
    #[error(
        "supported_replay_versions is {}..={}, but this build is {} and cannot know the rules of later ones: it takes \
         executions up to its own version only", asked.min, asked.max, current_build_version()
    )]
    ReplayVersionsBeyondBuild { asked: SemverRange },
    #[error(
        "dispatcher_min_poll_interval is {asked:?}; stores that cannot wake us are asked every {SHORTEST_POLL:?}"
    )]
    PollIntervalTooShort { asked: Duration },
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
        check_times(&options)?;
        check_counts(&options)?;
        check_tags(&options.worker_tag_filter)?;
        check_cleaning(&options)?;
        if options.worker_node_id.as_deref() == Some("") {
            return Err(InvalidOptions::EmptyNodeId);
        }

        if options.build_id.as_deref() == Some("") {
            return Err(InvalidOptions::EmptyBuildId);
        }

        let problem_policies = ProblemPolicies::of(&options, default);
        let mut warnings = Vec::new();
        let orchestrator_lock_timeout = options.orchestrator_lock_timeout.min(LONGEST);
        let worker_lock_timeout = options.worker_lock_timeout.min(LONGEST);
        let session_lock_timeout = options.session_lock_timeout.min(LONGEST);
        Ok(Self {
            dispatcher_min_poll_interval: poll_interval(options.dispatcher_min_poll_interval, &mut warnings),
            dispatcher_long_poll_timeout: options.dispatcher_long_poll_timeout.min(LONGEST),
            orchestration_concurrency: options.orchestration_concurrency,
            worker_concurrency: options.worker_concurrency,
            orchestrator_renewal_interval: Self::renewal_interval(
                orchestrator_lock_timeout,
                options.orchestrator_lock_renewal_buffer,
            ),
            orchestrator_lock_timeout,
            max_turn_time: options.max_turn_time.min(LONGEST),
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
            session_idle_timeout: options.session_idle_timeout.min(LONGEST),
            session_cleanup_interval: options.session_cleanup_interval.min(LONGEST),
            max_sessions_per_runtime: options.max_sessions_per_runtime,
            unregistered_backoff: UnregisteredBackoffConfig {
                max_delay: options.unregistered_backoff.max_delay.min(LONGEST),
                ..options.unregistered_backoff
            },
            max_attempts: options.max_attempts,
            activity_cancellation_grace_period: options.activity_cancellation_grace_period.min(LONGEST),
            supported_replay_versions: replay_versions(options.supported_replay_versions, &mut warnings)?,
            worker_node_id: options.worker_node_id,
            worker_tag_filter: options.worker_tag_filter,
            instance_cache_bytes: options.instance_cache_bytes,
            max_payload_bytes: options.max_payload_bytes,
            auto_prune: options.auto_prune,
            retention: options
                .retention
                .map(|retention| RetentionConfig { every: retention.every.min(LONGEST), ..retention }),
            observability: ObservabilityConfig {
                gauge_poll_interval: options.observability.gauge_poll_interval.min(LONGEST),
                ..options.observability
            },
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

fn check_times(options: &RuntimeOptions) -> Result<(), InvalidOptions> {
    for (field, value) in [
        ("orchestrator_lock_timeout", options.orchestrator_lock_timeout),
        ("worker_lock_timeout", options.worker_lock_timeout),
        ("session_lock_timeout", options.session_lock_timeout),
    ] {
        if value < SHORTEST_LEASE {
            return Err(InvalidOptions::LockTimeoutTooShort { field, value });
        }
    }
    for (field, value) in [
        ("dispatcher_long_poll_timeout", options.dispatcher_long_poll_timeout),
        ("session_cleanup_interval", options.session_cleanup_interval),
        ("observability.gauge_poll_interval", options.observability.gauge_poll_interval),
    ] {
        if value.is_zero() {
            return Err(InvalidOptions::ZeroInterval { field });
        }
    }
    if options.max_turn_time.is_zero() {
        return Err(InvalidOptions::NoTurnTime);
    }
    // We renew more often than this, but programs and their tests know the rule in these terms.
    let idle = options.session_idle_timeout;
    let renewal = options
        .worker_lock_timeout
        .checked_sub(options.worker_lock_renewal_buffer)
        .unwrap_or(Duration::from_secs(1));
    if idle <= renewal {
        return Err(InvalidOptions::SessionIdleTimeoutTooShort { idle, renewal });
    }
    Ok(())
}

fn check_counts(options: &RuntimeOptions) -> Result<(), InvalidOptions> {
    if options.orchestration_concurrency == 0 && options.worker_concurrency == 0 {
        return Err(InvalidOptions::NoSlots);
    }
    for (field, value) in [
        ("orchestration_concurrency", options.orchestration_concurrency),
        ("worker_concurrency", options.worker_concurrency),
    ] {
        if value > MOST_SLOTS {
            return Err(InvalidOptions::TooManySlots { field, value });
        }
    }
    if options.max_payload_bytes == 0 {
        return Err(InvalidOptions::NoPayload);
    }
    if options.max_attempts == 0 {
        return Err(InvalidOptions::NoAttempts);
    }
    Ok(())
}

/// Where a policy for this orchestration is given, or the one for all.
fn place_of(orchestration: Option<&str>) -> String {
    orchestration.map_or_else(|| "default_policy".to_owned(), |name| format!("overrides of {name:?}"))
}

fn check_cleaning(options: &RuntimeOptions) -> Result<(), InvalidOptions> {
    for (orchestration, policy) in options.auto_prune.policies() {
        policy.check().map_err(|problem| InvalidOptions::AutoPrune {
            orchestration: orchestration.map(str::to_owned),
            problem,
        })?;
    }
    let Some(retention) = &options.retention else { return Ok(()) };
    if retention.batch == 0 {
        return Err(InvalidOptions::EmptyRetentionBatch);
    }
    if retention.every.is_zero() {
        return Err(InvalidOptions::ZeroInterval { field: "retention.every" });
    }
    Ok(())
}

fn check_tags(filter: &TagFilter) -> Result<(), InvalidOptions> {
    let tags = match filter {
        TagFilter::Tags(tags) | TagFilter::DefaultAnd(tags) => tags,
        TagFilter::DefaultOnly | TagFilter::Any | TagFilter::None => return Ok(()),
    };
    if tags.len() > MAX_WORKER_TAGS {
        return Err(InvalidOptions::TooManyTags { count: tags.len() });
    }
    // The longest, so that of several the same one is named each time.
    match tags.iter().max_by_key(|tag| (tag.len(), *tag)) {
        Some(tag) if tag.len() > MAX_TAG_NAME_BYTES => {
            Err(InvalidOptions::TagTooLong { beginning: tag.chars().take(32).collect(), bytes: tag.len() })
        }
        Some(_) | None => Ok(()),
    }
}

fn poll_interval(asked: Duration, warnings: &mut Vec<Warning>) -> Duration {
    if asked < SHORTEST_POLL {
        warnings.push(Warning::PollIntervalTooShort { asked });
    }
    asked.clamp(SHORTEST_POLL, LONGEST)
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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use semver::Version;

    use super::*;

    fn settings(change: impl FnOnce(&mut RuntimeOptions)) -> Result<Settings, InvalidOptions> {
        let mut options = RuntimeOptions::default();
        change(&mut options);
        Settings::try_from(options)
    }

    fn refusal(change: impl FnOnce(&mut RuntimeOptions)) -> String {
        settings(change).unwrap_err().to_string()
    }

    #[test]
    fn defaults_make_sense() {
        let settings = settings(|_| ()).unwrap();
        assert_eq!(settings.warnings, []);
        assert_eq!(settings.worker_renewal_interval, Duration::from_secs(10));
        assert_eq!(settings.session_renewal_interval, Duration::from_secs(10));
        assert_eq!(settings.orchestrator_renewal_interval, Duration::from_secs(5) / 3);
        assert_eq!(
            settings.capabilities().supported_duroxide_versions,
            [SemverRange::default_for_current_build()]
        );
    }

    #[test]
    fn a_lease_is_renewed_at_least_twice_in_its_time() {
        let ms = Duration::from_millis;
        for (lease, buffer, expected) in [
            (ms(30_000), ms(5_000), ms(10_000)),
            (ms(30_000), ms(25_000), ms(5_000)),
            (ms(30_000), ms(0), ms(10_000)),
            (ms(900), ms(5_000), ms(150)),
            (ms(900), ms(899), ms(150)),
            (ms(1), ms(0), ms(1)),
            (Duration::MAX, Duration::MAX, Duration::MAX / 6),
            (Duration::MAX, ms(0), Duration::MAX / 3),
        ] {
            assert_eq!(Settings::renewal_interval(lease, buffer), expected, "{lease:?} {buffer:?}");
        }
    }

    #[test]
    fn refusals_name_field_value_and_rule() {
        let texts = [
            refusal(|options| options.orchestrator_lock_timeout = Duration::ZERO),
            refusal(|options| options.worker_lock_timeout = Duration::from_millis(29)),
            refusal(|options| options.session_lock_timeout = Duration::from_millis(1)),
            refusal(|options| options.dispatcher_long_poll_timeout = Duration::ZERO),
            refusal(|options| options.session_cleanup_interval = Duration::ZERO),
            refusal(|options| options.observability.gauge_poll_interval = Duration::ZERO),
            refusal(|options| {
                (options.orchestration_concurrency, options.worker_concurrency) = (0, 0);
            }),
            refusal(|options| options.build_id = Some(String::new())),
            refusal(|options| options.orchestration_concurrency = usize::MAX),
            refusal(|options| options.worker_concurrency = 100_001),
            refusal(|options| options.max_payload_bytes = 0),
            refusal(|options| options.max_attempts = 0),
            refusal(|options| options.worker_node_id = Some(String::new())),
        ];
        expect_test::expect![[r#"
            orchestrator_lock_timeout is 0ns; it must be at least 30ms, or leases end before the work under them is written and it is done again and again
            worker_lock_timeout is 29ms; it must be at least 30ms, or leases end before the work under them is written and it is done again and again
            session_lock_timeout is 1ms; it must be at least 30ms, or leases end before the work under them is written and it is done again and again
            dispatcher_long_poll_timeout is zero; it must be longer, or the runtime would do nothing else
            session_cleanup_interval is zero; it must be longer, or the runtime would do nothing else
            observability.gauge_poll_interval is zero; it must be longer, or the runtime would do nothing else
            orchestration_concurrency and worker_concurrency are both 0; at least one must be above. A program that only starts and queries orchestrations needs a client, not a runtime
            build_id is empty; it must name this build of the program, or be None
            orchestration_concurrency is 18446744073709551615; it must be at most 100000
            worker_concurrency is 100001; it must be at most 100000
            max_payload_bytes is 0; it must be at least 1, or every request with an input fails
            max_attempts is 0; it must be at least 1, or everything counts as poison before it is tried
            worker_node_id is empty; it must be a name that no other node has, or None"#]]
        .assert_eq(&texts.join("\n"));
    }

    #[test]
    fn sessions_outlive_the_renewals_that_keep_them() {
        let with = |idle: u64, timeout: u64, buffer: u64| {
            settings(|options| {
                options.session_idle_timeout = Duration::from_millis(idle);
                options.worker_lock_timeout = Duration::from_millis(timeout);
                options.worker_lock_renewal_buffer = Duration::from_millis(buffer);
            })
            .map(|_| ())
            .map_err(|error| error.to_string())
        };

        let text = with(25_000, 30_000, 5_000).unwrap_err();
        let documented = "session_idle_timeout (25s) must be greater than worker lock renewal interval (25s)";
        assert!(text.starts_with(documented), "{text}");
        assert_eq!(with(25_001, 30_000, 5_000), Ok(()));
        let text = with(1_000, 2_000, 5_000).unwrap_err();
        assert!(text.contains("(1s) must") && text.contains("interval (1s)"), "{text}");
        assert_eq!(with(1_001, 2_000, 5_000), Ok(()));
        let text = with(500, 1_500, 500).unwrap_err();
        assert!(text.contains("(0.5s)"), "{text}");
    }

    #[test]
    fn nodes_replay_no_later_version_than_their_own() {
        let with = |min: &str, max: &str| {
            let range = SemverRange::new(Version::parse(min).unwrap(), Version::parse(max).unwrap());
            settings(|options| options.supported_replay_versions = Some(range))
        };

        let older = with("0.1.0", "0.1.32").unwrap();
        assert_eq!((older.supported_replay_versions.max, older.warnings), (Version::new(0, 1, 32), vec![]));

        let wide = with("0.1.0", "99.0.0").unwrap();
        assert_eq!(wide.supported_replay_versions.max, current_build_version());
        let text = wide.warnings[0].to_string();
        assert!(text.contains("0.1.0..=99.0.0, but this build is"), "{text}");

        let beyond = with("98.0.0", "99.0.0").unwrap();
        assert!(!beyond.supported_replay_versions.contains(&Version::new(98, 1, 0)));
        assert!(!beyond.supported_replay_versions.contains(&current_build_version()));
        assert_eq!(beyond.warnings.len(), 1);

        let inverted = with("0.2.0", "0.1.0").unwrap_err();
        assert_eq!(
            inverted.to_string(),
            "supported_replay_versions is 0.2.0..=0.1.0; its minimum must not be later than its maximum"
        );
    }

    #[test]
    fn tags_are_few_and_short() {
        let with = |tags: Vec<String>| {
            let tags: HashSet<String> = tags.into_iter().collect();
            let only = settings(|options| options.worker_tag_filter = TagFilter::Tags(tags.clone()));
            let also = settings(|options| options.worker_tag_filter = TagFilter::DefaultAnd(tags));
            assert_eq!(only.as_ref().err(), also.as_ref().err());
            only.map(|_| ()).map_err(|error| error.to_string())
        };
        let numbered = |count: usize| (0..count).map(|n| n.to_string()).collect::<Vec<_>>();

        assert_eq!(with(numbered(5)), Ok(()));
        assert_eq!(
            with(numbered(6)).unwrap_err(),
            "worker_tag_filter has 6 tags; a worker can serve at most 5"
        );
        assert_eq!(with(vec!["é".repeat(128)]), Ok(()));
        let text = with(vec!["short".into(), "é".repeat(129)]).unwrap_err();
        assert!(text.contains("258 bytes") && text.contains(&"é".repeat(32)), "{text}");
    }

    #[test]
    fn no_duration_is_longer_than_time_can_be_added_to() {
        let settings = settings(|options| {
            options.dispatcher_min_poll_interval = Duration::MAX;
            options.dispatcher_long_poll_timeout = Duration::MAX;
            options.orchestrator_lock_timeout = Duration::MAX;
            options.worker_lock_timeout = Duration::from_secs(u64::MAX / 2);
            options.session_lock_timeout = Duration::MAX;
            options.session_idle_timeout = Duration::MAX;
            options.session_cleanup_interval = Duration::MAX;
            options.activity_cancellation_grace_period = Duration::MAX;
            options.unregistered_backoff.base_delay = Duration::MAX;
            options.unregistered_backoff.max_delay = Duration::MAX;
            options.observability.gauge_poll_interval = Duration::MAX;
        })
        .unwrap();

        for duration in [
            settings.dispatcher_min_poll_interval,
            settings.dispatcher_long_poll_timeout,
            settings.orchestrator_lock_timeout,
            settings.worker_lock_timeout,
            settings.session_lock_timeout,
            settings.session_idle_timeout,
            settings.session_cleanup_interval,
            settings.activity_cancellation_grace_period,
            settings.unregistered_backoff.delay(9),
            settings.observability.gauge_poll_interval,
        ] {
            assert!(duration <= LONGEST, "{duration:?}");
        }
    }

    #[test]
    fn polling_all_the_time_is_not_polling_better() {
        let settings = settings(|options| options.dispatcher_min_poll_interval = Duration::ZERO).unwrap();
        assert_eq!(settings.dispatcher_min_poll_interval, Duration::from_millis(1));
        assert_eq!(settings.warnings, [Warning::PollIntervalTooShort { asked: Duration::ZERO }]);
    }
}
