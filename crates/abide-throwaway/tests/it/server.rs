//! What can be done with a server.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use abide_throwaway::{Mode, OLDEST, Settings, installed, own};

use crate::support::{answers, durable_server, is_gone, query};

#[test]
fn a_server_answers_is_restarted_both_ways_and_is_gone_when_dropped() {
    let Some(server) = durable_server() else { return };
    let url = server.url();
    assert!(server.version().major() >= OLDEST);
    assert_eq!(query(&url, "show server_encoding").as_deref(), Some("UTF8"));
    query(&url, "create table kept (value int)").unwrap();

    for mode in [Mode::Fast, Mode::Immediate] {
        query(&url, "insert into kept values (1)").unwrap();
        let began = query(&url, "select pg_postmaster_start_time()").unwrap();
        server.restart(mode).unwrap();
        assert_ne!(query(&url, "select pg_postmaster_start_time()").unwrap(), began, "{mode:?}");
    }
    assert_eq!(query(&url, "select count(*) from kept").as_deref(), Some("2"));
    assert!(server.log().unwrap().contains("redo"), "the second restart recovered from the log");
    assert_eq!(query(&url, "select 1/0"), None);
    assert!(server.log().unwrap().contains(" 22012 "), "errors are logged with their code");

    let folder = server.folder().to_owned();
    drop(server);
    assert!(is_gone(&url, &folder));
}

#[test]
fn a_server_that_is_stopped_does_not_answer_and_comes_back_with_its_data() {
    let Some(server) = durable_server() else { return };
    let url = server.url();
    query(&url, "create table kept ()").unwrap();

    server.stop(Mode::Immediate).unwrap();
    assert!(!answers(&url));
    let refusal = server.stop(Mode::Fast).unwrap_err().to_string();
    assert!(refusal.contains("not running"), "{refusal}");
    server.start_again().unwrap();
    assert_eq!(query(&url, "select count(*) from kept").as_deref(), Some("0"));

    server.stop(Mode::Fast).unwrap();
    let folder = server.folder().to_owned();
    drop(server);
    assert!(is_gone(&url, &folder), "also one that is stopped is removed");
}

#[test]
fn a_frozen_server_keeps_everybody_waiting_and_is_gone_when_dropped() {
    let Some(server) = durable_server() else { return };
    let (url, folder) = (server.url(), server.folder().to_owned());
    server.freeze().unwrap();
    let (sender, answer) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(|| sender.send(answers(&url)).unwrap());
        assert!(answer.recv_timeout(Duration::from_millis(300)).is_err(), "nothing answers");
        server.thaw().unwrap();
        assert!(answer.recv().unwrap(), "and then it does");
    });
    server.freeze().unwrap();
    drop(server);
    assert!(is_gone(&url, &folder));
}

#[test]
fn servers_stand_side_by_side_with_settings_of_their_own() {
    let Some(durable) = durable_server() else { return };
    let fast = own(&Settings::common().set("work_mem", "5MB")).unwrap().unwrap();
    assert_ne!(durable.url(), fast.url());
    let setting = |url: &str, name: &str| query(url, &format!("show {name}")).unwrap();
    assert_eq!(setting(&durable.url(), "fsync"), "on");
    assert_eq!(setting(&fast.url(), "fsync"), "off");
    assert_eq!(setting(&fast.url(), "work_mem"), "5MB");
    assert_eq!(setting(&fast.url(), "deadlock_timeout"), "200ms");

    drop(durable);
    assert!(answers(&fast.url()), "the end of one is nothing to the other");
}

#[test]
fn a_server_that_cannot_start_says_why() {
    if installed().unwrap().is_none() {
        return;
    }
    let refusal = own(&Settings::durable().set("max_connections", "many")).unwrap_err().to_string();
    assert!(refusal.contains("max_connections"), "{refusal}");
}
