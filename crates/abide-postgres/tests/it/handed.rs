//! What a call makes is leased to the call of its node that waits: by the same statement, and to nobody else.

use std::time::Duration;

use abide_model::WorkItem;
use abide_postgres::PostgresProvider;
use abide_provider::{
    InstanceLease, LeaseInstances, LeaseWork, NextLease, Provider as _, SessionFetchConfig, TagFilter, Turn,
    WorkLease,
};
use futures::FutureExt as _;
use futures::executor::block_on;
use futures::future::join;

use crate::nodes::{LONG, lease, listening};
use crate::support::database::{Database, wait_until};
use crate::support::items::{activity, commit, completed, first_turn, signal, start};

fn instances(limit: usize) -> LeaseInstances {
    LeaseInstances { limit, lease_for: LONG, wait: LONG, capabilities: None, serving: None }
}

fn work(limit: usize) -> LeaseWork {
    LeaseWork {
        limit,
        lease_for: LONG,
        wait: LONG,
        session: None,
        tags: TagFilter::DefaultOnly,
        serving: None,
    }
}

/// How often the store looked for something.
fn looks(store: &PostgresProvider) -> u64 {
    let sent = store.statements_sent();
    sent.iter()
        .filter(|(name, _)| ["lease_instances", "lease_work"].contains(name))
        .map(|(_, times)| times)
        .sum()
}

/// An instance whose first turn is to be committed.
fn held(store: &PostgresProvider, instance: &str) -> InstanceLease {
    block_on(store.enqueue_for_orchestrator(start(instance), None)).unwrap();
    lease(store, Duration::ZERO)
}

fn commit_one(store: &PostgresProvider, lease: &InstanceLease, turn: Turn) {
    block_on(store.commit_turns(vec![commit(lease, turn)])).remove(0).unwrap();
}

/// Does something while a call for work waits, and says what that was given.
fn while_waiting(store: &PostgresProvider, request: LeaseWork, act: impl FnOnce()) -> Vec<WorkLease> {
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| block_on(store.lease_work(request)).unwrap());
        wait_until(|| store.is_waiting());
        act();
        waiting.join().unwrap()
    })
}

fn ids(leases: &[WorkLease]) -> Vec<u64> {
    let id = |lease: &WorkLease| {
        let WorkItem::ActivityExecute { id, .. } = lease.item else {
            panic!("{:?} is no activity", lease.item)
        };
        id
    };
    leases.iter().map(id).collect()
}

#[test]
fn work_is_leased_by_the_commit_that_makes_it() {
    let Some(database) = Database::new() else { return };
    let store = listening(&database);
    let first = held(&store, "a");
    let mut before = 0;
    let given = while_waiting(&store, work(4), || {
        before = looks(&store);
        commit_one(&store, &first, first_turn("a", vec![activity("a", 2), activity("a", 3)]));
    });
    assert_eq!((ids(&given), looks(&store)), (vec![2, 3], before), "and nobody looked for it");
    for leased in &given {
        assert_eq!((leased.attempt, leased.orchestration_name.as_str()), (1, "Order"));
        block_on(store.ack_work_item(&leased.token, Some(completed("a", 2)))).unwrap();
    }
}

#[test]
fn an_instance_is_leased_by_the_call_that_starts_it_and_by_the_one_that_tells_it() {
    let Some(database) = Database::new() else { return };
    let store = listening(&database);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| block_on(store.lease_instances(instances(4))).unwrap().remove(0));
        wait_until(|| store.is_waiting());
        let before = looks(&store);
        block_on(store.enqueue_for_orchestrator(start("a"), None)).unwrap();
        let first = waiting.join().unwrap();
        assert_eq!((first.instance.as_str(), first.messages.len(), looks(&store)), ("a", 1, before));
        commit_one(&store, &first, first_turn("a", vec![activity("a", 2)]));
    });
    let job = block_on(store.lease_work(work(1))).unwrap().remove(0);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| block_on(store.lease_instances(instances(4))).unwrap().remove(0));
        wait_until(|| store.is_waiting());
        let before = looks(&store);
        block_on(store.ack_work_item(&job.token, Some(completed("a", 2)))).unwrap();
        let second = waiting.join().unwrap();
        assert_eq!(second.messages[0].item, completed("a", 2));
        assert_eq!((second.position.last_event_id, looks(&store)), (1, before));
    });
}

