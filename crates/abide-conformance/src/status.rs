//! How an instance stands, for those who look at it.

use abide_model::{ConfigErrorKind, ErrorDetails, OrchestrationStatus};
use abide_provider::Ability;

use crate::factory::Hook;
use crate::multi_execution::continue_as_new_into;
use crate::suite::area;
use crate::support::{Ack, Subject, assert_refused, event, signal, start, started};
use crate::{EventKind, ProviderFactory};

area! {
    status;
    test_status_of_what_is_no_instance;
    test_status_of_a_start_that_waits: Need::Ability(Ability::AtomicStarts);
    test_status_of_a_child_that_waits: Need::Ability(Ability::AtomicStarts);
    test_status_of_a_start_that_was_deleted: Need::Ability(Ability::AtomicStarts), Administration;
    test_status_of_one_that_runs;
    test_status_of_one_that_completed;
    test_status_of_one_that_failed;
    test_status_of_one_that_continues_as_new;
    test_status_has_the_custom_status;
    test_status_of_a_past_that_was_appended;
    test_status_of_what_was_deleted: Administration;
    test_status_of_a_failure_that_cannot_be_read: Need::Hook(Hook::CorruptHistory);
}

/// What has mail, but nothing that starts it, is no instance.
pub async fn test_status_of_what_is_no_instance<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(signal("mail", "early")).await;
    assert_eq!(status(&store, "mail").await, OrchestrationStatus::NotFound);
    store.create("other").await;
    assert_eq!(status(&store, "mail").await, OrchestrationStatus::NotFound, "another instance runs");
    assert_eq!(status(&store, "unknown").await, OrchestrationStatus::NotFound);
}

/// It runs from the moment its start is acknowledged: while that waits in the queue, visible or not, and
/// during the first turn.
pub async fn test_status_of_a_start_that_waits<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(signal("queued", "early")).await;
    store.post(start("queued")).await;
    assert_eq!(status(&store, "queued").await, running(None, 0), "its start waits");
    let turn = store.fetch("queued").await;
    assert_eq!(status(&store, "queued").await, running(None, 0), "its first turn runs");
    store.ack(&turn.token, Ack::first("queued")).await;
    assert_eq!(status(&store, "queued").await, running(None, 0), "its first turn is committed");

    let delay = Some(std::time::Duration::from_secs(3_600));
    store.enqueue_for_orchestrator(start("later"), delay).await.expect("a start is enqueued");
    assert_eq!(status(&store, "later").await, running(None, 0), "its start is delayed");
    assert_eq!(status(&store, "unknown").await, OrchestrationStatus::NotFound);
}

/// So does a child whose start a turn has sent.
pub async fn test_status_of_a_child_that_waits<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").signalled(2).mail(start("a::child"))).await;
    assert_eq!(status(&store, "a::child").await, running(None, 0));
}

/// What was deleted before its first turn is not there.
pub async fn test_status_of_a_start_that_was_deleted<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    assert_eq!(status(&store, "a").await, running(None, 0));
    let deleted = store.admin().delete_instances_atomic(&["a".to_owned()], true).await;
    deleted.expect("by force, mail is deleted too");
    assert_eq!(status(&store, "a").await, OrchestrationStatus::NotFound);
}

/// It runs from its first turn to its last, with or without mail, whether or not a turn of it runs.
pub async fn test_status_of_one_that_runs<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.create("other").await;
    assert_eq!(status(&store, "a").await, running(None, 0));
    store.step(Ack::of("a", 1).signalled(2)).await;
    store.post(signal("a", "mail")).await;
    let _turn = store.fetch("a").await;
    assert_eq!(status(&store, "a").await, running(None, 0));
}

/// With what it returned; mail that comes later changes nothing.
pub async fn test_status_of_one_that_completed<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for (instance, output) in [("text", "\"done\""), ("empty", ""), ("odd", "{\"\u{1f980}\":[null]}\n")] {
        let end = abide_model::ExecutionStatus::Completed;
        store.begin(Ack::first(instance).signalled(2)).await;
        store.step(Ack::of(instance, 1).signalled(3).ending(4, end, output)).await;
        assert_eq!(status(&store, instance).await, completed(output, None, 0));
        store.post(signal(instance, "late")).await;
        let turn = store.fetch(instance).await;
        store.ack(&turn.token, Ack::of(instance, 1)).await;
        assert_eq!(status(&store, instance).await, completed(output, None, 0));
    }
}

