//! Ending a lease on an instance without a commit, and what a lease that is no more can do: nothing.

use abide_provider::{InstanceLease, Provider as _, Rejection};
use futures::executor::block_on;

use crate::support::items::*;
use crate::support::store::*;

fn leased(store: &Store) -> InstanceLease {
    store.enqueue(start("a"));
    store.lease()
}

#[test]
fn renewing_takes_the_later_end() {
    on_both(|store| {
        let lease = leased(store);
        store.renew(&lease.token, seconds(5)).unwrap();
        store.advance(seconds(29));
        store.renew(&lease.token, seconds(30)).unwrap();
        store.advance(millis(29_999));
        assert!(store.try_lease().is_none());
        store.advance(millis(1));
        assert_eq!(store.lease().attempt, 2);
    });
}

#[test]
fn abandoning_counts_the_attempt_of_the_batch_only() {
    on_both(|store| {
        let lease = leased(store);
        store.enqueue(signal("a", "later"));
        store.abandon(&lease.token, None).unwrap();
        assert_eq!(attempts(&store.lease()), [2, 1]);
    });
}

#[test]
fn abandoning_can_ignore_the_attempt() {
    on_both(|store| {
        let lease = leased(store);
        block_on(store.provider.abandon_orchestration_item(&lease.token, None, true)).unwrap();
        assert_eq!(store.lease().attempt, 1);
    });
}

#[test]
fn abandoning_with_a_delay_hides_the_batch_only() {
    on_both(|store| {
        store.create_idle("a");
        store.enqueue(signal("a", "2"));
        let lease = store.lease();
        store.enqueue(signal("a", "3"));
        store.abandon(&lease.token, Some(seconds(10))).unwrap();
        let lease = store.lease();
        assert_eq!(contents(&lease), ["3"]);
        store.abandon(&lease.token, Some(seconds(0))).unwrap();
        let lease = store.lease();
        assert_eq!(contents(&lease), ["3"], "a delay of zero is none");
        store.advance(seconds(10));
        assert!(store.try_lease().is_none(), "leased, whatever else becomes visible");
        store.commit(TurnBuilder::of_execution(1).under(&lease));
        assert_eq!(contents(&store.lease()), ["2"]);
    });
}

/// Everything that a token is good for.
fn all_refused(store: &Store, lease: &InstanceLease) {
    store.unchanged(|| {
        for refused in [
            store.renew(&lease.token, LEASE),
            store.abandon(&lease.token, None),
            store.abandon(&lease.token, Some(seconds(9))),
            store.ack(&lease.token, vec![event(1, started())]),
        ] {
            let error = refused.unwrap_err();
            assert!(!error.retryable && error.message.starts_with("Invalid lock token"), "{error}");
        }
    });
    let everything = TurnBuilder::starting(1)
        .event(2, value_set("k", "v"))
        .work(activity("a", 9))
        .mail(signal("b", ""))
        .revoking("a", 3);
    assert_eq!(store.refused(everything.under(lease)), Some(Rejection::LeaseLost));
}

#[test]
fn a_lease_whose_end_is_reached_changes_nothing() {
    on_both(|store| {
        let lease = leased(store);
        store.enqueue_work(activity("a", 3));
        store.advance(LEASE);
        all_refused(store, &lease);
    });
}

#[test]
fn a_lease_that_somebody_else_has_taken_over_changes_nothing() {
    on_both(|store| {
        let lease = leased(store);
        store.advance(LEASE);
        let next = store.lease();
        all_refused(store, &lease);
        store.renew(&next.token, LEASE).unwrap();
        store.commit(TurnBuilder::starting(1).under(&next));
    });
}

#[test]
fn a_lease_that_was_given_back_or_used_changes_nothing() {
    on_both(|store| {
        let lease = leased(store);
        store.abandon(&lease.token, None).unwrap();
        all_refused(store, &lease);
        let next = store.lease();
        store.commit(TurnBuilder::starting(1).under(&next));
        all_refused(store, &next);
    });
}

/// In one group with its successor, too: the same commit twice in one call.
#[test]
fn a_commit_happens_once() {
    on_both(|store| {
        let lease = leased(store);
        let commit = TurnBuilder::starting(1).mail(signal("a", "mine")).under(&lease);
        let answers = block_on(store.provider.commit_turns(vec![commit.clone(), commit]));
        assert!(answers[0].is_ok());
        assert_eq!(answers[1].as_ref().unwrap_err().rejection(), Some(Rejection::LeaseLost));
        assert_eq!(contents(&store.lease()), ["mine"]);
    });
}

#[test]
fn a_token_means_one_lease_in_one_queue() {
    on_both(|store| {
        let lease = leased(store);
        store.enqueue(start("b"));
        let other = store.lease();
        store.enqueue_work(activity("a", 2));
        let work = store.lease_work();
        store.unchanged(|| {
            for token in ["", "lock_none", "lock_i.1", "lock_i..", "lock_w.1.1.2.3.4", &work.token] {
                assert!(store.renew(token, LEASE).is_err(), "{token}");
                assert!(store.abandon(token, None).is_err(), "{token}");
            }
            for token in ["", "lock_none", &lease.token] {
                assert!(store.renew_work(token, LEASE).is_err(), "{token}");
                assert!(store.finish(token, None).is_err(), "{token}");
            }
        });
        let mut foreign = TurnBuilder::starting(1).under(&other);
        foreign.instance = "a".to_owned();
        assert_eq!(store.refused(foreign), Some(Rejection::Invalid));
    });
}
