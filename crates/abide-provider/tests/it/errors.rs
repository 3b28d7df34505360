//! What errors say, and what they become.

use abide_model::ErrorDetails;
use abide_provider::{ErrorKind, InvalidTurn, Operation, ProviderError, Rejection, StoreError};

/// Every call and its label, in the order of the trait.
const LABELS: [(Operation, &str); 30] = [
    (Operation::Housekeeping, "housekeeping"),
    (Operation::FetchOrchestrationItem, "fetch_orchestration_item"),
    (Operation::AckOrchestrationItem, "ack_orchestration_item"),
    (Operation::AbandonOrchestrationItem, "abandon_orchestration_item"),
    (Operation::RenewOrchestrationItemLock, "renew_orchestration_item_lock"),
    (Operation::Read, "read"),
    (Operation::ReadWithExecution, "read_with_execution"),
    (Operation::AppendWithExecution, "append_with_execution"),
    (Operation::EnqueueForWorker, "enqueue_for_worker"),
    (Operation::FetchWorkItem, "fetch_work_item"),
    (Operation::AckWorkItem, "ack_work_item"),
    (Operation::AbandonWorkItem, "abandon_work_item"),
    (Operation::RenewWorkItemLock, "renew_work_item_lock"),
    (Operation::RenewSessionLock, "renew_session_lock"),
    (Operation::CleanupOrphanedSessions, "cleanup_orphaned_sessions"),
    (Operation::EnqueueForOrchestrator, "enqueue_for_orchestrator"),
    (Operation::GetCustomStatus, "get_custom_status"),
    (Operation::GetKvValue, "get_kv_value"),
    (Operation::GetKvAllValues, "get_kv_all_values"),
    (Operation::GetInstanceStats, "get_instance_stats"),
    (Operation::LeaseInstances, "lease_instances"),
    (Operation::ReadHistoryAfter, "read_history_after"),
    (Operation::ReadKvSnapshot, "read_kv_snapshot"),
    (Operation::CommitTurn, "commit_turn"),
    (Operation::LeaseWork, "lease_work"),
    (Operation::FinishWork, "finish_work"),
    (Operation::EnqueueOnce, "enqueue_once"),
    (Operation::NextDue, "next_due"),
    (Operation::Checkpoint, "checkpoint"),
    (Operation::Import, "import"),
];

#[test]
fn every_call_has_a_label_of_its_own() {
    let mut labels: Vec<&str> = LABELS.iter().map(|(_, label)| *label).collect();
    labels.sort_unstable();
    labels.dedup();
    assert_eq!(labels.len(), LABELS.len());
    for (operation, label) in LABELS {
        assert_eq!((operation.as_str(), operation.to_string().as_str()), (label, label));
    }
    assert_eq!(format!("[{:>6}|{:<6}]", Operation::Read, Operation::Read), "[  read|read  ]", "it aligns");
}

#[test]
fn an_error_says_what_became_of_the_call() {
    let every =
        [Rejection::LeaseLost, Rejection::Busy, Rejection::Conflict, Rejection::Corrupt, Rejection::Invalid];
    let refusals = every.map(|rejection| {
        (
            StoreError::rejected(Operation::Read, rejection, "m"),
            ErrorKind::Rejected(rejection),
            Some(rejection),
        )
    });
    let others = [
        (StoreError::not_applied(Operation::Read, "m"), ErrorKind::NotApplied, None),
        (StoreError::unknown(Operation::Read, "m"), ErrorKind::Unknown, None),
    ];
    for (error, kind, rejection) in refusals.into_iter().chain(others) {
        assert_eq!((error.kind, error.rejection()), (kind, rejection));
        assert_eq!(error.is_retryable(), rejection.is_none(), "only a refusal is final");
        assert_eq!(error.to_string(), "read: m");
    }
}

#[test]
fn a_lost_lease_begins_with_the_text_that_programs_look_for() {
    let error = StoreError::lease_lost(Operation::AckWorkItem);
    assert_eq!(error.rejection(), Some(Rejection::LeaseLost));
    assert!(error.message.starts_with("Invalid lock token"), "{error}");
    assert!(error.to_string().starts_with("ack_work_item: Invalid lock token"), "{error}");
}

#[test]
fn a_store_error_becomes_a_flat_one() {
    let flat = |error: StoreError| ProviderError::from(error);
    let busy = flat(StoreError::not_applied(Operation::CommitTurn, "busy"));
    assert_eq!(busy, ProviderError::retryable("commit_turn", "busy"));
    let unknown = flat(StoreError::unknown(Operation::EnqueueOnce, "no answer"));
    assert_eq!(unknown, ProviderError::retryable("enqueue_once", "no answer"));
    let refused = flat(StoreError::rejected(Operation::Read, Rejection::Corrupt, "line 3"));
    assert_eq!(refused, ProviderError::permanent("read", "line 3"));
}

#[test]
fn a_flat_error_is_printed_recorded_and_made_from_text() {
    let error = ProviderError::permanent("read", "line 3");
    assert_eq!(error.to_string(), "read: line 3");
    assert!(!error.is_retryable());
    let recorded = ErrorDetails::Infrastructure {
        operation: "read".to_owned(),
        message: "line 3".to_owned(),
        retryable: false,
    };
    assert_eq!(error.to_infrastructure_error(), recorded);
    assert_eq!(recorded.display_message(), "infrastructure:read: line 3");
    let text = ProviderError::retryable("unknown", "lost");
    assert!(text.is_retryable());
    assert_eq!(ProviderError::from("lost"), text);
    assert_eq!(ProviderError::from("lost".to_owned()), text);
}

#[test]
fn errors_are_errors() {
    fn is_error<E: std::error::Error + Send + Sync + 'static>(_: &E) {}
    is_error(&StoreError::lease_lost(Operation::Read));
    is_error(&ProviderError::from("x"));
    is_error(&InvalidTurn::NoExecution);
}
