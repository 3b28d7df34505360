//! A process is killed, stopped, or closed: what it held, and what it may still do.

use std::time::Duration;

use super::puppet::Puppet;
use crate::support::folder::Folder;
use crate::support::process::{PATIENCE, pass, until};

/// Leased work of a dead process runs elsewhere within a second. Of a few tries one may be slow on a busy machine; what
/// waits for something longer than a second is slow every time.
fn within_a_second(what_it_takes: impl Fn() -> Duration) {
    let mut times = Vec::new();
    for _ in 0..3 {
        times.push(what_it_takes());
        if times.last() < Some(&Duration::from_secs(1)) {
            return;
        }
    }
    panic!("it took {times:?}");
}

#[test]
fn the_work_of_a_killed_process_is_running_in_another_within_a_second() {
    within_a_second(|| {
        let folder = Folder::new("killed");
        let path = folder.file("data.db");
        let mut survivor = Puppet::on(&folder, &path);
        let mut victim = Puppet::on(&folder, &path);
        assert_eq!(victim.ask("enqueue 1"), "ok");
        assert_eq!(victim.ask("lease 600000 0"), "leased 1 1");
        survivor.tell("lease 600000 30000");
        // Long enough for it to be parked, and to have found nothing.
        pass(Duration::from_millis(50));
        assert!(!survivor.has_answered());
        victim.running.kill();
        let (answer, time) = survivor.timed_answer();
        assert_eq!(answer, "leased 1 2", "the attempt of the dead one counts");
        assert_eq!(survivor.ask("finish 1"), "ok");
        assert_eq!(survivor.ask("close"), "closed");
        assert_eq!(leftovers(&folder), ["data.db"]);
        time
    });
}

#[test]
fn the_instance_of_a_killed_process_is_running_in_another_within_a_second() {
    within_a_second(|| {
        let folder = Folder::new("killed-turn");
        let path = folder.file("data.db");
        let mut survivor = Puppet::on(&folder, &path);
        let mut victim = Puppet::on(&folder, &path);
        assert_eq!(victim.ask("start a"), "ok");
        assert_eq!(victim.ask("lease-instance 600000 0"), "leased a 1");
        survivor.tell("lease-instance 600000 30000");
        pass(Duration::from_millis(50));
        assert!(!survivor.has_answered());
        victim.running.kill();
        let (answer, time) = survivor.timed_answer();
        assert_eq!(answer, "leased a 2");
        assert_eq!(survivor.ask("commit a"), "ok");
        time
    });
}

#[test]
fn whoever_closes_gives_its_leases_up() {
    within_a_second(|| {
        let folder = Folder::new("closed");
        let path = folder.file("data.db");
        let mut one = Puppet::on(&folder, &path);
        let mut other = Puppet::on(&folder, &path);
        assert_eq!(one.ask("enqueue 1"), "ok");
        assert_eq!(one.ask("lease 600000 0"), "leased 1 1");
        other.tell("lease 600000 30000");
        assert_eq!(one.ask("close"), "closed");
        let (answer, time) = other.timed_answer();
        assert_eq!(answer, "leased 1 2");
        time
    });
}

#[test]
fn a_process_that_stops_beyond_its_lease_comes_too_late() {
    let folder = Folder::new("stopped");
    let path = folder.file("data.db");
    let mut sleeper = Puppet::on(&folder, &path);
    let mut other = Puppet::on(&folder, &path);
    assert_eq!(sleeper.ask("enqueue 1"), "ok");
    assert_eq!(sleeper.ask("start a"), "ok");
    // Long enough for both to be leased before the first one ends, and short enough to wait for.
    assert_eq!(sleeper.ask("lease 700 0"), "leased 1 1");
    assert_eq!(sleeper.ask("lease-instance 700 0"), "leased a 1");
    sleeper.running.freeze();
    // It is stopped, not dead: its leases hold until they run out.
    assert_eq!(other.ask("lease 600000 30000"), "leased 1 2");
    assert_eq!(other.ask("lease-instance 600000 30000"), "leased a 2");
    assert_eq!(other.ask("finish 1"), "ok");
    assert_eq!(other.ask("commit a"), "ok");
    sleeper.running.thaw();
    let late = sleeper.ask("finish 1");
    assert!(late.contains("LeaseLost"), "{late}");
    let late = sleeper.ask("commit a");
    assert!(late.contains("LeaseLost"), "{late}");
    // It goes on as if nothing had happened.
    assert_eq!(sleeper.ask("lease 600000 30000"), "leased 3 1", "the work that the other's turn made");
}

#[test]
fn a_stopped_process_keeps_its_leases_until_they_run_out() {
    let folder = Folder::new("stopped-short");
    let path = folder.file("data.db");
    let mut sleeper = Puppet::on(&folder, &path);
    let mut other = Puppet::on(&folder, &path);
    assert_eq!(sleeper.ask("enqueue 1"), "ok");
    assert_eq!(sleeper.ask("lease 600000 0"), "leased 1 1");
    sleeper.running.freeze();
    assert_eq!(other.ask("lease 600000 500"), "nothing");
    sleeper.running.thaw();
    assert_eq!(sleeper.ask("finish 1"), "ok");
}

#[test]
fn a_dead_process_is_buried_by_the_next_one_to_come() {
    let folder = Folder::new("buried");
    let path = folder.file("data.db");
    let mut victim = Puppet::on(&folder, &path);
    assert_eq!(victim.ask("enqueue 1"), "ok");
    assert_eq!(victim.ask("lease 600000 0"), "leased 1 1");
    victim.running.kill();
    assert_eq!(owner_files(&folder), 1);
    let mut next = Puppet::on(&folder, &path);
    assert_eq!(next.ask("lease 600000 0"), "leased 1 2", "with the first call, without waiting");
    until("the burial", PATIENCE, || (owner_files(&folder) == 1).then_some(()));
    assert_eq!(next.ask("close"), "closed");
    assert_eq!(leftovers(&folder), ["data.db"]);
}

fn owner_files(folder: &Folder) -> usize {
    folder.names().iter().filter(|name| name.contains("-owner-")).count()
}

/// What is in the folder, beside the journals of the puppets.
fn leftovers(folder: &Folder) -> Vec<String> {
    folder.names().into_iter().filter(|name| !name.starts_with("journal-")).collect()
}
