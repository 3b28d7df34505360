//! Processes that work the same queue: nothing twice, nothing forgotten, and soon.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use abide_model::{OrchestrationStatus, WorkItem};
use abide_provider::{Changes, LeaseWork, Provider};
use abide_sqlite::SqliteProvider;
use futures::executor::block_on;
use futures::future::{join, try_join_all};
use futures::{FutureExt as _, StreamExt as _};
use rusqlite::Connection;

use super::puppet::{JOBS as JOBS_OF, LONG, Puppet, finish, id_of, job, one_job};
use crate::crash::evidence::integrity;
use crate::support::folder::{Folder, beside, url};
use crate::support::items::{event, start, started, status_said};
use crate::support::process::{PATIENCE, until};

fn open(path: &Path) -> SqliteProvider {
    block_on(SqliteProvider::new(&url(path), None)).unwrap()
}

/// The completions in the queue, sorted.
fn completions(path: &Path) -> Vec<u64> {
    let connection = Connection::open(path).unwrap();
    let mut query = connection.prepare("SELECT item FROM message").unwrap();
    let items = query.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let mut ids: Vec<u64> = items
        .map(|item| serde_json::from_str::<WorkItem>(&item.unwrap()).unwrap())
        .filter(|item| !matches!(item, WorkItem::StartOrchestration { .. }))
        .map(|item| if let WorkItem::ActivityCompleted { id, .. } = item { id } else { panic!("{item:?}") })
        .collect();
    ids.sort_unstable();
    ids
}

#[test]
fn nothing_is_done_twice_or_forgotten() {
    const JOBS: u64 = 200;
    let folder = Folder::new("sharing");
    let path = folder.file("data.db");
    let store = open(&path);
    // Only what is about to start keeps results.
    block_on(store.enqueue_for_orchestrator(start(JOBS_OF), None)).unwrap();
    let mut puppets = [Puppet::on(&folder, &path), Puppet::on(&folder, &path)];
    for puppet in &mut puppets {
        puppet.tell("work");
    }
    for id in 0..JOBS {
        block_on(store.enqueue_for_worker(job(id))).unwrap();
    }
    let notes = || puppets.iter().flat_map(Puppet::notes).filter(|note| note != "open");
    let everything = usize::try_from(JOBS).unwrap();
    until("all jobs", PATIENCE, || (notes().count() >= everything).then_some(()));
    let mut done: Vec<String> = notes().collect();
    done.sort();
    let mut expected: Vec<String> = (0..JOBS).map(|id| format!("did {id}")).collect();
    expected.sort();
    assert_eq!(done, expected);
    assert!(completions(&path).into_iter().eq(0..JOBS), "{:?}", completions(&path));
}

#[test]
fn a_parked_call_hears_of_work_from_another_process() {
    let folder = Folder::new("wake-ups");
    let path = folder.file("data.db");
    let store = open(&path);
    let mut puppet = Puppet::on(&folder, &path);
    puppet.tell("work");
    let mut times = Vec::new();
    for id in 0..15 {
        block_on(store.enqueue_for_worker(job(id))).unwrap();
        let (answer, time) = puppet.timed_answer();
        assert_eq!(answer, format!("did {id}"));
        times.push(time);
    }
    times.sort_unstable();
    // A single one may be slow on a busy machine; a wake-up that is lost would make all of them slow.
    assert!(times[times.len() / 2] < Duration::from_millis(300), "{times:?}");
}

#[test]
fn a_process_that_was_alone_notices_the_first_other_one() {
    let folder = Folder::new("company");
    let path = folder.file("data.db");
    let mut alone = Puppet::on(&folder, &path);
    alone.tell("work");
    let store = open(&path);
    block_on(store.enqueue_for_worker(job(7))).unwrap();
    let (answer, time) = alone.timed_answer();
    assert_eq!(answer, "did 7");
    assert!(time < Duration::from_secs(3), "{time:?}");
}

