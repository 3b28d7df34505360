//! Ending a lease on an instance without a commit, and what a lease that is no more can do: nothing.

use abide_provider::Rejection;

use crate::support::*;

fn leased() -> (Store, abide_provider::InstanceLease) {
    let store = Store::new();
    store.enqueue(start("a"));
    let lease = store.lease();
    (store, lease)
}

fn leased_until(store: &Store) -> Option<u64> {
    store.dump().instances["a"].leased_until
}

#[test]
fn renewing_takes_the_later_end() {
    let (store, lease) = leased();
    store.renew(&lease.token, seconds(5)).unwrap();
    assert_eq!(leased_until(&store), Some(BEGIN + 30_000));
    store.advance(seconds(10));
    store.renew(&lease.token, seconds(30)).unwrap();
    assert_eq!(leased_until(&store), Some(BEGIN + 40_000));
}

#[test]
fn abandoning_counts_the_attempt_of_the_batch_only() {
    let (store, lease) = leased();
    store.enqueue(signal("a", "later"));
    store.abandon(&lease.token, None).unwrap();
    let attempts = store.lease().messages.iter().map(|message| message.attempt).collect::<Vec<_>>();
    assert_eq!(attempts, [2, 1]);
}

#[test]
fn abandoning_can_ignore_the_attempt() {
    let (store, lease) = leased();
    store.abandon_ignoring_attempt(&lease.token).unwrap();
    assert_eq!(store.lease().attempt, 1);
}

#[test]
fn abandoning_with_a_delay_hides_the_batch_only() {
    let store = Store::with_instance("a");
    store.enqueue(signal("a", "2"));
    let lease = store.lease();
    store.enqueue(signal("a", "3"));
    store.abandon(&lease.token, Some(seconds(10))).unwrap();
    assert_eq!(store.dump().messages[&2].visible_at, Some(BEGIN + 10_000));
    let lease = store.lease();
    assert_eq!(lease.messages[0].item, signal("a", "3"));
    store.abandon(&lease.token, Some(seconds(0))).unwrap();
    assert_eq!(store.dump().messages[&3].visible_at, None);
}

#[test]
fn a_lease_is_lost_when_its_end_is_reached() {
    let (store, lease) = leased();
    store.advance(LEASE);
    let before = store.state();
    assert!(!store.renew(&lease.token, LEASE).unwrap_err().retryable);
    assert!(!store.abandon(&lease.token, None).unwrap_err().retryable);
    assert!(!store.ack(&lease.token, vec![event(1, started())]).unwrap_err().retryable);
    assert_eq!(store.refused(TurnBuilder::starting(1).under(&lease)), Some(Rejection::LeaseLost));
    assert_eq!(store.state(), before);
}

#[test]
fn a_lease_that_was_given_back_is_lost() {
    let (store, lease) = leased();
    store.abandon(&lease.token, None).unwrap();
    assert!(store.renew(&lease.token, LEASE).is_err());
    let next = store.lease();
    assert!(store.abandon(&lease.token, None).is_err());
    store.commit(TurnBuilder::starting(1).under(&next));
    assert_eq!(store.refused(TurnBuilder::starting(1).under(&next)), Some(Rejection::LeaseLost));
}

#[test]
fn a_token_means_one_lease_in_one_queue() {
    let (store, lease) = leased();
    store.enqueue(start("b"));
    let other = store.lease();
    store.enqueue_work(activity("a", 2));
    let work = store.lease_work();
    assert!(store.renew("lock_none", LEASE).is_err());
    assert!(store.renew(&work.token, LEASE).is_err());
    assert!(store.renew_work(&lease.token, LEASE).is_err());
    let mut foreign = TurnBuilder::starting(1).under(&other);
    foreign.instance = "a".to_owned();
    assert_eq!(store.refused(foreign), Some(Rejection::Invalid));
}

#[test]
fn a_lost_lease_is_an_invalid_token_to_the_required_methods() {
    let error = Store::new().ack("lock_none", vec![event(1, started())]).unwrap_err();
    assert_eq!(error.operation, "ack_orchestration_item");
    assert!(error.message.starts_with("Invalid lock token"), "{error}");
}
