//! Who is served, by what, and in which transaction.

use abide_provider::{LeaseInstances, LeaseWork, Provider as _, TagFilter};
use futures::executor::block_on;

use super::{LIMIT, Parked, any_instance, any_work, enqueue, enqueue_start, on_both, soon};
use crate::support::items::*;
use crate::support::store::{LEASE, lease_instances, lease_work, millis};

#[test]
fn a_message_serves_who_waits_in_its_own_transaction() {
    on_both(|provider| {
        let waiting = Parked::new(provider, provider.lease_instances(any_instance()));
        let before = provider.transactions();
        enqueue_start(provider, "a");
        assert_eq!(names(&soon(waiting.call).unwrap()), ["a"]);
        assert_eq!(provider.transactions(), before + 1);
    });
}

#[test]
fn a_commit_serves_both_queues_in_its_own_transaction() {
    on_both(|provider| {
        enqueue_start(provider, "a");
        let lease = soon(provider.lease_instances(any_instance())).unwrap().remove(0);
        let instances = Parked::new(provider, provider.lease_instances(any_instance()));
        let work = Parked::new(provider, provider.lease_work(any_work()));
        let before = provider.transactions();
        let turn = TurnBuilder::starting(1).work(activity("a", 2)).mail(start("child"));
        soon(provider.commit_turns(vec![turn.under(&lease)])).remove(0).unwrap();
        assert_eq!(names(&soon(instances.call).unwrap()), ["child"]);
        assert_eq!(activities(&soon(work.call).unwrap()), [2]);
        assert_eq!(provider.transactions(), before + 1);
    });
}

#[test]
fn finished_work_serves_who_waits_for_its_instance_in_its_own_transaction() {
    on_both(|provider| {
        enqueue_start(provider, "a");
        let lease = soon(provider.lease_instances(any_instance())).unwrap().remove(0);
        let turn = TurnBuilder::starting(1).work(activity("a", 2)).under(&lease);
        soon(provider.commit_turns(vec![turn])).remove(0).unwrap();
        let work = soon(provider.lease_work(any_work())).unwrap().remove(0);
        let waiting = Parked::new(provider, provider.lease_instances(any_instance()));
        let before = provider.transactions();
        soon(provider.ack_work_item(&work.token, Some(completed("a", 2)))).unwrap();
        assert_eq!(contents(&soon(waiting.call).unwrap()[0]), ["ActivityCompleted"]);
        assert_eq!(provider.transactions(), before + 1);
    });
}

#[test]
fn a_commit_that_leaves_mail_serves_who_waits() {
    on_both(|provider| {
        enqueue_start(provider, "a");
        let lease = soon(provider.lease_instances(any_instance())).unwrap().remove(0);
        enqueue(provider, signal("a", "meanwhile"));
        let waiting = Parked::new(provider, provider.lease_instances(any_instance()));
        soon(provider.commit_turns(vec![TurnBuilder::starting(1).under(&lease)])).remove(0).unwrap();
        assert_eq!(contents(&soon(waiting.call).unwrap()[0]), ["meanwhile"]);
    });
}

#[test]
fn a_lease_given_back_serves_who_waits() {
    on_both(|provider| {
        enqueue_start(provider, "a");
        soon(provider.enqueue_for_worker(activity("a", 2))).unwrap();
        let lease = soon(provider.lease_instances(any_instance())).unwrap().remove(0);
        let work = soon(provider.lease_work(any_work())).unwrap().remove(0);
        let instances = Parked::new(provider, provider.lease_instances(any_instance()));
        let works = Parked::new(provider, provider.lease_work(any_work()));
        soon(provider.abandon_orchestration_item(&lease.token, None, false)).unwrap();
        assert_eq!(soon(instances.call).unwrap()[0].attempt, 2);
        soon(provider.abandon_work_item(&work.token, None, true)).unwrap();
        assert_eq!(soon(works.call).unwrap()[0].attempt, 1);
    });
}

#[test]
fn the_first_who_waits_is_the_first_who_is_served_and_others_go_on_waiting() {
    on_both(|provider| {
        let first = Parked::new(provider, provider.lease_instances(any_instance()));
        let mut second = Parked::new(provider, provider.lease_instances(any_instance()));
        enqueue_start(provider, "a");
        assert_eq!(names(&soon(first.call).unwrap()), ["a"]);
        soon(provider.nudge());
        assert!(second.poll().is_none());
        enqueue_start(provider, "b");
        assert_eq!(names(&soon(second.call).unwrap()), ["b"]);
    });
}

