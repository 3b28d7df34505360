//! `kill -9` at random moments under write load.
//!
//! A child writes; after each acknowledgement it notes what was acknowledged. It is killed, the file is looked at, and
//! another child goes on with the same file. `ABIDE_KILLS=200` kills more often; `ABIDE_SEED` repeats a run.

mod doubts;
pub(crate) mod evidence;

use std::path::Path;
use std::time::Duration;

use abide_provider::{LeaseInstances, LeaseWork, Provider, TagFilter};
use abide_sqlite::SqliteProvider;
use evidence::{Evidence, integrity};
use futures::executor::block_on;
use rusqlite::Connection;

use crate::support::folder::{Folder, url};
use crate::support::load::{Load, Plan};
use crate::support::process::{
    Dice, Journal, Lines, PATIENCE, Running, child_of, is_child, pass, times, told, until,
};

const CHILD: &str = "crash::writes_until_it_is_killed";
const DATABASE: &str = "data.db";
const JOURNAL: &str = "journal";

/// Leases last longer than any test: what a dead process held is free because it is dead.
const LEASE: Duration = Duration::from_secs(600);

/// A new file after so many kills. Every other one is where writing costs nothing, so that the log is copied, too.
const KILLS_PER_FILE: u64 = 5;

#[test]
#[ignore = "the child of another test"]
fn writes_until_it_is_killed() {
    if !is_child(CHILD) {
        return;
    }
    let folder = told("ABIDE_FOLDER");
    let round = told("ABIDE_ROUND").parse().unwrap();
    let journal = Journal::append_to(&Path::new(&folder).join(JOURNAL));
    block_on(async {
        let store = SqliteProvider::new(&url(&Path::new(&folder).join(DATABASE)), None).await.unwrap();
        let load = Load::new(&store, &journal, plan(round, u64::MAX));
        for (round, number) in unacknowledged(&Lines::of(&Path::new(&folder).join(JOURNAL)).all()) {
            load.repeat_mail(round, number).await;
        }
        load.run().await;
    });
}

fn plan(round: u64, chains: u64) -> Plan {
    Plan { round, chains, lease: LEASE, at_most: Duration::from_secs(20) }
}

/// Messages that earlier children tried to send and did not hear about.
fn unacknowledged(journal: &[String]) -> Vec<(u64, u64)> {
    let tried = journal.iter().filter_map(|line| line.strip_prefix("try ")?.split_once(' '));
    tried
        .filter(|(round, number)| !journal.iter().any(|line| *line == format!("mail mail-{round}-{number}")))
        .map(|(round, number)| (round.parse().unwrap(), number.parse().unwrap()))
        .collect()
}

#[test]
fn what_was_acknowledged_survives_kill_nine() {
    let kills = times("ABIDE_KILLS", 10);
    let mut dice = Dice::of_environment();
    println!("{kills} kills, ABIDE_SEED={}", dice.seed());
    let mut round = 0;
    while round < kills {
        let on_disk = (round / KILLS_PER_FILE).is_multiple_of(2);
        let folder = if on_disk { Folder::new("kills") } else { Folder::in_memory("kills") };
        let last = kills.min(round + KILLS_PER_FILE);
        while round < last {
            kill_one(&folder, round, Duration::from_micros(dice.between(5_000, 60_000)));
            look(&folder);
            round += 1;
        }
        go_on_to_the_end(&folder, round);
    }
}

/// Starts a child, and waits for its first acknowledgement.
fn start_writing(folder: &Folder, round: u64) -> Running {
    let lines = Lines::of(&folder.file(JOURNAL));
    let before = lines.all().len();
    let mut command = child_of(CHILD);
    command.env("ABIDE_FOLDER", folder.path()).env("ABIDE_ROUND", round.to_string());
    let mut child = Running::start(command);
    let acknowledged = |line: &String| !line.starts_with("try ");
    until("the first acknowledgement", PATIENCE, || {
        assert_eq!(child.ended(), None, "the child ended by itself");
        lines.all().into_iter().skip(before).find(acknowledged)
    });
    child
}

/// Starts a child, and kills it some time after its first acknowledgement.
fn kill_one(folder: &Folder, round: u64, after: Duration) {
    let child = start_writing(folder, round);
    pass(after);
    child.kill();
}