#[test]
fn nobody_is_given_more_than_he_asked_for_and_nothing_twice() {
    let Some(database) = Database::new() else { return };
    let store = listening(&database);
    let first = held(&store, "a");
    let jobs = (2..6).map(|id| activity("a", id)).collect();
    let (one, other) = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| block_on(join(store.lease_work(work(1)), store.lease_work(work(1)))));
        wait_until(|| store.calls_waiting() == 2);
        commit_one(&store, &first, first_turn("a", jobs));
        waiting.join().unwrap()
    });
    let mut given = [ids(&one.unwrap()), ids(&other.unwrap())].concat();
    given.sort_unstable();
    assert_eq!(given.len(), 2, "{given:?}");
    // The others are there for whoever comes.
    let others = block_on(store.lease_work(work(4))).unwrap();
    assert_eq!([given, ids(&others)].concat(), [2, 3, 4, 5]);
}

#[test]
fn what_waited_for_longer_comes_first() {
    let Some(database) = Database::new() else { return };
    let store = listening(&database);
    let (first, second) = (held(&store, "a"), held(&store, "b"));
    commit_one(&store, &first, first_turn("a", vec![activity("a", 2)]));
    // As if it was leased by somebody who is gone, and nobody said a word since.
    database.run("UPDATE abide.work SET lease = 1, leased_until = 9e15, due_at = 9e15");
    let given = while_waiting(&store, work(4), || {
        database.run("UPDATE abide.work SET lease = NULL, leased_until = NULL, due_at = NULL");
        commit_one(&store, &second, first_turn("b", vec![activity("b", 3)]));
    });
    assert_eq!(ids(&given), [2]);
    assert_eq!(ids(&block_on(store.lease_work(work(4))).unwrap()), [3]);
}

#[test]
fn work_of_a_session_is_not_handed_past_the_session() {
    let Some(database) = Database::new() else { return };
    let store = listening(&database);
    let first = held(&store, "a");
    let mut bound = activity("a", 2);
    if let WorkItem::ActivityExecute { session_id, .. } = &mut bound {
        *session_id = Some("s".to_owned());
    }
    let session = SessionFetchConfig { owner_id: "me".to_owned(), lock_timeout: LONG };
    let request = LeaseWork { session: Some(session), ..work(4) };
    let given = while_waiting(&store, request, || {
        commit_one(&store, &first, first_turn("a", vec![bound]));
    });
    assert_eq!(ids(&given), [2]);
    let owner: String = database.rows("SELECT owner FROM abide.session", &[])[0].get(0);
    assert_eq!(owner, "me", "it was leased with its session");
}

#[test]
fn work_under_another_tag_is_left_to_others() {
    let Some(database) = Database::new() else { return };
    let store = listening(&database);
    let first = held(&store, "a");
    let mut tagged = activity("a", 2);
    if let WorkItem::ActivityExecute { tag, .. } = &mut tagged {
        *tag = Some("gpu".to_owned());
    }
    let given = while_waiting(&store, work(4), || {
        commit_one(&store, &first, first_turn("a", vec![tagged, activity("a", 3)]));
    });
    assert_eq!(ids(&given), [3]);
    let others = LeaseWork { tags: TagFilter::tags(["gpu"]), ..work(4) };
    assert_eq!(ids(&block_on(store.lease_work(others)).unwrap()), [2]);
}

#[test]
fn what_was_leased_for_somebody_who_has_gone_goes_back_with_its_attempt() {
    let Some(database) = Database::new() else { return };
    let store = listening(&database);
    let first = held(&store, "a");
    block_on(async {
        let mut waiting = Box::pin(store.lease_work(work(4)));
        while !store.is_waiting() {
            assert!((&mut waiting).now_or_never().is_none());
            std::thread::yield_now();
        }
        let made = store.commit_turns(vec![commit(&first, first_turn("a", vec![activity("a", 2)]))]).await;
        assert!(made.into_iter().all(|made| made.is_ok()));
        drop(waiting);
    });
    // Under other terms, so that it is not simply taken from where it lies.
    let request = LeaseWork { lease_for: LONG / 2, ..work(4) };
    let given = block_on(store.lease_work(request)).unwrap();
    assert_eq!((ids(&given), given[0].attempt), (vec![2], 1));
}

