//! Work of a node that is not alone: its own comes first, and nothing is passed by for ever.

use std::collections::HashSet;
use std::time::Duration;

use abide_model::WorkItem;
use abide_postgres::PostgresProvider;
use abide_provider::{LeaseWork, Provider, SessionFetchConfig, TagFilter, WorkLease};
use futures::executor::block_on;

use crate::nodes::{LONG, lease, two};
use crate::support::database::Database;
use crate::support::items::{activity, commit, first_turn, start};

/// Where an activity belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    /// Under a tag.
    Tagged,
    /// In a session.
    Bound,
}

/// A turn of this node asks for an activity of an instance of this name.
fn ask_for(store: &PostgresProvider, id: &str, kind: Kind) {
    block_on(store.enqueue_for_orchestrator(start(id), None)).unwrap();
    let turn = lease(store, Duration::ZERO);
    let mut asked = activity(id, 2);
    let WorkItem::ActivityExecute { session_id, tag, .. } = &mut asked else { panic!("an activity") };
    *tag = (kind == Kind::Tagged).then(|| "gpu".to_owned());
    *session_id = (kind == Kind::Bound).then(|| "session".to_owned());
    block_on(store.commit_turns(vec![commit(&turn, first_turn(id, vec![asked]))])).remove(0).unwrap();
}

/// Whose activities a node is given that takes any, so many at a time.
fn given(store: &PostgresProvider, limit: usize) -> Vec<String> {
    let session = SessionFetchConfig { owner_id: "there".to_owned(), lock_timeout: LONG };
    let request = LeaseWork {
        limit,
        lease_for: LONG,
        wait: Duration::ZERO,
        session: Some(session),
        tags: TagFilter::DefaultAnd(HashSet::from(["gpu".to_owned()])),
        serving: None,
    };
    let instance = |lease: WorkLease| {
        let WorkItem::ActivityExecute { instance, .. } = lease.item else { panic!("an activity") };
        instance
    };
    block_on(store.lease_work(request)).unwrap().into_iter().map(instance).collect()
}

#[test]
fn a_node_is_given_its_own_work_first_and_then_that_of_others() {
    let Some(database) = Database::new() else { return };
    let (here, there) = two(&database);
    for number in 0..3 {
        ask_for(&here, &format!("here{number}"), Kind::Plain);
        ask_for(&there, &format!("there{number}"), Kind::Plain);
    }
    assert_eq!(given(&there, 2), ["there0", "there1"]);
    assert_eq!(given(&there, 2), ["here0", "there2"]);
    assert_eq!(given(&there, 2), ["here1", "here2"], "it has none of its own");
    assert_eq!(given(&here, 2), Vec::<String>::new());
}

#[test]
fn work_of_another_node_is_not_passed_by_for_ever() {
    let Some(database) = Database::new() else { return };
    let (here, there) = two(&database);
    for kind in [Kind::Plain, Kind::Tagged, Kind::Bound] {
        let name = |name: &str| format!("{name}, {kind:?}");
        ask_for(&here, &name("old"), kind);
        ask_for(&there, &name("young"), Kind::Plain);
        // So much is made meanwhile: of what comes now, nothing goes before it.
        database.run("SELECT setval('abide.number', nextval('abide.number') + 1024)");
        ask_for(&there, &name("younger"), Kind::Plain);
        let order = [(); 3].map(|()| given(&there, 1).concat());
        assert_eq!(order, [name("young"), name("old"), name("younger")]);
    }
}

#[test]
fn young_work_of_others_is_left_to_them_but_not_for_ever() {
    let Some(database) = Database::new() else { return };
    let (here, _there) = two(&database);
    ask_for(&here, "young", Kind::Plain);
    let number: i64 = database.rows("SELECT max(no) FROM abide.work", &[])[0].get(0);
    // As a node asks that has made something itself, and knows that what is above this number is young.
    let taken = |leaves_above: i64| {
        let call = format!(
            "SELECT FROM abide.lease_work(1, 60000, '{{1}}', NULL, 9, NULL, NULL, NULL, NULL, '{{}}', 1, {leaves_above}) AS w, unnest(w.leases)"
        );
        database.rows(&call, &[]).len()
    };
    assert_eq!(taken(number - 1), 0);
    database.run("SELECT setval('abide.number', nextval('abide.number') + 1000)");
    assert_eq!(taken(number - 1), 0);
    database.run("SELECT setval('abide.number', nextval('abide.number') + 24)");
    assert_eq!(taken(number - 1), 1, "so much was made since");
    ask_for(&here, "older", Kind::Plain);
    let number: i64 = database.rows("SELECT max(no) FROM abide.work", &[])[0].get(0);
    assert_eq!(taken(number), 1);
}
