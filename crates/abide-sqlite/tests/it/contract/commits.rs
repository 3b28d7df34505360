//! What a commit writes, and what it refuses to write.

use abide_model::{EventKind, ExecutionStatus};
use abide_provider::{Authority, Consumed, Provider as _, Rejection, StoreError, Turn, TurnCommit};
use futures::executor::block_on;

use crate::support::items::*;
use crate::support::store::*;

#[test]
fn a_commit_is_one_transaction_and_writes_everything() {
    on_both(|store| {
        store.enqueue(start("a"));
        let lease = store.lease();
        let before = store.provider.transactions();
        let turn = TurnBuilder::starting(1)
            .events(2, [status_said(Some("half")), value_set("k", "v")])
            .work(activity("a", 4))
            .mail(timer("a", 5, BEGIN + 1_000))
            .mail(start("child"))
            .mail(signal("nobody", ""))
            .pinned("0.2.0");
        store.commit(turn.under(&lease));
        assert_eq!(store.provider.transactions(), before + 1);
        assert_eq!(block_on(store.provider.read("a")).unwrap().len(), 3);
        assert_eq!(block_on(store.provider.get_kv_value("a", "k")).unwrap().as_deref(), Some("v"));
        let status = block_on(store.provider.get_custom_status("a", 0)).unwrap();
        assert_eq!(status, Some((Some("half".to_owned()), 1)));
        let work = store.lease_work();
        assert_eq!(
            (work.orchestration_name.as_str(), work.orchestration_version.as_str()),
            ("Order", "1.0.0")
        );
        assert_eq!(names(&store.lease_with(lease_instances(9))), ["child"]);
        store.advance(seconds(1));
        let next = store.lease();
        assert_eq!(
            (contents(&next), next.status),
            (vec!["TimerFired".to_owned()], Some(ExecutionStatus::Running))
        );
        assert_eq!((next.position.execution_id, next.position.last_event_id), (1, 3));
        assert_eq!(next.position.incarnation, lease.position.incarnation);
    });
}

#[test]
fn an_empty_commit_only_consumes() {
    on_both(|store| {
        store.enqueue(start("a"));
        let lease = store.lease();
        store.commit(TurnBuilder::of_execution(1).under(&lease));
        assert_eq!(store.count("message"), 0);
        assert_eq!(store.count("execution"), 0);
        assert_eq!(block_on(store.provider.get_instance_stats("a")).unwrap(), None);
        store.enqueue(signal("a", "waits"));
        assert!(store.try_lease().is_none(), "it is still no instance");
    });
}

#[test]
fn what_is_appended_is_new() {
    on_both(|store| {
        store.create("a", TurnBuilder::starting(2).event(2, status_said(None)));
        store.enqueue(signal("a", ""));
        let lease = store.lease();
        let commit = |turn: TurnBuilder| store.refused(turn.mail(signal("b", "")).under(&lease));
        assert_eq!(
            commit(TurnBuilder::of_execution(1)),
            Some(Rejection::Conflict),
            "an execution that is over"
        );
        assert_eq!(commit(TurnBuilder::starting(2)), Some(Rejection::Conflict), "an event that is there");
        assert_eq!(
            commit(TurnBuilder::of_execution(2).event(2, status_said(None))),
            Some(Rejection::Conflict)
        );
        assert_eq!(commit(TurnBuilder::of_execution(0)), Some(Rejection::Invalid), "no execution");
        let unordered = TurnBuilder::of_execution(2).event(4, status_said(None)).event(3, status_said(None));
        assert_eq!(commit(unordered), Some(Rejection::Invalid));
        assert_eq!(
            commit(TurnBuilder::of_execution(2).event(0, status_said(None))),
            Some(Rejection::Invalid)
        );
        assert_eq!(commit(TurnBuilder::of_execution(2).work(signal("a", ""))), Some(Rejection::Invalid));
        store.commit(TurnBuilder::of_execution(2).event(3, status_said(None)).under(&lease));
    });
}

#[test]
fn each_turn_of_a_call_has_its_own_answer() {
    on_both(|store| {
        for name in ["a", "b", "c"] {
            store.enqueue(start(name));
        }
        let leases = store.lease_with(lease_instances(3));
        let lost = TurnCommit {
            instance: "x".to_owned(),
            authority: Authority::Lease { token: "lock_none".to_owned() },
            consumed: Consumed::All,
            left: Vec::new(),
            turn: Turn { execution_id: 1, ..Turn::default() },
        };
        let commits = vec![
            TurnBuilder::starting(1).under(&leases[0]),
            lost,
            TurnBuilder::of_execution(0).under(&leases[1]),
            TurnBuilder::starting(1).under(&leases[2]),
        ];
        let before = store.provider.transactions();
        let answers = block_on(store.provider.commit_turns(commits));
        assert_eq!(store.provider.transactions(), before + 1, "and they share a transaction");
        let rejections: Vec<_> =
            answers.iter().map(|answer| answer.as_ref().err().and_then(StoreError::rejection)).collect();
        assert_eq!(rejections, [None, Some(Rejection::LeaseLost), Some(Rejection::Invalid), None]);
        assert_eq!(store.count("execution"), 2);
        assert_eq!(block_on(store.provider.commit_turns(Vec::new())), []);
    });
}