#[test]
fn two_stores_in_one_process_share_a_file() {
    let folder = Folder::new("two");
    let path = folder.file("data.db");
    let (one, other) = (open(&path), open(&path));
    block_on(one.enqueue_for_orchestrator(start(JOBS_OF), None)).unwrap();
    for id in 0..20 {
        let (worker, client) = if id % 2 == 0 { (&one, &other) } else { (&other, &one) };
        let (leased, enqueued) =
            block_on(join(worker.lease_work(one_job(LONG, PATIENCE)), client.enqueue_for_worker(job(id))));
        enqueued.unwrap();
        let work = leased.unwrap().pop().unwrap();
        assert_eq!((id_of(&work), work.attempt), (id, 1));
        // The lease is a row: either store can see it, and either can end it.
        assert_eq!(block_on(client.lease_work(one_job(LONG, Duration::ZERO))).unwrap(), []);
        finish(client, &work).unwrap();
    }
    drop(one);
    assert!(completions(&path).into_iter().eq(0..20));
    finish_one_more(&other);
    drop(other);
    assert_eq!(folder.names(), ["data.db"]);
}

fn said(store: &SqliteProvider) -> Option<String> {
    match block_on(store.read_status("a")).unwrap() {
        OrchestrationStatus::Running { custom_status, .. } => custom_status,
        status @ (OrchestrationStatus::NotFound
        | OrchestrationStatus::Completed { .. }
        | OrchestrationStatus::Failed { .. }) => panic!("{status:?}"),
    }
}

/// Looks whenever word comes, until the instance says this.
fn until_said(store: &SqliteProvider, changes: &mut Changes, text: &str) {
    until(text, PATIENCE, || {
        let told = changes.next().now_or_never().flatten();
        told.filter(|()| said(store).as_deref() == Some(text))
    });
}

#[test]
fn who_listens_hears_what_another_process_changes() {
    let folder = Folder::new("listening");
    let path = folder.file("data.db");
    let (one, other) = (open(&path), open(&path));
    let say = |store: &SqliteProvider, id: u64| {
        let event = event(id, status_said(Some(&id.to_string())));
        block_on(store.append_with_execution("a", 1, vec![event])).unwrap();
    };
    block_on(one.append_with_execution("a", 1, vec![event(1, started())])).unwrap();
    let mut changes = one.changes("a").unwrap();
    for id in 2..6 {
        say(&other, id);
        until_said(&one, &mut changes, &id.to_string());
    }
    drop(changes);
    // Nobody listens: the writer sleeps. It wakes for the next one.
    say(&other, 6);
    let mut changes = one.changes("a").unwrap();
    say(&other, 7);
    until_said(&one, &mut changes, "7");
}

/// Looking at others is not put off by being busy.
#[test]
fn who_listens_to_a_busy_store_hears_what_another_process_changes() {
    let folder = Folder::new("listening-busy");
    let path = folder.file("data.db");
    let (one, other) = (open(&path), open(&path));
    block_on(one.append_with_execution("a", 1, vec![event(1, started())])).unwrap();
    let mut changes = one.changes("a").unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for id in 0.. {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                block_on(one.enqueue_for_worker(job(id))).unwrap();
            }
        });
        let event = event(2, status_said(Some("heard")));
        block_on(other.append_with_execution("a", 1, vec![event])).unwrap();
        until_said(&one, &mut changes, "heard");
        is_over.store(true, Ordering::Relaxed);
    });
}

/// The other store is still open when the first has closed.
fn finish_one_more(store: &SqliteProvider) {
    block_on(store.enqueue_for_worker(job(20))).unwrap();
    let work = block_on(store.lease_work(one_job(LONG, Duration::ZERO))).unwrap().pop().unwrap();
    finish(store, &work).unwrap();
}

