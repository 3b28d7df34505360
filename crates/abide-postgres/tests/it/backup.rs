//! A dump that is made while everything runs, restored elsewhere: whatever was under way goes on there.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use abide_host::SystemClock;
use abide_model::{EventKind, WorkItem};
use abide_postgres::PostgresProvider;
use abide_provider::{LeaseInstances, LeaseWork, Provider as _, ProviderAdmin as _, TagFilter, Turn};
use abide_throwaway::{Server, Settings, own};
use futures::executor::block_on;

use crate::support::database::{Database, wait_until};
use crate::support::items::{activity, commit, completed, event, first_turn, start};

/// How long a lease lasts. Those in the dump are nobody's, and run out.
const LEASE: Duration = Duration::from_secs(3);

#[test]
fn what_was_under_way_when_it_was_dumped_goes_on_where_it_is_restored() {
    let Some(server) = own(&Settings::common()).unwrap() else { return };
    let database = Database::at(server.url());
    let store = database.open();

    // Given some that are started, leased, waiting for an activity, and waiting for one that somebody has begun.
    let names: BTreeSet<String> = (0..40).map(|number| format!("i{number}")).collect();
    for name in &names {
        block_on(store.enqueue_for_orchestrator(start(name), None)).unwrap();
    }
    for _ in 0..20 {
        step_instances(&store);
    }
    let _begun = block_on(store.lease_work(work(5))).unwrap();
    let _leased = block_on(store.lease_instances(instances(5))).unwrap();
    block_on(store.enqueue_for_orchestrator(start("later"), Some(Duration::from_secs(2)))).unwrap();

    // When it is dumped while others begin and end.
    let dump = server.folder().join("dump.sql");
    let is_dumped = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0.. {
                if is_dumped.load(Ordering::Relaxed) {
                    return;
                }
                block_on(store.enqueue_for_orchestrator(start(&format!("new{number}")), None)).unwrap();
                step_instances(&store);
                step_work(&store);
            }
        });
        let schema = format!("--schema={}", database.schema());
        run(&server, "pg_dump", &[&schema, "--file", text(&dump), database.url()]);
        is_dumped.store(true, Ordering::Relaxed);
    });
    database.run("CREATE DATABASE copy ENCODING 'UTF8' TEMPLATE template0");
    let (place, _) = database.url().rsplit_once('/').unwrap();
    let copy_url = format!("{place}/copy");
    run(&server, "psql", &["-v", "ON_ERROR_STOP=1", "-q", "-f", text(&dump), &copy_url]);
    std::fs::remove_file(&dump).unwrap();

    // Then all of them end in the copy, and so does one that is started there.
    let builder = PostgresProvider::builder(&copy_url).schema(database.schema());
    let copy = block_on(builder.clock(Arc::new(SystemClock::new())).open()).unwrap();
    block_on(copy.enqueue_for_orchestrator(start("started in the copy"), None)).unwrap();
    let before = ended(&copy).len();
    let looker = Database::at(copy_url);
    let left = format!(
        "SELECT (SELECT count(*) FROM {0}.message) + (SELECT count(*) FROM {0}.work)",
        database.schema()
    );
    let is_over = || {
        step_instances(&copy);
        step_work(&copy);
        looker.number(&left) == 0
    };
    wait_until(is_over);
    let (all, ended) = (block_on(copy.list_instances()).unwrap(), ended(&copy));
    assert_eq!(all.into_iter().collect::<BTreeSet<_>>(), ended, "some did not go on");
    assert!(ended.is_superset(&names), "{ended:?}");
    assert!(ended.contains("later") && ended.contains("started in the copy"), "{ended:?}");
    assert!(ended.len() >= before + 20, "{before} had ended before");
}

fn instances(limit: usize) -> LeaseInstances {
    LeaseInstances { limit, lease_for: LEASE, wait: Duration::ZERO, capabilities: None, serving: None }
}

fn work(limit: usize) -> LeaseWork {
    let tags = TagFilter::DefaultOnly;
    LeaseWork { limit, lease_for: LEASE, wait: Duration::ZERO, session: None, tags, serving: None }
}

/// The next turn of an instance: the first asks for an activity, the second ends with its result.
fn step_instances(store: &PostgresProvider) {
    for leased in block_on(store.lease_instances(instances(1))).unwrap() {
        let id = &leased.instance;
        let turn = if leased.messages.iter().any(|message| message.item == completed(id, 2)) {
            let end = EventKind::OrchestrationCompleted { output: "done".to_owned() };
            Turn::of_past(1, vec![event(id, 2, end)])
        } else {
            first_turn(id, vec![activity(id, 2)])
        };
        block_on(store.commit_turns(vec![commit(&leased, turn)])).remove(0).unwrap();
    }
}

fn step_work(store: &PostgresProvider) {
    for leased in block_on(store.lease_work(work(1))).unwrap() {
        let WorkItem::ActivityExecute { instance, id, .. } = &leased.item else { panic!("no activity") };
        block_on(store.ack_work_item(&leased.token, Some(completed(instance, *id)))).unwrap();
    }
}

fn ended(store: &PostgresProvider) -> BTreeSet<String> {
    block_on(store.list_instances_by_status("Completed")).unwrap().into_iter().collect()
}

/// Runs a program that came with the server.
fn run(server: &Server, program: &str, arguments: &[&str]) {
    let output = Command::new(server.version().program(program)).args(arguments).output().unwrap();
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
