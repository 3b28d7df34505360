//! Many processes come at once.

use abide_provider::Provider;
use abide_sqlite::SqliteProvider;
use futures::executor::block_on;
use futures::future::try_join_all;
use rusqlite::Connection;

use super::puppet::{Puppet, job};
use crate::support::folder::{Folder, url};
use crate::support::process::{skipped, times};
use crate::support::store::processes_can_share;

#[test]
fn eight_processes_open_an_empty_path_at_once() {
    if !processes_can_share() {
        return skipped("eight_processes_open_an_empty_path_at_once", "this SQLite is too old for it");
    }
    for _ in 0..times("ABIDE_CROWDS", 3) {
        let folder = Folder::new("crowd");
        let path = folder.file("not/yet/there/data.db");
        let mut puppets: Vec<Puppet> = (0..8).map(|_| Puppet::start(&folder, &path)).collect();
        // A puppet that answers is awake: the next command finds all of them ready.
        for puppet in &mut puppets {
            assert_eq!(puppet.ask("hello"), "what is [\"hello\"]?");
        }
        for puppet in &mut puppets {
            puppet.tell("open");
        }
        let answers: Vec<String> = puppets.iter_mut().map(Puppet::answer).collect();
        assert_eq!(answers, ["open"; 8]);
        let connection = Connection::open(&path).unwrap();
        let count = |query: &str| connection.query_row(query, [], |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(count("SELECT count(*) FROM owner"), 8);
        assert_eq!(count("SELECT count(*) FROM counter"), 1);
        for puppet in &mut puppets {
            puppet.tell("close");
        }
        for puppet in &mut puppets {
            assert_eq!(puppet.answer(), "closed");
        }
        assert_eq!(count("SELECT count(*) FROM owner"), 0);
    }
}

#[test]
fn eight_stores_in_one_process_open_an_empty_path_at_once() {
    if !processes_can_share() {
        return skipped(
            "eight_stores_in_one_process_open_an_empty_path_at_once",
            "this SQLite is too old for it",
        );
    }
    let folder = Folder::new("crowd-inside");
    let path = folder.file("data.db");
    let url = url(&path);
    let stores = block_on(try_join_all((0..8).map(|_| SqliteProvider::new(&url, None)))).unwrap();
    for (id, store) in (0..).zip(&stores) {
        block_on(store.enqueue_for_worker(job(id))).unwrap();
    }
    drop(stores);
    assert_eq!(folder.names(), ["data.db"]);
    let connection = Connection::open(&path).unwrap();
    let work: i64 = connection.query_row("SELECT count(*) FROM work", [], |row| row.get(0)).unwrap();
    assert_eq!(work, 8);
}