/// With why, in full: kind, text and all else that the event says.
pub async fn test_status_of_one_that_failed<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let all = [
        ErrorDetails::orchestration_failed("out of stock"),
        ErrorDetails::Configuration {
            kind: ConfigErrorKind::Nondeterminism,
            resource: "Order".to_owned(),
            message: Some("event 7".to_owned()),
        },
        ErrorDetails::Infrastructure {
            operation: "commit".to_owned(),
            message: "the disk is gone".to_owned(),
            retryable: true,
        },
    ];
    for (instance, details) in ["a", "b", "c"].into_iter().zip(all) {
        store.begin(Ack::first(instance).signalled(2)).await;
        let failed = EventKind::OrchestrationFailed { details: details.clone() };
        let mut end = Ack::of(instance, 1).signalled(3).event(4, failed);
        end.metadata.status = Some("Failed".to_owned());
        end.metadata.output = Some("in short".to_owned());
        store.step(end).await;
        let expected =
            OrchestrationStatus::Failed { details, custom_status: None, custom_status_version: 0 };
        assert_eq!(status(&store, instance).await, expected);
    }
}

/// One that continues as new runs: between two executions, and in the next one. Only the last one's end is its end.
pub async fn test_status_of_one_that_continues_as_new<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").continuing(2)).await;
    assert_eq!(status(&store, "a").await, running(None, 0), "its successor is in the queue");
    let turn = store.fetch("a").await;
    store.ack(&turn.token, Ack::first_of("a", 2)).await;
    assert_eq!(status(&store, "a").await, running(None, 0), "its second execution runs");
    continue_as_new_into(&store, "a", 3).await;
    store.step(Ack::of("a", 3).completing(2)).await;
    assert_eq!(status(&store, "a").await, completed("done", None, 0));
}

/// With the custom status and its version, through executions and to the end.
pub async fn test_status_has_the_custom_status<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let says = |status: Option<&str>| EventKind::CustomStatusUpdated { status: status.map(str::to_owned) };
    store.begin(Ack::first("a").event(2, says(Some("half way")))).await;
    store.create("other").await;
    assert_eq!(status(&store, "a").await, running(Some("half way"), 1));
    store.step(Ack::of("a", 1).event(3, says(None))).await;
    assert_eq!(status(&store, "a").await, running(None, 2), "taken back, which is a change");
    store.step(Ack::of("a", 1).event(4, says(Some("nearly"))).continuing(5)).await;
    assert_eq!(status(&store, "a").await, running(Some("nearly"), 3));
    let turn = store.fetch("a").await;
    store.ack(&turn.token, Ack::first_of("a", 2)).await;
    assert_eq!(status(&store, "a").await, running(Some("nearly"), 3));
    store.step(Ack::of("a", 2).event(2, says(Some("there"))).completing(3)).await;
    assert_eq!(status(&store, "a").await, completed("done", Some("there"), 4));
    assert_eq!(status(&store, "other").await, running(None, 0));
}

/// A past that was appended has a status like any other.
pub async fn test_status_of_a_past_that_was_appended<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let append = async |id: u64, kind: EventKind| {
        let appended = store.append_with_execution("a", 1, vec![event("a", 1, id, kind)]).await;
        appended.expect("events can be appended");
    };
    append(1, started()).await;
    assert_eq!(status(&store, "a").await, running(None, 0));
    append(2, EventKind::OrchestrationCompleted { output: "past".to_owned() }).await;
    assert_eq!(status(&store, "a").await, completed("past", None, 0));
}

/// What was deleted is not there, and the next one of its name begins anew.
pub async fn test_status_of_what_was_deleted<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let said = EventKind::CustomStatusUpdated { status: Some("over".to_owned()) };
    store.begin(Ack::first("a").event(2, said).failing(3)).await;
    store.admin().delete_instance("a", false).await.expect("the instance has ended");
    assert_eq!(status(&store, "a").await, OrchestrationStatus::NotFound);
    store.create("a").await;
    assert_eq!(status(&store, "a").await, running(None, 0));
}

/// If it cannot be read why an instance failed, that is an error that will not pass. Others have their status.
pub async fn test_status_of_a_failure_that_cannot_be_read<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("broken").failing(2)).await;
    store.begin(Ack::first("sound").completing(2)).await;
    factory.corrupt_instance_history("broken").await;
    let unreadable = store.read_status("broken").await;
    assert_refused(&unreadable, "the status of a failure that cannot be read");
    assert_eq!(status(&store, "sound").await, completed("done", None, 0));
}

async fn status(store: &Subject<'_>, instance: &str) -> OrchestrationStatus {
    let status = store.read_status(instance).await;
    status.unwrap_or_else(|error| panic!("the status of '{instance}' could not be read: {error}"))
}

fn running(custom_status: Option<&str>, custom_status_version: u64) -> OrchestrationStatus {
    OrchestrationStatus::Running { custom_status: custom_status.map(str::to_owned), custom_status_version }
}

fn completed(output: &str, custom_status: Option<&str>, custom_status_version: u64) -> OrchestrationStatus {
    OrchestrationStatus::Completed {
        output: output.to_owned(),
        custom_status: custom_status.map(str::to_owned),
        custom_status_version,
    }
}
