//! Another process takes away what this one works on.

use std::sync::Arc;

use abide_provider::{Provider as _, ProviderAdmin, StolenBecause};
use abide_sqlite::SqliteProvider;
use futures::StreamExt as _;

use super::{any_instance, any_work, enqueue_start, on_file, soon};
use crate::support::folder::Folder;
use crate::support::items::*;

/// An instance with activities, of which `here` has leased these.
fn at_work(here: &SqliteProvider, instance: &str, activities: u64) -> Vec<String> {
    enqueue_start(here, instance);
    let lease = soon(here.lease_instances(any_instance())).unwrap().remove(0);
    let ids = 2..2 + activities;
    let turn = ids.clone().fold(TurnBuilder::starting(1), |turn, id| turn.work(activity(instance, id)));
    soon(here.commit_turns(vec![turn.under(&lease)])).remove(0).unwrap();
    ids.map(|_| soon(here.lease_work(any_work())).unwrap().remove(0).token).collect()
}

fn two(folder: &Folder) -> (Arc<SqliteProvider>, Arc<SqliteProvider>) {
    (on_file(folder), on_file(folder))
}

#[test]
fn it_hears_of_a_cancellation() {
    let folder = Folder::new("cancelled");
    let (here, there) = two(&folder);
    let (mut stolen, mut over) = (here.stolen_leases().unwrap(), Vec::new());
    for round in 0..3 {
        let instance = format!("a{round}");
        let tokens = at_work(&here, &instance, 2);
        enqueue_signal(&there, &instance);
        let lease = soon(there.lease_instances(any_instance())).unwrap().remove(0);
        let turn = TurnBuilder::of_execution(1).revoking(&instance, 2).under(&lease);
        soon(there.commit_turns(vec![turn])).remove(0).unwrap();
        // What is over may be told of too, and nobody minds; what is still leased may not.
        let mut told = soon(stolen.next()).unwrap();
        while over.contains(&told.token) {
            told = soon(stolen.next()).unwrap();
        }
        assert_eq!((told.token, told.because), (tokens[0].clone(), StolenBecause::Unknown));
        soon(here.ack_work_item(&tokens[1], None)).unwrap();
        over.extend(tokens);
    }
}

#[test]
fn it_hears_of_a_deletion() {
    let folder = Folder::new("deleted");
    let (here, there) = two(&folder);
    let mut stolen = here.stolen_leases().unwrap();
    let tokens = at_work(&here, "a", 1);
    soon(there.delete_instance("a", true)).unwrap();
    assert_eq!(soon(stolen.next()).unwrap().token, tokens[0]);
}

fn enqueue_signal(there: &SqliteProvider, instance: &str) {
    soon(there.enqueue_for_orchestrator(signal(instance, "stop"), None)).unwrap();
}
