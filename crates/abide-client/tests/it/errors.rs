//! What errors say, and which are worth another try.

use std::error::Error as _;

use abide_client::{ClientError, StartError};
use abide_provider::ProviderError;

fn id() -> String {
    "order-1".to_owned()
}

#[test]
fn errors_say_what_is_documented() {
    let busy = ProviderError::retryable("read_status", "database is locked");
    let says = |error: ClientError| error.to_string();
    assert_eq!(says(ClientError::from(busy)), "read_status: database is locked");
    assert_eq!(
        says(ClientError::ManagementNotAvailable),
        "Management features not available - provider doesn't implement ProviderAdmin"
    );
    assert_eq!(
        says(ClientError::InvalidInput { message: "encode: x".to_owned() }),
        "Invalid input: encode: x"
    );
    assert_eq!(says(ClientError::Timeout), "Operation timed out");
    assert_eq!(
        says(ClientError::InstanceStillRunning { instance_id: id() }),
        "Instance order-1 is still running. Use force=true or cancel first."
    );
    assert_eq!(
        says(ClientError::CannotDeleteSubOrchestration { instance_id: id() }),
        "Cannot delete sub-orchestration order-1 directly. Delete the root orchestration instead."
    );
    assert_eq!(says(ClientError::InstanceNotFound { instance_id: id() }), "Instance order-1 not found");
}

#[test]
fn errors_of_a_start_say_who_is_there_or_what_failed() {
    let exists = StartError::AlreadyExists { instance_id: id() };
    assert_eq!(exists.to_string(), "Instance order-1 already exists");
    assert_eq!(StartError::from(ClientError::Timeout).to_string(), "Operation timed out");
    assert!(exists.source().is_none(), "nothing is said twice in a chain");
}

#[test]
fn only_what_may_pass_is_retryable() {
    let retryable = |error: ClientError| error.is_retryable();
    assert!(retryable(ProviderError::retryable("read", "busy").into()));
    assert!(retryable(ClientError::Timeout));
    assert!(!retryable(ProviderError::permanent("read", "corrupt").into()));
    assert!(!retryable(ClientError::ManagementNotAvailable));
    assert!(!retryable(ClientError::InvalidInput { message: String::new() }));
    assert!(!retryable(ClientError::InstanceStillRunning { instance_id: id() }));
    assert!(!retryable(ClientError::CannotDeleteSubOrchestration { instance_id: id() }));
    assert!(!retryable(ClientError::InstanceNotFound { instance_id: id() }));
}