#[test]
fn each_gets_what_it_asked_for() {
    on_both(|provider| {
        let tagged = LeaseWork { tags: TagFilter::tags(["gpu"]), ..any_work() };
        let mut of_tag = Parked::new(provider, provider.lease_work(tagged));
        let untagged = Parked::new(provider, provider.lease_work(any_work()));
        soon(provider.enqueue_for_worker(activity("a", 2))).unwrap();
        assert_eq!(activities(&soon(untagged.call).unwrap()), [2]);
        soon(provider.nudge());
        assert!(of_tag.poll().is_none());
        soon(provider.enqueue_for_worker(activity_with("a", 3, None, Some("gpu")))).unwrap();
        assert_eq!(activities(&soon(of_tag.call).unwrap()), [3]);
    });
}

#[test]
fn the_required_methods_wait_too() {
    on_both(|provider| {
        let any = TagFilter::Any;
        let item = Parked::new(provider, provider.fetch_orchestration_item(LEASE, LIMIT, None));
        let work = Parked::new(provider, provider.fetch_work_item(LEASE, LIMIT, None, &any));
        enqueue_start(provider, "a");
        soon(provider.enqueue_for_worker(activity("a", 2))).unwrap();
        assert_eq!(soon(item.call).unwrap().unwrap().0.instance, "a");
        assert_eq!(soon(work.call).unwrap().unwrap().0, activity("a", 2));
    });
}

/// Who asks for nothing is not made to wait for it, and stands in nobody's way.
#[test]
fn a_call_for_nothing_is_answered_at_once() {
    on_both(|provider| {
        let nothing = LeaseInstances { limit: 0, ..any_instance() };
        assert!(soon(provider.lease_instances(nothing)).unwrap().is_empty());
        let nothing = LeaseWork { limit: 0, ..any_work() };
        assert!(soon(provider.lease_work(nothing)).unwrap().is_empty());
    });
}

#[test]
fn a_call_for_nothing_stands_in_nobodys_way() {
    on_both(|provider| {
        let nothing = Box::pin(provider.lease_work(LeaseWork { limit: 0, wait: LIMIT, ..lease_work(0) }));
        let mut nothing = futures::future::maybe_done(nothing);
        block_on(futures::future::poll_immediate(&mut nothing));
        let waiting =
            Parked::new(provider, provider.lease_work(LeaseWork { wait: LIMIT / 2, ..lease_work(1) }));
        soon(provider.enqueue_for_worker(activity("a", 2))).unwrap();
        assert_eq!(activities(&soon(waiting.call).unwrap()), [2]);
    });
}

#[test]
fn a_call_that_fails_in_the_same_group_takes_nothing_from_who_waits() {
    on_both(|provider| {
        let waiting = Parked::new(provider, provider.lease_instances(any_instance()));
        let lost = provider.abandon_orchestration_item("lock_i.1.7", None, false);
        let wrong = provider.append_with_execution("b", 0, vec![event(1, started())]);
        let sent = provider.enqueue_for_orchestrator(start("a"), None);
        let (lost, wrong, sent) = soon(async { futures::join!(lost, wrong, sent) });
        assert!(lost.is_err() && wrong.is_err());
        sent.unwrap();
        assert_eq!(names(&soon(waiting.call).unwrap()), ["a"]);
    });
}

/// What nobody can lease is no reason to look again and again.
#[test]
fn waiting_costs_nothing_while_nothing_happens() {
    on_both(|provider| {
        enqueue(provider, signal("nobody", ""));
        soon(provider.enqueue_for_worker(activity_with("a", 2, None, Some("gpu")))).unwrap();
        let before = provider.transactions();
        let patient = |wait| LeaseInstances { wait, ..lease_instances(1) };
        assert!(soon(provider.lease_instances(patient(millis(300)))).unwrap().is_empty());
        let work = LeaseWork { wait: millis(300), ..lease_work(1) };
        assert!(soon(provider.lease_work(work)).unwrap().is_empty());
        assert!(provider.transactions() <= before + 2, "{} transactions", provider.transactions() - before);
    });
}
