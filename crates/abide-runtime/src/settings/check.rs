//! Checks of options, by subject.

use std::time::Duration;

use abide_model::limits::{MAX_NAME_BYTES, MAX_TAG_NAME_BYTES, MAX_WORKER_TAGS};
use abide_provider::TagFilter;

use super::invalid::InvalidOptions;
use super::{LONGEST, MOST_SLOTS, SHORTEST_LEASE};
use crate::RuntimeOptions;

/// Refuses durations that are too long to be meant. Points in time that are computed from the others do not
/// overflow.
pub(super) fn check_lengths(options: &RuntimeOptions) -> Result<(), InvalidOptions> {
    let every = options.retention.as_ref().map_or(Duration::ZERO, |retention| retention.every);
    let backoff = &options.unregistered_backoff;
    let durations = [
        ("dispatcher_min_poll_interval", options.dispatcher_min_poll_interval),
        ("dispatcher_long_poll_timeout", options.dispatcher_long_poll_timeout),
        ("orchestrator_lock_timeout", options.orchestrator_lock_timeout),
        ("max_turn_time", options.max_turn_time),
        ("worker_lock_timeout", options.worker_lock_timeout),
        ("session_lock_timeout", options.session_lock_timeout),
        ("session_idle_timeout", options.session_idle_timeout),
        ("session_cleanup_interval", options.session_cleanup_interval),
        ("activity_cancellation_grace_period", options.activity_cancellation_grace_period),
        ("unregistered_backoff.base_delay", backoff.base_delay),
        ("unregistered_backoff.max_delay", backoff.max_delay),
        ("observability.gauge_poll_interval", options.observability.gauge_poll_interval),
        ("retention.every", every),
    ];
    match durations.into_iter().find(|(_, value)| *value > LONGEST) {
        Some((field, value)) => Err(InvalidOptions::TooLong { field, value }),
        None => Ok(()),
    }
}

/// Checks the names of the node and of its build.
pub(super) fn check_ids(options: &RuntimeOptions) -> Result<(), InvalidOptions> {
    let ids = [
        ("worker_node_id", &options.worker_node_id, InvalidOptions::EmptyNodeId),
        ("build_id", &options.build_id, InvalidOptions::EmptyBuildId),
    ];
    for (field, id, empty) in ids {
        let Some(id) = id else { continue };
        if id.is_empty() {
            return Err(empty);
        }
        if id.len() > MAX_NAME_BYTES {
            let beginning = id.chars().take(32).collect();
            return Err(InvalidOptions::IdTooLong { field, beginning, bytes: id.len() });
        }
    }
    Ok(())
}

pub(super) fn check_times(options: &RuntimeOptions) -> Result<(), InvalidOptions> {
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

pub(super) fn check_counts(options: &RuntimeOptions) -> Result<(), InvalidOptions> {
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

pub(super) fn check_cleaning(options: &RuntimeOptions) -> Result<(), InvalidOptions> {
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

pub(super) fn check_tags(filter: &TagFilter) -> Result<(), InvalidOptions> {
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
