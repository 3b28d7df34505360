//! What is held, or is too much, harms nobody else, however many go together.

use std::time::Duration;

use abide_model::{EventKind, WorkItem};
use abide_postgres::PostgresProvider;
use abide_provider::{
    InstanceLease, LeaseInstances, LeaseWork, Provider as _, ProviderAdmin as _, SessionFetchConfig,
    TagFilter, Turn, TurnCommit, WorkLease,
};
use futures::executor::block_on;
use futures::future::join_all;

use crate::support::database::{Database, wait_until};
use crate::support::items::{activity, commit, event, first_turn, signal, start};

const LONG: Duration = Duration::from_secs(60);

fn lease_all(store: &PostgresProvider, limit: usize) -> Vec<InstanceLease> {
    let request =
        LeaseInstances { limit, lease_for: LONG, wait: Duration::ZERO, capabilities: None, serving: None };
    block_on(store.lease_instances(request)).unwrap()
}

fn lease_work(store: &PostgresProvider, limit: usize) -> Vec<WorkLease> {
    let tags = TagFilter::DefaultOnly;
    let request =
        LeaseWork { limit, lease_for: LONG, wait: Duration::ZERO, session: None, tags, serving: None };
    block_on(store.lease_work(request)).unwrap()
}

/// So many instances, leased for their first turn.
fn leased(store: &PostgresProvider, count: usize) -> Vec<InstanceLease> {
    let starts = (0..count).map(|number| store.enqueue_for_orchestrator(start(&format!("i{number}")), None));
    block_on(join_all(starts.collect::<Vec<_>>())).into_iter().for_each(Result::unwrap);
    let leases = lease_all(store, count);
    assert_eq!(leases.len(), count);
    leases
}

/// Holds the row of one instance until the end of `meanwhile`.
fn holding<T>(database: &Database, instance: &str, meanwhile: impl FnOnce() -> T) -> T {
    database.run("BEGIN");
    let hold = "SELECT no FROM abide.mailbox WHERE id = $1 FOR UPDATE";
    assert_eq!(database.rows(hold, &[&instance]).len(), 1);
    let outcome = meanwhile();
    database.run("COMMIT");
    outcome
}

#[test]
fn a_row_that_somebody_holds_costs_its_neighbours_no_commit() {
    let Some(database) = Database::new() else { return };
    let store = database.open();
    let leases = leased(&store, 8);
    let commits = leases.iter().map(|lease| commit(lease, first_turn(&lease.instance, Vec::new())));
    let commits: Vec<TurnCommit> = commits.collect();
    let answers = holding(&database, "i3", || block_on(store.commit_turns(commits)));
    for (lease, answer) in leases.iter().zip(&answers) {
        assert_eq!(answer.is_ok(), lease.instance != "i3", "{}: {answer:?}", lease.instance);
    }
    let held = answers.into_iter().find_map(Result::err).expect("one was held");
    assert!(held.is_retryable(), "{held}");
}

#[test]
fn a_row_that_somebody_holds_costs_its_neighbours_no_renewal() {
    let Some(database) = Database::new() else { return };
    let store = database.open();
    let leases = leased(&store, 8);
    let renewals = || {
        let renew = leases.iter().map(|lease| store.renew_orchestration_item_lock(&lease.token, LONG));
        block_on(join_all(renew.collect::<Vec<_>>()))
    };
    let answers = holding(&database, "i3", renewals);
    for (lease, answer) in leases.iter().zip(&answers) {
        assert_eq!(answer.is_ok(), lease.instance != "i3", "{}: {answer:?}", lease.instance);
    }
    let held = answers.into_iter().find_map(Result::err).expect("one was held");
    assert!(held.is_retryable(), "its lease is not lost: {held}");
    renewals().into_iter().for_each(Result::unwrap);
}

