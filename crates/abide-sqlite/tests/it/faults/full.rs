//! A disk that is full for a while.

use std::cell::Cell;
use std::time::Duration;

use abide_host::SystemClock;
use abide_model::Clock;
use abide_provider::Provider;
use abide_sqlite::SqliteProvider;
use futures::executor::block_on;
use futures::future::join;

use crate::crash::evidence::{Evidence, integrity};
use crate::support::folder::{Folder, SmallDisk, url};
use crate::support::load::{Load, Plan};
use crate::support::process::{Journal, Lines, PATIENCE, skipped, until};

#[test]
fn work_goes_on_when_there_is_space_again() {
    let disk = match SmallDisk::mount("small", "16m") {
        Ok(disk) => disk,
        Err(why) => return skipped("work_goes_on_when_there_is_space_again", &why),
    };
    let (folder, path) = (Folder::new("journals"), disk.file("data.db"));
    let journal = Journal::append_to(&folder.file("journal"));
    let lines = Lines::of(&folder.file("journal"));
    let store = block_on(SqliteProvider::new(&url(&path), None)).unwrap();
    let clock = SystemClock::new();
    // Full, and almost full: small writes pass, large ones do not.
    for (round, space) in [(0, 0), (1, 40_000), (2, 150_000), (3, 0)] {
        let plan = Plan { round, chains: 20, lease: Duration::from_secs(2), at_most: PATIENCE };
        let load = Load::new(&store, &journal, plan);
        let filler = disk.fill_but(space);
        let ended = Cell::new(false);
        let work = async {
            load.run().await;
            ended.set(true);
        };
        let free_the_space = async {
            let faults = || lines.all().iter().filter(|line| line.starts_with("fault")).count();
            let enough = faults() + 10;
            while faults() < enough && !ended.get() {
                clock.sleep_until(clock.monotonic() + MOMENT).await;
            }
            store.read("collector").await.unwrap(); // what is stored can be read
            drop(filler);
        };
        block_on(join(work, free_the_space));
        assert_eq!(integrity(&path), "ok");
        Evidence::read(&path).whole().holds(&lines.all()).finished().must_be_sound();
    }
    drop(store);
    let faults = lines.all().iter().filter(|line| line.starts_with("fault")).count();
    assert!(faults >= 20, "the disk was not full: {faults}");
}

const MOMENT: Duration = Duration::from_millis(5);

#[test]
fn a_store_on_a_full_disk_closes_and_opens_again() {
    let disk = match SmallDisk::mount("small-close", "16m") {
        Ok(disk) => disk,
        Err(why) => return skipped("a_store_on_a_full_disk_closes_and_opens_again", &why),
    };
    let (folder, path) = (Folder::new("journals"), disk.file("data.db"));
    let journal = Journal::append_to(&folder.file("journal"));
    let store = block_on(SqliteProvider::new(&url(&path), None)).unwrap();
    let plan = |round| Plan { round, chains: 5, lease: Duration::from_secs(2), at_most: PATIENCE };
    block_on(Load::new(&store, &journal, plan(0)).run());
    let filler = disk.fill();
    let fails = || block_on(store.cleanup_orphaned_sessions(Duration::ZERO)).is_ok();
    println!("a call that writes nothing succeeds: {}", fails());
    drop(store);
    drop(filler);
    let (store, _) =
        until("the database to open", PATIENCE, || block_on(SqliteProvider::new(&url(&path), None)).ok());
    block_on(Load::new(&store, &journal, plan(1)).run());
    drop(store);
    assert_eq!(integrity(&path), "ok");
    Evidence::read(&path).whole().holds(&Lines::of(&folder.file("journal")).all()).finished().must_be_sound();
}
