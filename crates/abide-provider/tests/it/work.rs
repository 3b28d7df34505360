//! Leasing and finishing work one at a time, and what a plain store does not know.

use std::time::Duration;

use abide_model::{StepTry, WorkItem};
use abide_provider::{
    Abilities, Ability, Enqueue, ErrorKind, FinishedWork, Lane, LeaseWork, Operation, Provider,
    ProviderError, Rejection, RequestKey, SessionFetchConfig, StoreError, TagFilter, WorkLease,
};
use futures::executor::block_on;

use crate::fake::{Fake, Script};
use crate::items::{activity, result, signal};

fn request(limit: usize) -> LeaseWork {
    LeaseWork {
        limit,
        lease_for: Duration::from_secs(30),
        wait: Duration::ZERO,
        session: Some(SessionFetchConfig {
            owner_id: "node".to_owned(),
            lock_timeout: Duration::from_secs(60),
        }),
        tags: TagFilter::any(),
        serving: None,
    }
}

fn store_of(items: impl IntoIterator<Item = WorkItem>) -> Fake {
    let fetches = items.into_iter().map(|item| Ok(Some((item, "token".to_owned(), 2))));
    Fake { work: Script::of(fetches), ..Fake::default() }
}

#[test]
fn a_lease_is_one_fetch_and_does_not_know_who_asked() {
    let store = store_of([activity(2), activity(3)]);
    let leases = block_on(store.lease_work(request(8))).unwrap();
    let expected = WorkLease {
        item: activity(2),
        orchestration_name: String::new(),
        orchestration_version: String::new(),
        token: "token".to_owned(),
        attempt: 2,
        step: StepTry::first(2),
        store_time: None,
        store_time_slack: Duration::ZERO,
    };
    assert_eq!(leases, [expected]);
    assert_eq!(store.calls(), [r#"fetch work 30s 0ns Some("node") Any"#]);
    let plain = LeaseWork { session: None, tags: TagFilter::default(), ..request(1) };
    assert_eq!(block_on(store.lease_work(plain)).unwrap().len(), 1);
    assert_eq!(store.calls(), ["fetch work 30s 0ns None DefaultOnly"]);
    assert_eq!(block_on(store.lease_work(request(1))).unwrap(), [], "nothing is no error");
}

#[test]
fn a_limit_of_zero_asks_nobody() {
    let store = store_of([activity(2)]);
    assert_eq!(block_on(store.lease_work(request(0))).unwrap(), []);
    assert_eq!(store.calls(), [""; 0]);
}

#[test]
fn a_failed_fetch_took_nothing() {
    let table = [
        (ProviderError::retryable("fetch", "busy"), ErrorKind::NotApplied),
        (ProviderError::permanent("fetch", "no"), ErrorKind::Rejected(Rejection::Invalid)),
    ];
    for (answer, kind) in table {
        let message = answer.to_string();
        let store = Fake { work: Script::of([Err(answer)]), ..Fake::default() };
        let error = block_on(store.lease_work(request(1))).unwrap_err();
        assert_eq!(error, StoreError { operation: Operation::LeaseWork, kind, message });
    }
}

#[test]
fn every_finished_activity_has_its_own_answer() {
    let store = Fake {
        writes: Script::of([
            Ok(()),
            Err(ProviderError::retryable("ack", "busy")),
            Err(ProviderError::permanent("ack", "gone")),
        ]),
        ..Fake::default()
    };
    let finished = |token: &str, completion| FinishedWork { token: token.to_owned(), completion };
    let all = vec![finished("a", Some(result(2))), finished("b", None), finished("c", Some(result(3)))];
    let failed = |kind, message: &str| {
        Err(StoreError { operation: Operation::FinishWork, kind, message: message.to_owned() })
    };
    assert_eq!(
        block_on(store.finish_work(all)),
        [
            Ok(()),
            failed(ErrorKind::Unknown, "ack: busy"),
            failed(ErrorKind::Rejected(Rejection::LeaseLost), "ack: gone"),
        ]
    );
    assert_eq!(
        store.calls(),
        ["ack work a [ActivityCompleted]", "ack work b []", "ack work c [ActivityCompleted]"]
    );
}

#[test]
fn a_plain_store_sends_again_what_is_sent_again() {
    let store = Fake {
        writes: Script::of([
            Ok(()),
            Err(ProviderError::retryable("enqueue", "busy")),
            Err(ProviderError::permanent("enqueue", "no")),
        ]),
        ..Fake::default()
    };
    let request =
        || Enqueue { item: signal("x"), delay: Some(Duration::from_secs(5)), key: RequestKey([7; 16]) };
    let send = || block_on(store.enqueue_once(request()));
    let failed = |kind, message: &str| {
        Err(StoreError { operation: Operation::EnqueueOnce, kind, message: message.to_owned() })
    };
    assert_eq!(send(), Ok(()));
    assert_eq!(send(), failed(ErrorKind::Unknown, "enqueue: busy"));
    assert_eq!(send(), failed(ErrorKind::Rejected(Rejection::Invalid), "enqueue: no"));
    assert_eq!(store.calls(), ["enqueue [signal x] Some(5s)"; 3]);
}

#[test]
fn a_plain_store_has_a_name_but_no_abilities() {
    let store = Fake::default();
    assert_eq!((store.name(), store.version()), ("unknown", "0.0.0"));
    assert_eq!(store.abilities(), Abilities::default());
    assert_eq!(store.abilities(), Abilities::NONE);
    assert!(store.as_management_capability().is_none());
    assert!(store.stolen_leases().is_none());
    assert!(store.changes("i").is_none());
    for lane in [Lane::Instances, Lane::Work] {
        assert_eq!(block_on(store.next_due(lane)), Ok(None), "{lane:?}");
    }
    assert_eq!(store.calls(), [""; 0]);
}

#[test]
fn abilities_are_a_set() {
    let some = Abilities::NONE.with(Ability::Parking).with(Ability::DueTimes);
    assert!(some.has(Ability::Parking) && some.has(Ability::DueTimes) && !some.has(Ability::FusedSteps));
    assert_eq!(some.without(Ability::DueTimes), Abilities::NONE.with(Ability::Parking));
    assert!(Abilities::ALL.has(Ability::Incarnations) && !Abilities::NONE.has(Ability::Incarnations));
}

#[test]
fn a_request_key_is_printed_in_full() {
    let mut key = [0; 16];
    key[0] = 0xab;
    key[15] = 0x01;
    assert_eq!(format!("{:?}", RequestKey(key)), "RequestKey(ab000000000000000000000000000001)");
}
