//! What a plain store answers to those who start an instance and look at it.

use std::time::Duration;

use abide_model::{ErrorDetails, Event, EventKind, OrchestrationStatus, SystemStats};
use abide_provider::{
    Enqueue, ErrorKind, Operation, Provider, ProviderError, Rejection, RequestKey, Start, StoreError,
};
use futures::executor::block_on;

use crate::fake::{Fake, Script};
use crate::items::{signal, start};

fn request() -> Enqueue {
    Enqueue { item: start(None), delay: Some(Duration::from_secs(5)), key: RequestKey([7; 16]) }
}

#[test]
fn a_plain_store_looks_first_and_sends_then() {
    let there = Some(SystemStats::default());
    let store = Fake { stats: Script::of([Ok(None), Ok(there)]), ..Fake::default() };
    assert_eq!(block_on(store.start_once(request())), Ok(Start::Created));
    assert_eq!(store.calls(), ["stats i", "enqueue [StartOrchestration] Some(5s)"]);
    assert_eq!(block_on(store.start_once(request())), Ok(Start::Exists));
    assert_eq!(store.calls(), ["stats i"]);
}

#[test]
fn what_starts_nothing_is_refused_before_anybody_is_asked() {
    let store = Fake::default();
    let refused = block_on(store.start_once(Enqueue { item: signal("x"), ..request() })).unwrap_err();
    assert_eq!((refused.operation, refused.rejection()), (Operation::StartOnce, Some(Rejection::Invalid)));
    assert_eq!(store.calls(), [""; 0]);
}

#[test]
fn a_start_that_could_not_look_sent_nothing_and_one_that_failed_may_have() {
    let busy = || ProviderError::retryable("store", "busy");
    let store = Fake { stats: Script::of([Err(busy())]), ..Fake::default() };
    let error = block_on(store.start_once(request())).unwrap_err();
    let message = "store: busy".to_owned();
    assert_eq!(error, StoreError { operation: Operation::StartOnce, kind: ErrorKind::NotApplied, message });
    assert_eq!(store.calls(), ["stats i"]);
    let store = Fake { writes: Script::of([Err(busy())]), ..Fake::default() };
    let error = block_on(store.start_once(request())).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unknown);
}

fn event(id: u64, kind: EventKind) -> Event {
    Event::with_event_id(id, "i", 1, None, kind)
}

fn history(end: Option<EventKind>) -> Vec<Event> {
    let signalled = EventKind::ExternalEvent { name: "go".to_owned(), data: String::new() };
    let kinds = [signalled].into_iter().chain(end);
    (1..).zip(kinds).map(|(id, kind)| event(id, kind)).collect()
}

#[test]
fn a_plain_store_reads_how_an_instance_stands_in_its_history() {
    let details = ErrorDetails::orchestration_failed("out of stock");
    let (custom_status, custom_status_version) = (Some("half way".to_owned()), 3);
    let running =
        OrchestrationStatus::Running { custom_status: custom_status.clone(), custom_status_version };
    let table = [
        (None, running.clone()),
        (Some(EventKind::OrchestrationContinuedAsNew { input: "next".to_owned() }), running),
        (
            Some(EventKind::OrchestrationCompleted { output: "done".to_owned() }),
            OrchestrationStatus::Completed {
                output: "done".to_owned(),
                custom_status: custom_status.clone(),
                custom_status_version,
            },
        ),
        (
            Some(EventKind::OrchestrationFailed { details: details.clone() }),
            OrchestrationStatus::Failed {
                details,
                custom_status: custom_status.clone(),
                custom_status_version,
            },
        ),
    ];
    for (end, expected) in table {
        let store = Fake {
            histories: Script::of([Ok(history(end))]),
            custom_statuses: Script::of([Ok(Some((custom_status.clone(), custom_status_version)))]),
            ..Fake::default()
        };
        assert_eq!(block_on(store.read_status("i")).unwrap(), expected);
        assert_eq!(store.calls(), ["read i", "custom status i 0"]);
    }
}

#[test]
fn what_has_no_history_is_not_found_and_what_cannot_be_read_is_an_error() {
    let unreadable = || ProviderError::permanent("read", "damaged");
    let store = Fake { histories: Script::of([Ok(Vec::new()), Err(unreadable())]), ..Fake::default() };
    assert_eq!(block_on(store.read_status("i")).unwrap(), OrchestrationStatus::NotFound);
    assert_eq!(store.calls(), ["read i"]);
    assert_eq!(block_on(store.read_status("i")).unwrap_err(), unreadable());
}