#[test]
fn a_process_killed_beside_another_harms_nobody() {
    let kills = times("ABIDE_KILLS", 10);
    let mut dice = Dice::of_environment();
    println!("{kills} kills, ABIDE_SEED={}", dice.seed());
    let mut round = 0;
    while round < kills {
        let folder = Folder::new("survivor");
        let (path, lines) = (folder.file(DATABASE), Lines::of(&folder.file(JOURNAL)));
        let mut survivor = start_writing(&folder, 1_000 + round);
        for _ in 0..KILLS_PER_FILE.min(kills - round) {
            kill_one(&folder, round, Duration::from_micros(dice.between(5_000, 60_000)));
            // What was acknowledged before the look is there, though somebody goes on writing.
            let journal = lines.all();
            Evidence::read(&path).whole().holds(&journal).must_be_sound();
            assert_eq!(survivor.ended(), None, "the survivor ended by itself");
            round += 1;
        }
        let before = lines.all().len();
        until("the survivor to go on", PATIENCE, || (lines.all().len() > before + 10).then_some(()));
        survivor.kill();
        assert_eq!(integrity(&path), "ok");
        go_on_to_the_end(&folder, round);
    }
}

/// The file is sound, whole, and holds what was acknowledged; what the dead one held can be leased at once.
fn look(folder: &Folder) {
    let path = folder.file(DATABASE);
    assert_eq!(integrity(&path), "ok");
    let journal = Lines::of(&folder.file(JOURNAL)).all();
    Evidence::read(&path).whole().holds(&journal).must_be_sound();
    assert_eq!(owner_files(folder).len(), 1, "the dead process's lock file: {:?}", folder.names());

    let connection = Connection::open(&path).unwrap();
    let count = |query: &str| connection.query_row(query, [], |row| row.get::<_, i64>(0)).unwrap();
    let work = count("SELECT count(*) FROM work");
    let ready = count(
        "SELECT count(*) FROM mailbox b WHERE EXISTS (SELECT 1 FROM message m WHERE m.mailbox = b.no \
         AND (b.execution > 0 OR m.class = 1))",
    );
    drop(connection);
    let store = block_on(SqliteProvider::new(&url(&path), None)).unwrap();
    assert_eq!((work, ready), lease_everything(&store), "work and instances to be leased");
    drop(store);

    assert_eq!(owner_files(folder), [""; 0], "removed by a clean close, and after a burial");
    let connection = Connection::open(&path).unwrap();
    let count = |query: &str| connection.query_row(query, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count("SELECT count(*) FROM owner"), 0);
    assert_eq!(count("SELECT count(*) FROM work WHERE lease IS NOT NULL"), 0);
    assert_eq!(count("SELECT count(*) FROM mailbox WHERE lease IS NOT NULL"), 0);
}

fn owner_files(folder: &Folder) -> Vec<String> {
    folder.names().into_iter().filter(|name| name.contains("-owner-")).collect()
}

/// Leases all work and all instances with the first calls, without waiting.
fn lease_everything(store: &SqliteProvider) -> (i64, i64) {
    let work = LeaseWork {
        limit: 1_000_000,
        lease_for: LEASE,
        wait: Duration::ZERO,
        session: None,
        tags: TagFilter::DefaultOnly,
        serving: None,
    };
    let instances = LeaseInstances {
        limit: 1_000_000,
        lease_for: LEASE,
        wait: Duration::ZERO,
        capabilities: None,
        serving: None,
    };
    let work = block_on(store.lease_work(work)).unwrap().len();
    let instances = block_on(store.lease_instances(instances)).unwrap().len();
    (i64::try_from(work).unwrap(), i64::try_from(instances).unwrap())
}

/// Whatever was begun ends, in a process that is not killed.
fn go_on_to_the_end(folder: &Folder, round: u64) {
    let (path, journal_path) = (folder.file(DATABASE), folder.file(JOURNAL));
    let journal = Journal::append_to(&journal_path);
    let store = block_on(SqliteProvider::new(&url(&path), None)).unwrap();
    let load = Load::new(&store, &journal, plan(round, 1));
    for (round, number) in unacknowledged(&Lines::of(&journal_path).all()) {
        block_on(load.repeat_mail(round, number));
    }
    block_on(load.run());
    drop(store);
    assert_eq!(integrity(&path), "ok");
    let evidence =
        Evidence::read(&path).whole().holds(&Lines::of(&journal_path).all()).finished().must_be_sound();
    println!("{} turns after {round} kills", evidence.turns());
}
