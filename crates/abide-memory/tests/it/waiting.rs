//! Waiting in the store, under a clock that the test moves.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use abide_model::{EventKind, Timestamp};
use abide_provider::{Lane, LeaseInstances, LeaseWork, Provider as _, SessionFetchConfig};
use futures::future::BoxFuture;
use futures::task::{ArcWake, waker};

use crate::support::*;

/// A call that is polled only when it was woken, as an executor would.
struct Waiting<'a, T> {
    call: BoxFuture<'a, T>,
    wake: Arc<Woken>,
}

struct Woken(AtomicBool);

impl ArcWake for Woken {
    fn wake_by_ref(this: &Arc<Self>) {
        this.0.store(true, Ordering::SeqCst);
    }
}

impl<'a, T> Waiting<'a, T> {
    /// Starts a call that has nothing to answer yet.
    fn parked(call: impl Future<Output = T> + Send + 'a) -> Self {
        let mut waiting = Self { call: Box::pin(call), wake: Arc::new(Woken(AtomicBool::new(true))) };
        assert!(waiting.answer().is_none(), "there was something already");
        waiting
    }

    /// The answer, if the call was woken and has one.
    fn answer(&mut self) -> Option<T> {
        if !self.wake.0.swap(false, Ordering::SeqCst) {
            return None;
        }
        match self.call.as_mut().poll(&mut Context::from_waker(&waker(self.wake.clone()))) {
            Poll::Ready(answer) => Some(answer),
            Poll::Pending => None,
        }
    }
}

fn instances(store: &Store, wait: Duration) -> Waiting<'_, Vec<String>> {
    Waiting::parked(async move {
        let request = LeaseInstances { wait, ..lease_instances(9) };
        let leases = store.provider.lease_instances(request).await.unwrap();
        leases.into_iter().map(|lease| lease.instance).collect()
    })
}

fn work_as<'a>(store: &'a Store, owner: Option<&str>) -> Waiting<'a, usize> {
    let lock_timeout = seconds(10);
    let session = owner.map(|owner| SessionFetchConfig { owner_id: owner.to_owned(), lock_timeout });
    let request = LeaseWork { wait: Duration::MAX, session, ..lease_work(9) };
    Waiting::parked(async move { store.provider.lease_work(request).await.unwrap().len() })
}

#[test]
fn new_mail_wakes_who_waits() {
    let store = Store::new();
    let mut waiting = instances(&store, Duration::MAX);
    store.enqueue(signal("a", "not yet"));
    assert_eq!(waiting.answer(), None);
    store.enqueue(start("a"));
    assert_eq!(waiting.answer().unwrap(), ["a"]);
}

#[test]
fn new_work_wakes_who_waits() {
    let store = Store::new();
    let mut waiting = work_as(&store, None);
    store.enqueue_work(activity("a", 2));
    assert_eq!(waiting.answer(), Some(1));
}

#[test]
fn a_call_waits_no_longer_than_it_was_told() {
    let store = Store::new();
    let mut waiting = instances(&store, seconds(5));
    assert_eq!(store.clock.next_sleeper(), Some(seconds(5)));
    store.advance(millis(4_999));
    assert_eq!(waiting.answer(), None);
    store.advance(millis(1));
    assert_eq!(waiting.answer().unwrap(), [""; 0]);
}

#[test]
fn being_woken_for_nothing_does_not_prolong_the_wait() {
    let store = Store::new();
    let mut waiting = instances(&store, seconds(5));
    store.advance(seconds(3));
    store.enqueue(signal("nobody", ""));
    assert_eq!(waiting.answer(), None);
    store.advance(seconds(2));
    assert_eq!(waiting.answer().unwrap(), [""; 0]);
}

#[test]
fn a_timer_wakes_who_waits_when_it_is_due() {
    let store = Store::with_instance("a");
    store.enqueue(timer("a", 2, BEGIN + 1_000));
    let mut waiting = instances(&store, Duration::MAX);
    assert_eq!(store.clock.next_sleeper(), Some(seconds(1)));
    store.advance(seconds(1));
    assert_eq!(waiting.answer().unwrap(), ["a"]);
}

#[test]
fn a_timer_that_is_set_later_but_due_earlier_is_not_missed() {
    let store = Store::with_instance("a");
    store.enqueue(timer("a", 2, BEGIN + 9_000));
    let mut waiting = instances(&store, Duration::MAX);
    store.enqueue(timer("a", 3, BEGIN + 1_000));
    assert_eq!(waiting.answer(), None);
    store.advance(seconds(1));
    assert_eq!(waiting.answer().unwrap(), ["a"]);
}

#[test]
fn the_end_of_a_lease_wakes_who_waits() {
    let store = Store::new();
    store.enqueue(start("a"));
    store.lease();
    let mut waiting = instances(&store, Duration::MAX);
    store.advance(LEASE);
    assert_eq!(waiting.answer().unwrap(), ["a"]);
}

#[test]
fn a_lease_given_back_wakes_who_waits() {
    let store = Store::new();
    store.enqueue(start("a"));
    let lease = store.lease();
    let mut waiting = instances(&store, Duration::MAX);
    store.abandon(&lease.token, None).unwrap();
    assert_eq!(waiting.answer().unwrap(), ["a"]);

    store.enqueue_work(activity("a", 2));
    let lease = store.lease_work();
    let mut waiting = work_as(&store, None);
    store.abandon_work(&lease.token, Some(seconds(1))).unwrap();
    assert_eq!(waiting.answer(), None);
    store.advance(seconds(1));
    assert_eq!(waiting.answer(), Some(1));
}