#[test]
fn a_file_made_through_a_link_is_one_file() {
    let folder = Folder::new("dangling");
    let (path, link) = (folder.file("data.db"), folder.file("link.db"));
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let store = open(&link);
    assert!(path.exists() && link.is_symlink());
    block_on(store.enqueue_for_worker(job(1))).unwrap();
    let work = block_on(store.lease_work(one_job(LONG, Duration::ZERO))).unwrap().pop().unwrap();
    let mut other = Puppet::on(&folder, &path);
    assert_eq!(other.ask("lease 60000 300"), "nothing", "the owner of the lease is alive");
    finish(&store, &work).unwrap();
    assert_eq!(other.ask("close"), "closed");
}

#[test]
fn a_file_with_two_names_is_one_file() {
    let folder = Folder::new("names");
    let path = folder.file("data.db");
    let elsewhere = folder.file("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let store = open(&path);
    for link in [folder.file("link.db"), elsewhere.join("data.db")] {
        std::os::unix::fs::symlink(&path, &link).unwrap();
        block_on(store.enqueue_for_worker(job(1))).unwrap();
        let work = block_on(store.lease_work(one_job(LONG, Duration::ZERO))).unwrap().pop().unwrap();
        let mut other = Puppet::on(&folder, &link);
        // It looks after its neighbours before the first call, and every tenth of a second.
        assert_eq!(
            other.ask("lease 60000 500"),
            "nothing",
            "by {}: the owner of the lease is alive",
            link.display()
        );
        finish(&store, &work).unwrap();
        assert_eq!(other.ask("close"), "closed");
    }
}

/// Whoever comes later has another index, and with it other locks: two writers would not see each other.
#[test]
fn a_deleted_index_loses_nothing_that_was_acknowledged() {
    let folder = Folder::new("index");
    let path = folder.file("data.db");
    let store = open(&path);
    block_on(store.enqueue_for_worker(job(1))).unwrap();
    std::fs::remove_file(beside(&path, "-shm")).unwrap();
    let mut other = Puppet::on(&folder, &path);
    let mut acknowledged = vec![1];
    for id in (2..40).step_by(2) {
        acknowledged.extend(block_on(store.enqueue_for_worker(job(id))).is_ok().then_some(id));
        acknowledged.extend((other.ask(&format!("enqueue {}", id + 1)) == "ok").then_some(id + 1));
    }
    assert_eq!(other.ask("close"), "closed");
    drop(store);
    assert_holds(&path, &acknowledged);
}

#[test]
fn closing_without_the_index_harms_nobody() {
    let folder = Folder::new("index-closed");
    let path = folder.file("data.db");
    let store = open(&path);
    // It has much to give up when it closes.
    block_on(try_join_all((0..300).map(|id| store.enqueue_for_worker(job(id))))).unwrap();
    let all = LeaseWork { limit: 300, ..one_job(LONG, Duration::ZERO) };
    assert_eq!(block_on(store.lease_work(all)).unwrap().len(), 300);
    std::fs::remove_file(beside(&path, "-shm")).unwrap();
    let mut other = Puppet::on(&folder, &path);
    for id in 300..305 {
        assert_eq!(other.ask(&format!("enqueue {id}")), "ok");
    }
    drop(store);
    assert_eq!(other.ask("close"), "closed");
    assert_holds(&path, &(0..305).collect::<Vec<u64>>());
}

/// The file is sound, and this work is in it.
fn assert_holds(path: &Path, acknowledged: &[u64]) {
    assert_eq!(integrity(path), "ok");
    let connection = Connection::open(path).unwrap();
    let count = |id: &u64| {
        let query = format!("SELECT count(*) FROM work WHERE activity = {id}");
        connection.query_row(&query, [], |row| row.get::<_, i64>(0)).unwrap()
    };
    let missing: Vec<&u64> = acknowledged.iter().filter(|id| count(id) == 0).collect();
    assert!(missing.is_empty(), "of {acknowledged:?}: {missing:?}");
}
