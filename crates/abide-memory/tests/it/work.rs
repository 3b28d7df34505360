//! Work: enqueueing, leasing, ending the lease, finishing.

use abide_model::{ErrorDetails, WorkItem};
use abide_provider::{FinishedWork, LeaseWork, Provider as _, Rejection, TagFilter, WorkLease};

use crate::support::*;

fn with_work() -> (Store, WorkLease) {
    let store = Store::with_instance("a");
    store.enqueue_work(activity("a", 2));
    let work = store.lease_work();
    (store, work)
}

fn leased_until(store: &Store) -> Option<u64> {
    store.dump().work.into_values().next().unwrap().leased_until
}

fn activities(leases: &[WorkLease]) -> Vec<WorkItem> {
    leases.iter().map(|lease| lease.item.clone()).collect()
}

#[test]
fn work_is_leased_lowest_number_first_and_says_who_asked() {
    let store = Store::with_instance("a");
    for id in [5, 2, 9] {
        store.enqueue_work(activity("a", id));
    }
    assert!(store.lease_work_with(lease_work(0)).is_empty());
    let leases = store.lease_work_with(lease_work(2));
    assert_eq!(activities(&leases), [activity("a", 5), activity("a", 2)]);
    assert_eq!(
        (leases[0].orchestration_name.as_str(), leases[0].orchestration_version.as_str()),
        ("Order", "1.0.0")
    );
    assert_eq!(store.lease_work().item, activity("a", 9));
}

#[test]
fn work_of_an_unknown_instance_says_nothing_about_it() {
    let store = Store::new();
    store.enqueue_work(activity("a", 2));
    let work = store.lease_work();
    assert_eq!((work.orchestration_name.as_str(), work.orchestration_version.as_str()), ("", ""));
}

#[test]
fn tags_decide_who_takes_what() {
    let tagged = [None, Some("gpu"), Some("eu")];
    let cases = [
        (TagFilter::DefaultOnly, vec![2]),
        (TagFilter::tags(["gpu"]), vec![3]),
        (TagFilter::default_and(["eu"]), vec![2, 4]),
        (TagFilter::Any, vec![2, 3, 4]),
        (TagFilter::None, vec![]),
    ];
    for (tags, expected) in cases {
        let store = Store::new();
        for (id, tag) in (2..).zip(tagged) {
            store.enqueue_work(activity_with("a", id, None, tag));
        }
        let leases = store.lease_work_with(LeaseWork { tags: tags.clone(), ..lease_work(9) });
        let ids: Vec<u64> = (2..5).filter(|id| leases.iter().any(|lease| is(&lease.item, *id))).collect();
        assert_eq!(ids, expected, "{tags:?}");
    }
}

fn is(item: &WorkItem, wanted: u64) -> bool {
    matches!(item, WorkItem::ActivityExecute { id, .. } if *id == wanted)
}

#[test]
fn the_attempt_counts_when_the_lease_is_taken() {
    let (store, work) = with_work();
    assert_eq!(work.attempt, 1);
    assert_eq!(store.dump().work[&2].attempts, 1);
    store.advance(LEASE);
    assert_eq!(store.dump().work[&2].leased_until, None);
    assert_eq!(store.lease_work().attempt, 2);
}

#[test]
fn renewing_takes_the_later_end() {
    let (store, work) = with_work();
    store.renew_work(&work.token, seconds(1)).unwrap();
    assert_eq!(leased_until(&store), Some(BEGIN + 30_000));
    store.advance(seconds(29));
    store.renew_work(&work.token, seconds(30)).unwrap();
    assert_eq!(leased_until(&store), Some(BEGIN + 59_000));
}

#[test]
fn abandoned_work_is_hidden_for_the_delay() {
    let (store, work) = with_work();
    store.abandon_work(&work.token, Some(seconds(5))).unwrap();
    store.advance(millis(4_999));
    assert!(store.try_lease_work().is_none());
    store.advance(millis(1));
    let work = store.lease_work();
    assert_eq!(work.attempt, 2);
    store.abandon_work(&work.token, None).unwrap();
    assert_eq!(store.lease_work().attempt, 3);
}

#[test]
fn abandoning_can_give_the_attempt_back() {
    let (store, work) = with_work();
    at_once(store.provider.abandon_work_item(&work.token, None, true)).unwrap();
    assert_eq!(store.dump().work[&2].attempts, 0);
    assert_eq!(store.lease_work().attempt, 1);
}

#[test]
fn a_lease_that_is_no_more_changes_nothing() {
    let (store, work) = with_work();
    store.advance(LEASE);
    let before = store.state();
    assert!(!store.renew_work(&work.token, LEASE).unwrap_err().retryable);
    assert!(!store.abandon_work(&work.token, None).unwrap_err().retryable);
    let finished = store.finish(&work.token, Some(completed("a", 2))).unwrap_err();
    assert_eq!(finished.rejection(), Some(Rejection::LeaseLost));
    assert_eq!(store.state(), before);
}

#[test]
fn finished_work_is_gone_and_its_instance_has_mail() {
    let (store, work) = with_work();
    store.finish(&work.token, Some(completed("a", 2))).unwrap();
    assert!(store.dump().work.is_empty());
    assert_eq!(store.lease().messages[0].item, completed("a", 2));
}

#[test]
fn work_can_be_finished_without_a_word() {
    let (store, work) = with_work();
    at_once(store.provider.ack_work_item(&work.token, None)).unwrap();
    assert!(store.dump().work.is_empty());
    assert!(store.try_lease().is_none());
}

#[test]
fn a_completion_completes_an_activity_of_the_same_instance() {
    let (store, work) = with_work();
    let before = store.state();
    for wrong in [signal("a", ""), start("a"), completed("b", 2), activity("a", 2)] {
        let refused = store.finish(&work.token, Some(wrong)).unwrap_err();
        assert_eq!(refused.rejection(), Some(Rejection::Invalid));
    }
    assert_eq!(store.state(), before);
    let details = ErrorDetails::panicked("oops");
    let failed = WorkItem::ActivityFailed { instance: "a".to_owned(), execution_id: 1, id: 2, details };
    store.finish(&work.token, Some(failed)).unwrap();
}

#[test]
fn a_completion_for_what_is_no_instance_is_dropped() {
    let store = Store::new();
    store.enqueue_work(activity("a", 2));
    let work = store.lease_work();
    store.finish(&work.token, Some(completed("a", 2))).unwrap();
    assert!(store.dump().messages.is_empty());
    assert!(store.dump().work.is_empty());
}

#[test]
fn each_finished_activity_has_its_own_answer() {
    let (store, work) = with_work();
    let finish = |token: &str| FinishedWork { token: token.to_owned(), completion: None };
    let finished = vec![finish("lock_none"), finish(&work.token), finish(&work.token)];
    let answers = at_once(store.provider.finish_work(finished));
    assert_eq!(answers.iter().map(Result::is_ok).collect::<Vec<_>>(), [false, true, false]);
}

#[test]
fn a_fetch_is_a_lease_of_one() {
    let store = Store::new();
    store.enqueue_work(activity("a", 2));
    let fetch = || at_once(store.provider.fetch_work_item(LEASE, seconds(0), None, &TagFilter::Any)).unwrap();
    let (item, token, attempt) = fetch().unwrap();
    assert_eq!((item, attempt), (activity("a", 2), 1));
    assert!(fetch().is_none());
    store.renew_work(&token, LEASE).unwrap();
}