#[test]
fn an_execution_has_its_status_its_output_and_its_times() {
    on_both(|store| {
        store.create_idle("a");
        store.advance(seconds(1));
        store.enqueue(signal("a", ""));
        let lease = store.lease();
        let end = EventKind::OrchestrationContinuedAsNew { input: "again".to_owned() };
        let turn = TurnBuilder::of_execution(1).event(2, end).mail(continue_as_new("a"));
        store.commit(turn.ending(ExecutionStatus::ContinuedAsNew, "again").under(&lease));
        store.advance(seconds(1));
        let lease = store.lease();
        assert_eq!(lease.status, Some(ExecutionStatus::ContinuedAsNew));
        store.commit(TurnBuilder::starting(2).under(&lease));
        let executions = "SELECT group_concat(no || ' ' || status || ' ' || coalesce(output, '-') || ' ' ||
                              started_at || ' ' || coalesce(completed_at, '-'), ', ') FROM execution";
        assert_eq!(
            store.value::<String>(executions),
            "1 ContinuedAsNew again 1000000 1001000, 2 Running - 1002000 -"
        );
        let times: String = store.value("SELECT created_at || ' ' || updated_at FROM mailbox");
        assert_eq!(times, "1000000 1002000");
    });
}

#[test]
fn a_parent_once_known_stays() {
    on_both(|store| {
        let child = |instance: &str, parent: &str| {
            let mut item = start(instance);
            if let abide_model::WorkItem::StartOrchestration { parent_instance, parent_id, .. } = &mut item {
                *parent_instance = Some(parent.to_owned());
                *parent_id = Some(7);
            }
            item
        };
        store.enqueue(child("a", "first"));
        let lease = store.lease();
        assert_eq!(lease.parent.as_ref().map(|parent| parent.instance.as_str()), Some("first"));
        let mut commit = TurnBuilder::starting(1).under(&lease);
        commit.turn.metadata.parent_instance_id = Some("first".to_owned());
        store.commit(commit);
        store.enqueue(child("a", "second"));
        let lease = store.lease();
        assert_eq!(lease.parent.as_ref().map(|parent| parent.instance.as_str()), Some("first"));
        let mut commit = TurnBuilder::of_execution(1).under(&lease);
        commit.turn.metadata.parent_instance_id = Some("second".to_owned());
        store.commit(commit);
        assert_eq!(store.value::<String>("SELECT parent FROM mailbox"), "first");
    });
}

#[test]
fn timers_go_by_name_and_with_their_execution() {
    on_both(|store| {
        let timers = (2..6).map(|id| timer("a", id, BEGIN + id * 1_000));
        store.create("a", timers.fold(TurnBuilder::starting(1), TurnBuilder::mail));
        store.enqueue(signal("a", ""));
        let lease = store.lease();
        store.commit(TurnBuilder::of_execution(1).removing_timer(2).removing_timer(9).under(&lease));
        assert_eq!(store.count("message"), 3);
        store.advance(seconds(3));
        let lease = store.lease();
        assert_eq!(contents(&lease), ["TimerFired"], "that of event 3");
        let end = TurnBuilder::of_execution(1).mail(timer("a", 7, BEGIN + 9_000));
        let end = end.mail(start("b")).mail(timer("b", 2, BEGIN)).mail(timer("nobody", 2, BEGIN));
        store.commit(end.ending(ExecutionStatus::Completed, "").under(&lease));
        assert_eq!(
            store.value::<String>("SELECT group_concat(item) FROM message").matches("TimerFired").count(),
            1
        );
        assert_eq!(store.value::<i64>("SELECT mailbox FROM message"), 2, "that of another instance");
        store.advance(seconds(9));
        assert_eq!(contents(&store.lease()), ["StartOrchestration", "TimerFired"]);
        assert!(store.try_lease().is_none());
    });
}

#[test]
fn a_removed_timer_that_is_visible_already_is_gone_too() {
    on_both(|store| {
        store.create("a", TurnBuilder::starting(1).mail(timer("a", 2, BEGIN + 1_000)));
        store.enqueue(signal("a", ""));
        let lease = store.lease();
        store.advance(seconds(2));
        store.settle();
        store.commit(TurnBuilder::of_execution(1).removing_timer(2).under(&lease));
        assert!(store.try_lease().is_none());
        assert_eq!(store.count("message"), 0);
    });
}
