//! Metrics: each thing counted once, in series with bounds, and readable without a recorder.

use std::collections::BTreeSet;

use abide_provider::{Operation, StoreError};
use abide_runtime::observability::{
    LeaseKind, MetricsProvider, MetricsSnapshot, ObservabilityConfig, ObservabilityHandle, RenewalOutcome,
    StorageErrorKind, init_logging,
};
use expect_test::expect;
use futures::executor::block_on;
use metrics::with_local_recorder;

use crate::recorder::Shown;

fn provider() -> MetricsProvider {
    MetricsProvider::new(&ObservabilityConfig::default()).unwrap()
}

/// What a recorder is given while `code` runs, and what was counted.
fn shown(code: impl FnOnce(&MetricsProvider)) -> (String, MetricsSnapshot) {
    let recorder = Shown::default();
    let metrics = provider();
    with_local_recorder(&recorder, || code(&metrics));
    (recorder.text(), metrics.snapshot())
}

#[test]
fn orchestrations() {
    let (text, snapshot) = shown(|metrics| {
        metrics.record_orchestration_start("Ship", "1.0.0", "client");
        metrics.record_orchestration_start("Ship", "1.0.0", "continueAsNew");
        metrics.record_orchestration_completion("Ship", "1.0.0", "success", 2.5, 3, 12);
        metrics.record_orchestration_completion("Ship", "1.0.0", "failed", 1.0, 11, 40);
        metrics.record_orchestration_completion("Ship", "1.0.0", "continuedAsNew", 0.5, 1, 4);
        metrics.record_continue_as_new("Ship", 1);
        metrics.record_continue_as_new("Ship", 2);
        metrics.record_suborchestration_call("Ship", "Pack", "success");
        metrics.record_suborchestration_duration("Ship", "Pack", 0.25, "success");
    });

    expect![[r#"
        abide_orchestration_completions_total{orchestration_name=Ship, version=1.0.0, status=continuedAsNew, final_turn_count=1-5} 1
        abide_orchestration_completions_total{orchestration_name=Ship, version=1.0.0, status=failed, final_turn_count=11-50} 1
        abide_orchestration_completions_total{orchestration_name=Ship, version=1.0.0, status=success, final_turn_count=1-5} 1
        abide_orchestration_continue_as_new_total{orchestration_name=Ship} 2
        abide_orchestration_duration_seconds{orchestration_name=Ship, version=1.0.0, status=continuedAsNew} [0.5]
        abide_orchestration_duration_seconds{orchestration_name=Ship, version=1.0.0, status=failed} [1.0]
        abide_orchestration_duration_seconds{orchestration_name=Ship, version=1.0.0, status=success} [2.5]
        abide_orchestration_history_size{orchestration_name=Ship} [12.0, 40.0, 4.0]
        abide_orchestration_starts_total{orchestration_name=Ship, version=1.0.0, initiated_by=client} 1
        abide_orchestration_starts_total{orchestration_name=Ship, version=1.0.0, initiated_by=continueAsNew} 1
        abide_orchestration_turns{orchestration_name=Ship} [3.0, 11.0, 1.0]
        abide_suborchestration_calls_total{parent_orchestration=Ship, child_orchestration=Pack, outcome=success} 1
        abide_suborchestration_duration_seconds{parent_orchestration=Ship, child_orchestration=Pack, outcome=success} [0.25]
    "#]]
    .assert_eq(&text);
    let expected = MetricsSnapshot {
        orch_starts: 2,
        orch_completions: 1,
        orch_continue_as_new: 2,
        suborchestration_calls: 1,
        ..MetricsSnapshot::default()
    };
    assert_eq!(snapshot, expected);
}

#[test]
fn failures() {
    let (text, snapshot) = shown(|metrics| {
        metrics.record_orchestration_failure("Ship", "1.0.0", "app_error", "application");
        metrics.record_orchestration_failure("Ship", "1.0.0", "infrastructure_error", "infrastructure");
        metrics.record_orchestration_failure("Ship", "1.0.0", "config_error", "configuration");
        metrics.record_orchestration_failure("Ship", "1.0.0", "poison", "poison");
        metrics.record_orchestration_poison();
    });

    expect![[r#"
        abide_orchestration_configuration_errors_total{orchestration_name=Ship, error_category=configuration} 1
        abide_orchestration_failures_total{orchestration_name=Ship, version=1.0.0, error_type=app_error, error_category=application} 1
        abide_orchestration_failures_total{orchestration_name=Ship, version=1.0.0, error_type=config_error, error_category=configuration} 1
        abide_orchestration_failures_total{orchestration_name=Ship, version=1.0.0, error_type=infrastructure_error, error_category=infrastructure} 1
        abide_orchestration_failures_total{orchestration_name=Ship, version=1.0.0, error_type=poison, error_category=poison} 1
        abide_orchestration_infrastructure_errors_total{orchestration_name=Ship, error_category=infrastructure} 1
        abide_orchestration_poison_total{} 1
    "#]]
    .assert_eq(&text);
    let expected = MetricsSnapshot {
        orch_failures: 4,
        orch_application_errors: 1,
        orch_infrastructure_errors: 1,
        orch_configuration_errors: 1,
        orch_poison: 1,
        ..MetricsSnapshot::default()
    };
    assert_eq!(snapshot, expected);
}

#[test]
fn what_is_said_without_details_counts_the_same() {
    let (text, snapshot) = shown(|metrics| {
        metrics.record_orchestration_application_error();
        metrics.record_orchestration_infrastructure_error();
        metrics.record_orchestration_configuration_error();
        metrics.record_activity_success();
        metrics.record_activity_app_error();
        metrics.record_activity_infra_error();
        metrics.record_activity_config_error();
        metrics.record_activity_poison();
    });

    expect![[r#"
        abide_activity_configuration_errors_total{activity_name=unknown} 1
        abide_activity_executions_total{activity_name=unknown, outcome=app_error, retry_attempt=0, tag=default} 1
        abide_activity_executions_total{activity_name=unknown, outcome=config_error, retry_attempt=0, tag=default} 1
        abide_activity_executions_total{activity_name=unknown, outcome=infra_error, retry_attempt=0, tag=default} 1
        abide_activity_executions_total{activity_name=unknown, outcome=success, retry_attempt=0, tag=default} 1
        abide_activity_infrastructure_errors_total{activity_name=unknown} 1
        abide_activity_poison_total{} 1
        abide_orchestration_configuration_errors_total{orchestration_name=unknown, error_category=unknown} 1
        abide_orchestration_failures_total{orchestration_name=unknown, version=unknown, error_type=app_error, error_category=unknown} 1
        abide_orchestration_failures_total{orchestration_name=unknown, version=unknown, error_type=config_error, error_category=unknown} 1
        abide_orchestration_failures_total{orchestration_name=unknown, version=unknown, error_type=infrastructure_error, error_category=unknown} 1
        abide_orchestration_infrastructure_errors_total{orchestration_name=unknown, error_category=unknown} 1
    "#]]
    .assert_eq(&text);
    let expected = MetricsSnapshot {
        orch_failures: 3,
        orch_application_errors: 1,
        orch_infrastructure_errors: 1,
        orch_configuration_errors: 1,
        activity_success: 1,
        activity_app_errors: 1,
        activity_infra_errors: 1,
        activity_config_errors: 1,
        activity_poison: 1,
        ..MetricsSnapshot::default()
    };
    assert_eq!(snapshot, expected);
}

#[test]
fn activities() {
    let (text, snapshot) = shown(|metrics| {
        metrics.record_activity_execution("Charge", "success", 0.5, 0, None);
        metrics.record_activity_execution("Charge", "success", 1.5, 7, Some("gpu"));
        metrics.record_activity_execution("Charge", "app_error", 1.0, 1, None);
        metrics.record_activity_execution("Charge", "infra_error", 1.0, 2, None);
        metrics.record_activity_execution("Charge", "config_error", 1.0, 0, None);
        metrics.record_activity_execution("Charge", "cancelled", 9.0, 0, None);
    });

    expect![[r#"
        abide_activity_configuration_errors_total{activity_name=Charge} 1
        abide_activity_duration_seconds{activity_name=Charge, outcome=app_error, tag=default} [1.0]
        abide_activity_duration_seconds{activity_name=Charge, outcome=cancelled, tag=default} [9.0]
        abide_activity_duration_seconds{activity_name=Charge, outcome=config_error, tag=default} [1.0]
        abide_activity_duration_seconds{activity_name=Charge, outcome=infra_error, tag=default} [1.0]
        abide_activity_duration_seconds{activity_name=Charge, outcome=success, tag=default} [0.5]
        abide_activity_duration_seconds{activity_name=Charge, outcome=success, tag=gpu} [1.5]
        abide_activity_executions_total{activity_name=Charge, outcome=app_error, retry_attempt=1, tag=default} 1
        abide_activity_executions_total{activity_name=Charge, outcome=cancelled, retry_attempt=0, tag=default} 1
        abide_activity_executions_total{activity_name=Charge, outcome=config_error, retry_attempt=0, tag=default} 1
        abide_activity_executions_total{activity_name=Charge, outcome=infra_error, retry_attempt=2, tag=default} 1
        abide_activity_executions_total{activity_name=Charge, outcome=success, retry_attempt=0, tag=default} 1
        abide_activity_executions_total{activity_name=Charge, outcome=success, retry_attempt=3+, tag=gpu} 1
        abide_activity_infrastructure_errors_total{activity_name=Charge} 1
    "#]]
    .assert_eq(&text);
    let expected = MetricsSnapshot {
        activity_success: 2,
        activity_app_errors: 1,
        activity_infra_errors: 1,
        activity_config_errors: 1,
        ..MetricsSnapshot::default()
    };
    assert_eq!(snapshot, expected);
}

#[test]
fn store_dispatchers_and_gauges() {
    let (text, snapshot) = shown(|metrics| {
        metrics.record_provider_operation("read", 0.125, "success");
        metrics.record_provider_error("read", "timeout");
        metrics.record_storage_error(Operation::CommitTurn, StorageErrorKind::LeaseLost);
        metrics.record_lease_renewals(LeaseKind::Work, RenewalOutcome::Renewed, 2);
        metrics.record_lease_renewals(LeaseKind::Session, RenewalOutcome::Failed, 1);
        metrics.record_orch_dispatcher_items_fetched(3);
        metrics.record_orch_dispatcher_processing_duration(20);
        metrics.record_worker_dispatcher_items_fetched(4);
        metrics.record_worker_dispatcher_execution_duration(30);
        metrics.record_executions_pruned(5);
        metrics.record_prune_refused();
        metrics.record_instances_removed(11);
        metrics.set_instances_resident(6);
        metrics.update_queue_depths(7, 8);
        assert_eq!(metrics.get_queue_depths(), (7, 8));
        metrics.set_active_orchestrations(10);
        metrics.increment_active_orchestrations();
        metrics.decrement_active_orchestrations();
        metrics.decrement_active_orchestrations();
        assert_eq!(metrics.get_active_orchestrations(), 9);
    });

    expect![[r#"
        abide_active_orchestrations{} 9
        abide_executions_pruned_total{} 5
        abide_instances_removed_total{} 11
        abide_instances_resident{} 6
        abide_lease_renewals_total{kind=session, outcome=failed} 1
        abide_lease_renewals_total{kind=work, outcome=renewed} 2
        abide_orchestration_dispatcher_items_fetched{} 3
        abide_orchestration_dispatcher_processing_duration_ms{} [20.0]
        abide_orchestrator_queue_depth{} 7
        abide_provider_errors_total{operation=commit_turn, error_type=lease_lost} 1
        abide_provider_errors_total{operation=read, error_type=timeout} 1
        abide_provider_operation_duration_seconds{operation=read, status=success} [0.125]
        abide_prunes_refused_total{} 1
        abide_storage_errors_total{operation=commit_turn, kind=lease_lost} 1
        abide_worker_dispatcher_execution_duration_ms{} [30.0]
        abide_worker_dispatcher_items_fetched{} 4
        abide_worker_queue_depth{} 8
    "#]]
    .assert_eq(&text);
    let expected = MetricsSnapshot {
        orch_dispatcher_items_fetched: 3,
        worker_dispatcher_items_fetched: 4,
        provider_errors: 2,
        ..MetricsSnapshot::default()
    };
    assert_eq!(snapshot, expected);
}

#[test]
fn numbers_of_any_size_are_taken() {
    let metrics = provider();
    metrics.set_active_orchestrations(i64::MIN);
    assert_eq!(metrics.get_active_orchestrations(), i64::MIN);
    metrics.update_queue_depths(u64::MAX, u64::MAX);
    assert_eq!(metrics.get_queue_depths(), (u64::MAX, u64::MAX));
    metrics.set_instances_resident(usize::MAX);
    metrics.record_orch_dispatcher_processing_duration(u64::MAX);
    metrics.record_orchestration_completion("A", "1.0.0", "success", f64::NAN, u64::MAX, u64::MAX);
}

#[test]
fn names_that_users_make_up_do_not_make_series_without_end() {
    let (text, _) = shown(|metrics| {
        for n in 0..3_000 {
            metrics.record_activity_execution(&format!("act-{n}"), "success", 1.0, 0, None);
            metrics.record_orchestration_start(&format!("orch-{n}"), "1.0.0", "client");
            metrics.record_suborchestration_call(&format!("orch-{n}"), "Pack", "success");
        }
    });

    let of = |metric: &str| text.lines().filter(|line| line.starts_with(metric)).count();
    assert_eq!(of("abide_activity_executions_total{"), 1_001);
    assert_eq!(of("abide_activity_duration_seconds{"), 1_001);
    // "Pack" is one of the names of orchestrations.
    assert_eq!(of("abide_orchestration_starts_total{"), 1_000);
    assert!(text.contains("abide_activity_executions_total{activity_name=other, outcome=success, retry_attempt=0, tag=default} 2000"));
}

#[test]
fn a_recorder_that_comes_late_misses_only_the_past() {
    let recorder = Shown::default();
    let metrics = provider();
    metrics.record_orchestration_poison();
    with_local_recorder(&recorder, || metrics.record_orchestration_poison());
    assert_eq!(recorder.text(), "abide_orchestration_poison_total{} 1\n");
    assert_eq!(metrics.snapshot().orch_poison, 2);
}

#[test]
fn the_recorder_is_told_what_each_metric_means() {
    let recorder = Shown::default();
    let _metrics = with_local_recorder(&recorder, provider);
    let described = recorder.described();
    assert_eq!(described.len(), 34);
    assert_eq!(described.iter().collect::<BTreeSet<_>>().len(), 34);
    assert!(described.iter().all(|name| name.starts_with("abide_")));
}

#[test]
fn a_handle_counts_and_installs_nothing() {
    let handle = ObservabilityHandle::init(&ObservabilityConfig::default()).unwrap();
    let another = ObservabilityHandle::init(&ObservabilityConfig::default()).unwrap();
    handle.metrics_provider().record_activity_success();
    assert_eq!(handle.metrics_snapshot().activity_success, 1);
    assert_eq!(another.metrics_snapshot(), MetricsSnapshot::default());
    assert!(format!("{handle:?}").contains("activity_success: 1"));
    block_on(handle.shutdown()).unwrap();
    block_on(provider().shutdown()).unwrap();
}

#[test]
fn errors_of_stores_have_kinds() {
    use abide_provider::{ProviderError, Rejection};

    let of = |error: StoreError| StorageErrorKind::from(&error).as_str();
    let rejected = |rejection| of(StoreError::rejected(Operation::Read, rejection, ""));
    assert_eq!(of(StoreError::not_applied(Operation::Read, "busy")), "not_applied");
    assert_eq!(of(StoreError::unknown(Operation::Read, "")), "unknown");
    assert_eq!(of(StoreError::lease_lost(Operation::Read)), "lease_lost");
    assert_eq!(rejected(Rejection::Busy), "busy");
    assert_eq!(rejected(Rejection::Conflict), "conflict");
    assert_eq!(rejected(Rejection::Corrupt), "corrupt");
    assert_eq!(rejected(Rejection::Invalid), "invalid");
    assert_eq!(rejected(Rejection::NotFound), "other");
    assert_eq!(StorageErrorKind::from(&ProviderError::retryable("read", "deadlock")).as_str(), "unknown");
    assert_eq!(StorageErrorKind::from(&ProviderError::permanent("read", "timeout")).as_str(), "other");
}

#[cfg(not(feature = "logging"))]
#[test]
fn without_the_feature_logging_says_so() {
    let text = init_logging(&ObservabilityConfig::default()).unwrap_err();
    assert!(text.contains("without the feature `logging`"), "{text}");
}

#[cfg(feature = "logging")]
#[test]
fn logging_is_initialised_once() {
    let config = |log_level: &str| ObservabilityConfig {
        log_level: log_level.to_owned(),
        ..ObservabilityConfig::default()
    };
    let text = init_logging(&config("loud")).unwrap_err();
    assert!(text.starts_with("log_level is \"loud\"; it must be one of"), "{text}");

    init_logging(&config("info")).unwrap();

    let text = init_logging(&config("info")).unwrap_err();
    assert!(text.starts_with("logging cannot be initialised"), "{text}");
    let _handle = ObservabilityHandle::init(&config("info")).unwrap();
}