#[test]
fn renewals_get_through_while_every_other_connection_waits() {
    const CONNECTIONS: usize = 2;
    let Some(database) = Database::new() else { return };
    let store = block_on(database.builder().connections(CONNECTIONS).open()).unwrap();
    let leases = leased(&store, 2);
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE starts_with(application_name, $1) AND wait_event_type = 'Lock'";
    let name = format!("abide {} work", database.schema());
    let witness = Database::at(database.url().to_owned());
    let stuck = || witness.rows(waiting, &[&name])[0].get::<_, i64>(0);
    std::thread::scope(|scope| {
        let mail = holding(&database, "i0", || {
            // Each of them keeps a connection until the row is free.
            let mail: Vec<_> = (1_i64..)
                .take(CONNECTIONS)
                .map(|number| {
                    let mail = scope.spawn(|| block_on(store.enqueue_for_orchestrator(signal("i0"), None)));
                    wait_until(|| mail.is_finished() || stuck() >= number);
                    assert_eq!(stuck(), number, "nobody else takes what waits");
                    mail
                })
                .collect();
            block_on(store.renew_orchestration_item_lock(&leases[1].token, LONG)).unwrap();
            assert_eq!(stuck(), i64::try_from(CONNECTIONS).unwrap(), "it did not wait for them");
            mail
        });
        for sent in mail {
            sent.join().unwrap().unwrap();
        }
    });
}

/// A session that another transaction holds costs no lease on its work, nor any other, its renewal.
#[test]
fn a_session_that_somebody_holds_costs_no_renewal() {
    let Some(database) = Database::new() else { return };
    let store = database.open();
    let lease = leased(&store, 1).remove(0);
    let mut bound = activity("i0", 2);
    if let WorkItem::ActivityExecute { session_id, .. } = &mut bound {
        *session_id = Some("s".to_owned());
    }
    let turn = commit(&lease, first_turn("i0", vec![bound, activity("i0", 3)]));
    block_on(store.commit_turns(vec![turn])).remove(0).unwrap();
    let session = Some(SessionFetchConfig { owner_id: "me".to_owned(), lock_timeout: LONG });
    let request = LeaseWork {
        limit: 2,
        lease_for: LONG,
        wait: Duration::ZERO,
        session,
        tags: TagFilter::Any,
        serving: None,
    };
    let work = block_on(store.lease_work(request)).unwrap();
    assert_eq!(work.len(), 2);
    database.run("BEGIN");
    assert_eq!(database.rows("SELECT name FROM abide.session FOR UPDATE", &[]).len(), 1);
    let renew = work.iter().map(|lease| store.renew_work_item_lock(&lease.token, LONG));
    let answers = block_on(join_all(renew.collect::<Vec<_>>()));
    database.run("COMMIT");
    answers.into_iter().for_each(Result::unwrap);
}

/// More than one look hands out, and far less than the server could.
const LARGE: usize = 5 * 1024 * 1024;

#[test]
fn what_is_large_is_handed_out_by_and_by() {
    let Some(database) = Database::new() else { return };
    let store = database.open();
    for number in 0..6 {
        let mut item = start(&format!("i{number}"));
        if let WorkItem::StartOrchestration { input, .. } = &mut item {
            *input = "x".repeat(LARGE);
        }
        block_on(store.enqueue_for_orchestrator(item, None)).unwrap();
    }
    let mut taken = Vec::new();
    for expected in [4, 2, 0] {
        let leases = lease_all(&store, 10);
        assert_eq!(leases.len(), expected, "about 16 MB at a time");
        taken.extend(leases.into_iter().map(|lease| lease.instance));
    }
    assert_eq!(taken, ["i0", "i1", "i2", "i3", "i4", "i5"], "the longest waiting first");
}

