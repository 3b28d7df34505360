//! Options: the defaults, and how long work without a handler waits.

use std::time::Duration;

use abide_provider::TagFilter;
use abide_runtime::observability::{LogFormat, ObservabilityConfig};
use abide_runtime::{RuntimeOptions, UnregisteredBackoffConfig};

#[test]
fn defaults() {
    let RuntimeOptions {
        dispatcher_min_poll_interval,
        dispatcher_long_poll_timeout,
        orchestration_concurrency,
        worker_concurrency,
        orchestrator_lock_timeout,
        orchestrator_lock_renewal_buffer,
        max_turn_time,
        worker_lock_timeout,
        worker_lock_renewal_buffer,
        observability,
        unregistered_backoff,
        max_attempts,
        activity_cancellation_grace_period,
        supported_replay_versions,
        session_lock_timeout,
        session_lock_renewal_buffer,
        session_idle_timeout,
        session_cleanup_interval,
        max_sessions_per_runtime,
        worker_node_id,
        worker_tag_filter,
        instance_cache_bytes,
        max_payload_bytes,
        auto_prune,
        retention,
        build_id,
        on_nondeterminism,
        on_panic,
        on_corrupt,
        on_crashes,
        on_missing,
    } = RuntimeOptions::default();
    let seconds = Duration::from_secs;

    assert_eq!(dispatcher_min_poll_interval, Duration::from_millis(100));
    assert_eq!(dispatcher_long_poll_timeout, seconds(30));
    assert_eq!((orchestration_concurrency, worker_concurrency), (512, 512));
    assert_eq!((orchestrator_lock_timeout, orchestrator_lock_renewal_buffer), (seconds(5), seconds(2)));
    assert_eq!(max_turn_time, seconds(60));
    assert_eq!((worker_lock_timeout, worker_lock_renewal_buffer), (seconds(30), seconds(5)));
    assert_eq!((unregistered_backoff.base_delay, unregistered_backoff.max_delay), (seconds(1), seconds(60)));
    assert_eq!(max_attempts, 10);
    assert_eq!(activity_cancellation_grace_period, seconds(10));
    assert_eq!(supported_replay_versions, None);
    assert_eq!((session_lock_timeout, session_lock_renewal_buffer), (seconds(30), seconds(5)));
    assert_eq!((session_idle_timeout, session_cleanup_interval), (seconds(300), seconds(300)));
    assert_eq!(max_sessions_per_runtime, 10);
    assert_eq!(worker_node_id, None);
    assert_eq!(worker_tag_filter, TagFilter::DefaultOnly);
    assert_eq!(instance_cache_bytes, 256 << 20);
    assert_eq!(max_payload_bytes, 64 << 20);
    assert!(auto_prune.enabled && auto_prune.default_policy.is_none() && auto_prune.overrides.is_empty());
    assert_eq!(retention, None);
    assert_eq!(build_id, None);
    let policies = [on_nondeterminism, on_panic, on_corrupt, on_crashes, on_missing];
    assert_eq!(policies, [None; 5], "the constructor decides");

    let ObservabilityConfig { log_format, log_level, service_name, service_version, gauge_poll_interval } =
        observability;
    assert_eq!(log_format, LogFormat::Pretty);
    assert_eq!(LogFormat::default(), LogFormat::Compact);
    assert_eq!((log_level.as_str(), service_name.as_str(), service_version), ("info", "abide", None));
    assert_eq!(gauge_poll_interval, seconds(60));
}

#[test]
fn the_delay_doubles_up_to_the_seventh_attempt_and_the_maximum() {
    let backoff = UnregisteredBackoffConfig::default();
    let delays: Vec<u64> =
        [0, 1, 2, 3, 6, 7, 8, u32::MAX].map(|attempt| backoff.delay(attempt).as_secs()).to_vec();
    assert_eq!(delays, [1, 1, 2, 4, 32, 60, 60, 60]);

    let patient =
        UnregisteredBackoffConfig { base_delay: Duration::from_millis(10), max_delay: Duration::MAX };
    assert_eq!(patient.delay(100), Duration::from_millis(640));
    let endless = UnregisteredBackoffConfig { base_delay: Duration::MAX, max_delay: Duration::MAX };
    assert_eq!(endless.delay(7), Duration::MAX, "saturates");
}
