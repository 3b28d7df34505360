//! Histories that cannot be read.

use abide_model::ErrorDetails;

use crate::instance_locking::{give_back, lease_all};
use crate::multi_execution::continue_as_new_into;
use crate::support::{Ack, ORCHESTRATION, Subject, VERSION, assert_refused, signal};
use crate::{EventKind, ProviderFactory};

/// An instance whose history cannot be read is leased all the same, and says so: with its mail, its name, the attempt
/// counted, and a lease under which it can be ended. Others do not notice.
pub async fn test_corrupted_serialization_data<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("broken").signalled(2)).await;
    store.begin(Ack::first("sound").signalled(2)).await;
    store.post(signal("broken", "mail")).await;
    store.post(signal("sound", "mail")).await;
    factory.corrupt_instance_history("broken").await;

    let turns = lease_all(&store).await;
    let sound = turns.get("sound").expect("an unreadable history keeps another instance from its turn");
    assert_eq!(sound.item.history_error, None, "an unreadable history spoils another one");
    assert_eq!(sound.item.history.len(), 2, "an unreadable history spoils another one");
    let broken = turns.get("broken").expect("an instance whose history cannot be read is leased");
    let error = broken.item.history_error.as_deref().expect("the lease says that the history is unreadable");
    assert!(!error.is_empty(), "the lease says why");
    assert!(broken.item.history.is_empty(), "there is no history: {:?}", broken.item.history);
    assert_eq!(broken.signals(), ["mail"], "an unreadable history does not hide the mail");
    assert_eq!(broken.attempt, 1, "the first lease is attempt one");
    assert_eq!(broken.item.orchestration_name, ORCHESTRATION, "the name is known without the history");
    assert_eq!(broken.item.version, VERSION, "the version is known without the history");

    give_back(&store, broken).await;
    let again = store.fetch("broken").await;
    assert_eq!(again.attempt, 2, "a lease without a readable history is an attempt like any other");
    let details = ErrorDetails::orchestration_failed("unreadable");
    let mut end = Ack::of("broken", 1).event(99_999, EventKind::OrchestrationFailed { details });
    end.metadata.status = Some("Failed".to_owned());
    store.ack(&again.token, end).await;
    store.expire_leases().await;
    let names: Vec<_> = lease_all(&store).await.into_keys().collect();
    assert_eq!(names, ["sound"], "the unreadable instance was ended, its mail consumed");
}

/// Reading a history that cannot be read is an error that will not pass, and never an empty or a shorter history.
pub async fn test_read_corrupted_history_returns_error<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("broken").signalled(2)).await;
    store.create("sound").await;
    assert_eq!(store.history("broken").await.len(), 2, "before it is damaged it can be read");
    factory.corrupt_instance_history("broken").await;
    assert_refused(&store.read("broken").await, "reading a history that cannot be read");
    assert_eq!(store.history("sound").await.len(), 1, "another history can be read");
}

/// The same for one execution; the other executions of the instance can be read.
pub async fn test_read_with_execution_corrupted_history_returns_error<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("broken").await;
    continue_as_new_into(&store, "broken", 2).await;
    let first = store.event_ids("broken", 1).await;
    assert_eq!(first.len(), 2, "before it is damaged it can be read");
    assert_eq!(store.event_ids("broken", 2).await, [1], "before it is damaged it can be read");
    factory.corrupt_instance_history("broken").await;
    let read = store.read_with_execution("broken", 2).await;
    assert_refused(&read, "reading an execution that cannot be read");
    assert_refused(&store.read("broken").await, "reading a latest execution that cannot be read");
    assert_eq!(store.event_ids("broken", 1).await, first, "an earlier execution can be read");
}