#[test]
fn a_commit_that_leaves_mail_wakes_who_waits() {
    let store = Store::with_instance("a");
    store.enqueue(signal("a", "2"));
    let lease = store.lease();
    store.enqueue(signal("a", "3"));
    let mut waiting = instances(&store, Duration::MAX);
    store.commit(TurnBuilder::of_execution(1).under(&lease));
    assert_eq!(waiting.answer().unwrap(), ["a"]);
}

#[test]
fn the_end_of_a_lease_on_work_wakes_who_waits() {
    let store = Store::new();
    store.enqueue_work(activity("a", 2));
    store.lease_work();
    let mut waiting = work_as(&store, None);
    store.advance(LEASE);
    assert_eq!(waiting.answer(), Some(1));
}

#[test]
fn a_session_that_becomes_free_wakes_who_waits() {
    let store = Store::new();
    store.enqueue_work(activity_with("a", 2, Some("s"), None));
    store.lease_work_as("me", seconds(10)).unwrap();
    store.enqueue_work(activity_with("a", 3, Some("s"), None));
    let mut waiting = work_as(&store, Some("you"));
    store.advance(seconds(10));
    assert_eq!(waiting.answer(), Some(1));
}

#[test]
fn work_that_failed_to_be_read_wakes_who_waits_for_its_instance() {
    let store = Store::with_instance("a");
    store.enqueue_work(activity("a", 2));
    store.provider.make_work_unreadable(2);
    for _ in 0..10 {
        assert!(store.try_lease_work().is_none());
        store.advance(seconds(60));
    }
    let mut waiting = instances(&store, Duration::MAX);
    assert!(store.try_lease_work().is_none());
    assert_eq!(waiting.answer().unwrap(), ["a"]);
}

#[test]
fn one_message_is_leased_to_one_of_many_who_wait() {
    let store = Store::new();
    let mut waiting = [(); 3].map(|()| instances(&store, seconds(5)));
    store.enqueue(start("a"));
    let answers = waiting.each_mut().map(Waiting::answer);
    assert_eq!(answers, [Some(vec!["a".to_owned()]), None, None]);
    store.enqueue(start("b"));
    let answers = waiting[1..].iter_mut().map(Waiting::answer).collect::<Vec<_>>();
    assert_eq!(answers, [Some(vec!["b".to_owned()]), None]);
}

#[test]
fn one_who_finds_nothing_wakes_nobody() {
    let store = Store::new();
    let mut first = instances(&store, seconds(5));
    let _second = instances(&store, seconds(5));
    assert!(store.try_lease().is_none());
    assert!(!first.wake.0.load(Ordering::SeqCst));
    assert_eq!(first.answer(), None);
}

#[test]
fn a_dropped_call_takes_nothing_with_it() {
    let store = Store::new();
    let dropped = instances(&store, Duration::MAX);
    let mut waiting = instances(&store, Duration::MAX);
    store.enqueue(start("a"));
    drop(dropped);
    assert_eq!(waiting.answer().unwrap(), ["a"]);
    assert_eq!(store.dump().messages[&1].attempts, 0);
}

#[test]
fn a_fetch_waits_too() {
    let store = Store::new();
    let mut waiting = Waiting::parked(store.provider.fetch_orchestration_item(LEASE, seconds(5), None));
    store.enqueue(start("a"));
    let (item, _, _) = waiting.answer().unwrap().unwrap().unwrap();
    assert_eq!(item.instance, "a");
}

fn next_due(store: &Store, lane: Lane) -> Option<u64> {
    at_once(store.provider.next_due(lane)).unwrap().map(Timestamp::as_millis)
}

#[test]
fn the_next_due_time_of_instances_is_of_mail_and_of_leases_with_mail() {
    let store = Store::with_instance("a");
    assert_eq!(next_due(&store, Lane::Instances), None);
    store.enqueue(timer("a", 2, BEGIN + 90_000));
    assert_eq!(next_due(&store, Lane::Instances), Some(BEGIN + 90_000));
    store.enqueue(signal("a", ""));
    assert_eq!(next_due(&store, Lane::Instances), Some(BEGIN + 90_000), "what is ready now is not due later");
    let lease = store.lease();
    assert_eq!(next_due(&store, Lane::Instances), Some(BEGIN + 30_000));
    store.commit(TurnBuilder::of_execution(1).under(&lease));
    assert_eq!(next_due(&store, Lane::Instances), Some(BEGIN + 90_000));
    store.advance(seconds(90));
    assert_eq!(next_due(&store, Lane::Instances), None);
    assert_eq!(next_due(&store, Lane::Work), None);
}

#[test]
fn the_end_of_a_lease_without_mail_behind_it_is_not_due() {
    let store = Store::with_instance("a");
    store.enqueue(timer("a", 2, BEGIN));
    store.lease();
    let end = EventKind::OrchestrationCompleted { output: String::new() };
    store.append("a", 1, vec![event(2, end)]).unwrap();
    assert_eq!(store.mail(), [0; 0], "the end removes the timer");
    assert_eq!(next_due(&store, Lane::Instances), None);
}

#[test]
fn the_next_due_time_of_work_is_of_delays_and_leases() {
    let store = Store::new();
    store.enqueue_work(activity("a", 2));
    assert_eq!(next_due(&store, Lane::Work), None);
    let lease = store.lease_work();
    assert_eq!(next_due(&store, Lane::Work), Some(BEGIN + 30_000));
    store.abandon_work(&lease.token, Some(seconds(5))).unwrap();
    assert_eq!(next_due(&store, Lane::Work), Some(BEGIN + 5_000));
    store.advance(seconds(5));
    assert_eq!(next_due(&store, Lane::Work), None);
}
