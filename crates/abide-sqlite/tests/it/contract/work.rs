//! Work: leasing it, ending the lease, finishing it.

use abide_model::{ErrorDetails, WorkItem};
use abide_provider::{FinishedWork, Provider as _, Rejection, TagFilter, WorkLease};
use futures::executor::block_on;

use crate::support::items::*;
use crate::support::store::*;

fn with_work(store: &Store) -> WorkLease {
    store.create("a", TurnBuilder::starting(1).work(activity("a", 2)));
    store.lease_work()
}

#[test]
fn the_lowest_number_comes_first() {
    on_both(|store| {
        store.create_idle("a");
        for id in [5, 2, 9] {
            store.enqueue_work(activity("a", id));
        }
        assert!(store.unchanged(|| store.lease_work_with(lease_work(0))).is_empty());
        assert_eq!(activities(&store.lease_work_with(lease_work(2))), [5, 2]);
        assert_eq!(activities(&store.lease_work_with(lease_work(9))), [9]);
    });
}

#[test]
fn work_of_what_is_no_instance_says_nothing_about_it() {
    on_both(|store| {
        store.enqueue_work(activity("a", 2));
        let work = store.lease_work();
        assert_eq!(work.orchestration_name, "");
        store.finish(&work.token, Some(completed("a", 2))).unwrap();
        assert_eq!(store.count("message"), 0, "nobody can have asked for it");
    });
}

#[test]
fn the_attempt_counts_when_the_lease_is_taken() {
    on_both(|store| {
        let work = with_work(store);
        assert_eq!(work.attempt, 1);
        store.advance(LEASE);
        let work = store.lease_work();
        assert_eq!(work.attempt, 2);
        block_on(store.provider.abandon_work_item(&work.token, None, true)).unwrap();
        assert_eq!(store.lease_work().attempt, 2, "given back");
    });
}

#[test]
fn renewing_takes_the_later_end() {
    on_both(|store| {
        let work = with_work(store);
        store.renew_work(&work.token, seconds(1)).unwrap();
        store.advance(millis(29_999));
        store.renew_work(&work.token, seconds(30)).unwrap();
        store.advance(millis(29_999));
        assert!(store.try_lease_work().is_none());
        store.advance(millis(1));
        assert_eq!(store.lease_work().attempt, 2);
    });
}

#[test]
fn a_lease_that_is_no_more_changes_nothing() {
    on_both(|store| {
        let work = with_work(store);
        let refused = |work: &WorkLease| {
            store.unchanged(|| {
                assert!(!store.renew_work(&work.token, LEASE).unwrap_err().retryable);
                assert!(!store.abandon_work(&work.token, None).unwrap_err().retryable);
                assert!(!store.abandon_work(&work.token, Some(seconds(9))).unwrap_err().retryable);
                for completion in [None, Some(completed("a", 2)), Some(completed("b", 2))] {
                    let lost = store.finish(&work.token, completion).unwrap_err();
                    assert_eq!(lost.rejection(), Some(Rejection::LeaseLost));
                }
                let acked = block_on(store.provider.ack_work_item(&work.token, None)).unwrap_err();
                assert!(!acked.retryable && acked.message.starts_with("Invalid lock token"), "{acked}");
            });
        };
        store.advance(LEASE);
        refused(&work);
        let again = store.lease_work();
        refused(&work);
        store.abandon_work(&again.token, None).unwrap();
        refused(&again);
        let last = store.lease_work();
        store.finish(&last.token, None).unwrap();
        refused(&last);
    });
}

#[test]
fn finished_work_is_gone_and_its_instance_has_mail_in_one_transaction() {
    on_both(|store| {
        let work = with_work(store);
        let before = store.provider.transactions();
        store.finish(&work.token, Some(completed("a", 2))).unwrap();
        assert_eq!(store.provider.transactions(), before + 1);
        assert_eq!(store.count("work"), 0);
        assert_eq!(store.lease().messages[0].item, completed("a", 2));
    });
}

#[test]
fn only_a_completion_for_its_instance_finishes_an_activity() {
    on_both(|store| {
        let work = with_work(store);
        store.unchanged(|| {
            for wrong in [signal("a", ""), start("a"), completed("b", 2), activity("a", 2)] {
                let refused = store.finish(&work.token, Some(wrong)).unwrap_err();
                assert_eq!(refused.rejection(), Some(Rejection::Invalid));
            }
        });
        let details = ErrorDetails::panicked("oops");
        let failed = WorkItem::ActivityFailed { instance: "a".to_owned(), execution_id: 1, id: 2, details };
        store.finish(&work.token, Some(failed)).unwrap();
    });
}

#[test]
fn each_finished_activity_has_its_own_answer_and_they_share_a_transaction() {
    on_both(|store| {
        store.create_idle("a");
        for id in 2..5 {
            store.enqueue_work(activity("a", id));
        }
        let leased = store.lease_work_with(lease_work(3));
        let finish = |work: &WorkLease| FinishedWork {
            token: work.token.clone(),
            completion: Some(completed("a", activity_of(work))),
        };
        let wrong = FinishedWork { token: leased[2].token.clone(), completion: Some(signal("a", "")) };
        let finished = vec![finish(&leased[0]), finish(&leased[0]), wrong, finish(&leased[1])];
        let before = store.provider.transactions();
        let answers = block_on(store.provider.finish_work(finished));
        assert_eq!(store.provider.transactions(), before + 1);
        assert_eq!(answers.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, false, true]);
        assert_eq!(store.lease().messages.len(), 2);
        store.renew_work(&leased[2].token, LEASE).unwrap();
    });
}

#[test]
fn a_fetch_is_a_lease_of_one() {
    on_both(|store| {
        store.enqueue_work(activity("a", 2));
        store.enqueue_work(activity("a", 3));
        let fetch =
            || block_on(store.provider.fetch_work_item(LEASE, seconds(0), None, &TagFilter::Any)).unwrap();
        let (item, token, attempt) = fetch().unwrap();
        assert_eq!((item, attempt), (activity("a", 2), 1));
        assert_eq!(fetch().unwrap().0, activity("a", 3));
        assert!(fetch().is_none());
        block_on(store.provider.ack_work_item(&token, Some(completed("a", 2)))).unwrap();
    });
}