#[test]
fn work_that_is_large_is_handed_out_by_and_by() {
    let Some(database) = Database::new() else { return };
    let store = database.open();
    let lease = leased(&store, 1).remove(0);
    let work = (2..8).map(|id| {
        let mut item = activity("i0", id);
        if let WorkItem::ActivityExecute { input, .. } = &mut item {
            *input = "x".repeat(LARGE);
        }
        item
    });
    let asked = commit(&lease, first_turn("i0", work.collect()));
    block_on(store.commit_turns(vec![asked])).remove(0).unwrap();
    assert_eq!([4, 2, 0].map(|_| lease_work(&store, 10).len()), [4, 2, 0], "about 16 MB at a time");
}

/// Whoever compares each with each takes minutes for so many.
const MANY: u64 = 20_000;

#[test]
fn a_wide_tree_is_started_and_deleted_in_time() {
    let Some(database) = Database::new() else { return };
    let store = database.open();
    let lease = leased(&store, 1).remove(0);
    let children = (0..MANY).map(|number| WorkItem::StartOrchestration {
        instance: format!("child-{number}"),
        orchestration: "Child".to_owned(),
        input: String::new(),
        version: None,
        parent_instance: Some("i0".to_owned()),
        parent_id: Some(number + 2),
        parent_execution_id: Some(1),
        execution_id: 1,
    });
    let turn = Turn { orchestrator_items: children.collect(), ..first_turn("i0", Vec::new()) };
    // A call that serves the queues is given up after ten seconds.
    block_on(store.commit_turns(vec![commit(&lease, turn)])).remove(0).unwrap();
    let mut born = 0;
    while born < MANY {
        let leases = lease_all(&store, 1_000);
        born += u64::try_from(leases.len()).unwrap();
        let turns = leases.iter().map(|lease| commit(lease, ended_first_turn(lease)));
        let answers: Result<Vec<_>, _> = block_on(store.commit_turns(turns.collect())).into_iter().collect();
        answers.expect("children are born, and end");
    }
    let deleted = block_on(store.delete_instance("i0", true)).unwrap();
    assert_eq!(deleted.instances_deleted, MANY + 1);
}

/// A child's first turn, and its last.
fn ended_first_turn(lease: &InstanceLease) -> Turn {
    let mut turn = first_turn(&lease.instance, Vec::new());
    let ended = EventKind::OrchestrationCompleted { output: String::new() };
    turn.events.push(event(&lease.instance, 2, ended));
    turn.metadata.status = Some("Completed".to_owned());
    turn.metadata.parent_instance_id = Some("i0".to_owned());
    turn
}

#[test]
fn news_under_a_tag_that_nobody_here_wants_is_told_to_others() {
    let Some(database) = Database::new() else { return };
    let open = || block_on(database.builder().safety_poll(LONG).open()).unwrap();
    let (here, there) = (open(), open());
    wait_until(|| here.is_listening() && there.is_listening());
    block_on(here.enqueue_for_orchestrator(start("a"), None)).unwrap();
    let turn = lease_all(&here, 1).remove(0);
    let mut special = activity("a", 3);
    if let WorkItem::ActivityExecute { tag, .. } = &mut special {
        *tag = Some("gpu".to_owned());
    }
    let waiting = |store: &PostgresProvider, tags| {
        let request = LeaseWork { limit: 4, lease_for: LONG, wait: LONG, session: None, tags, serving: None };
        block_on(store.lease_work(request)).unwrap().remove(0).item
    };
    std::thread::scope(|scope| {
        let plain = scope.spawn(|| waiting(&here, TagFilter::DefaultOnly));
        let tagged = scope.spawn(|| waiting(&there, TagFilter::tags(["gpu"])));
        wait_until(|| here.is_waiting() && there.is_waiting());
        // One turn asks for both: the node itself wants only one of them.
        let asked = commit(&turn, first_turn("a", vec![activity("a", 2), special.clone()]));
        block_on(here.commit_turns(vec![asked])).remove(0).unwrap();
        assert_eq!(plain.join().unwrap(), activity("a", 2));
        assert_eq!(tagged.join().unwrap(), special);
    });
}