#[test]
fn one_step_after_the_other_needs_no_look() {
    let Some(database) = Database::new() else { return };
    let store = listening(&database);
    block_on(store.enqueue_for_orchestrator(start("a"), None)).unwrap();
    let first = lease(&store, LONG);
    commit_one(&store, &first, first_turn("a", Vec::new()));
    let before = looks(&store);
    for _ in 0..20 {
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| block_on(store.lease_instances(instances(4))).unwrap().remove(0));
            wait_until(|| store.is_waiting());
            block_on(store.enqueue_for_orchestrator(signal("a"), None)).unwrap();
            let lease = waiting.join().unwrap();
            commit_one(&store, &lease, Turn { execution_id: 1, ..Turn::default() });
        });
    }
    // A look that found something may not have found all, so another follows; one that finds nothing is believed. A signal that comes while
    // somebody looks is found, not handed over.
    assert!(looks(&store) < before + 10, "{} looks for 20 signals", looks(&store) - before);
}

/// Commits a turn whose caller would take the next one, and says what was given to him, and what to a call that waited meanwhile.
fn going_on(
    store: &PostgresProvider,
    lease: &InstanceLease,
    under: NextLease,
) -> (Option<InstanceLease>, Option<InstanceLease>) {
    let turn = Turn { next: Some(under), ..first_turn("a", Vec::new()) };
    block_on(async {
        let mut waiting = Box::pin(store.lease_instances(instances(1)));
        assert!((&mut waiting).now_or_never().is_none(), "nothing can be leased yet");
        while !store.is_waiting() {
            let _nothing = (&mut waiting).now_or_never();
            std::thread::yield_now();
        }
        let committed = store.commit_turns(vec![commit(lease, turn)]).await.remove(0).unwrap();
        let given = if committed.next.is_none() { waiting.await.unwrap().pop() } else { None };
        (committed.next.map(|next| *next), given)
    })
}

#[test]
fn whoever_commits_goes_on_under_the_terms_of_those_who_wait() {
    for (lease_for, goes_on) in [(LONG, true), (LONG / 2, false)] {
        let Some(database) = Database::new() else { return };
        let store = listening(&database);
        let first = held(&store, "a");
        block_on(store.enqueue_for_orchestrator(signal("a"), None)).unwrap();
        let before = looks(&store);
        let (next, given) =
            going_on(&store, &first, NextLease { lease_for, capabilities: None, serving: None });
        assert_eq!((next.is_some(), given.is_some()), (goes_on, !goes_on), "{lease_for:?}");
        let lease = next.or(given).unwrap();
        assert_eq!((lease.instance.as_str(), lease.messages.len(), lease.attempt), ("a", 1, 1));
        assert!(lease.store_time.is_some());
        // The call that waited looked before; nobody looked for this.
        assert!(looks(&store) <= before + 1, "{} looks", looks(&store) - before);
        commit_one(&store, &lease, Turn { execution_id: 1, ..Turn::default() });
    }
}

#[test]
fn a_commit_that_nobody_waits_for_any_more_gives_the_next_lease_back() {
    let Some(database) = Database::new() else { return };
    let store = listening(&database);
    let first = held(&store, "a");
    block_on(store.enqueue_for_orchestrator(signal("a"), None)).unwrap();
    std::thread::scope(|scope| {
        // Its slots are for others: it takes what comes back.
        let waiting = scope.spawn(|| block_on(store.lease_instances(instances(1))).unwrap().remove(0));
        wait_until(|| store.is_waiting());
        let next = Some(NextLease { lease_for: LONG, capabilities: None, serving: None });
        let turn = Turn { next, ..first_turn("a", Vec::new()) };
        let mut call = Box::pin(store.commit_turns(vec![commit(&first, turn)]));
        assert!((&mut call).now_or_never().is_none(), "it has only begun");
        wait_until(|| database.number("SELECT count(*) FROM abide.turn") > 0);
        drop(call);
        let lease = waiting.join().unwrap();
        assert_eq!((lease.instance.as_str(), lease.attempt), ("a", 1), "the attempt was given back");
    });
}
