//! Another process takes away what this one works on.

use std::sync::Arc;

use abide_provider::{LeaseWork, Provider as _, ProviderAdmin, StolenBecause, StolenLease};
use abide_sqlite::SqliteProvider;
use futures::StreamExt as _;

use super::{any_instance, any_work, enqueue_start, on_file, soon};
use crate::support::folder::Folder;
use crate::support::items::*;
use crate::support::store::{LEASE, millis};

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

/// Takes an activity back, by a turn of this process.
fn cancel(by: &SqliteProvider, instance: &str, activity: u64) {
    enqueue_signal(by, instance);
    let lease = soon(by.lease_instances(any_instance())).unwrap().remove(0);
    let turn = TurnBuilder::of_execution(1).revoking(instance, activity).under(&lease);
    soon(by.commit_turns(vec![turn])).remove(0).unwrap();
}

fn stolen(token: &str, because: StolenBecause) -> StolenLease {
    StolenLease { token: token.to_owned(), because }
}

#[test]
fn it_hears_of_a_cancellation() {
    let folder = Folder::new("cancelled");
    let (here, there) = two(&folder);
    let mut told = here.stolen_leases().unwrap();
    for round in 0..3 {
        let instance = format!("a{round}");
        let tokens = at_work(&here, &instance, 2);
        cancel(&there, &instance, 2);
        assert_eq!(soon(told.next()).unwrap(), stolen(&tokens[0], StolenBecause::Unknown));
        soon(here.ack_work_item(&tokens[1], None)).unwrap();
    }
}

/// What this process ended itself is not missed when it looks, and what it took away itself is not told twice.
#[test]
fn it_hears_only_of_what_others_took_and_of_that_once() {
    let folder = Folder::new("others");
    let (here, there) = two(&folder);
    let mut told = here.stolen_leases().unwrap();
    let tokens = at_work(&here, "a", 6);
    soon(here.ack_work_item(&tokens[0], None)).unwrap();
    soon(here.abandon_work_item(&tokens[1], None, false)).unwrap();
    let again = soon(here.lease_work(any_work())).unwrap().remove(0).token;
    cancel(&here, "a", 4);
    assert_eq!(soon(told.next()).unwrap(), stolen(&tokens[2], StolenBecause::Dropped));
    for (activity, token) in [(5, &tokens[3]), (6, &tokens[4]), (3, &again)] {
        cancel(&there, "a", activity);
        assert_eq!(soon(told.next()).unwrap(), stolen(token, StolenBecause::Unknown));
    }
    soon(here.renew_work_item_lock(&tokens[5], LEASE)).unwrap();
}

/// Another process notices first that a lease ran out, and leases the activity itself: nobody took anything away.
#[test]
fn it_hears_nothing_of_what_ran_out() {
    let folder = Folder::new("ran-out");
    let (here, there) = two(&folder);
    let mut told = here.stolen_leases().unwrap();
    enqueue_start(&here, "a");
    let lease = soon(here.lease_instances(any_instance())).unwrap().remove(0);
    let turn = TurnBuilder::starting(1).work(activity("a", 2)).under(&lease);
    soon(here.commit_turns(vec![turn])).remove(0).unwrap();
    soon(here.lease_work(LeaseWork { lease_for: millis(1), ..any_work() })).unwrap();
    soon(there.lease_work(any_work())).unwrap();

    soon(here.enqueue_for_worker(activity("a", 3))).unwrap();
    let mine = soon(here.lease_work(any_work())).unwrap().remove(0);
    cancel(&there, "a", 3);
    assert_eq!(soon(told.next()).unwrap(), stolen(&mine.token, StolenBecause::Unknown));
}

/// Who begins to listen later hears of leases that were granted before, also if the store looked at other processes
/// already.
#[test]
fn who_comes_later_hears_of_what_was_granted_before() {
    let folder = Folder::new("later");
    let (here, there) = two(&folder);
    let mut changes = here.changes("a").unwrap();
    enqueue_start(&there, "b");
    soon(changes.next());
    let lease = soon(there.lease_instances(any_instance())).unwrap().remove(0);
    soon(there.commit_turns(vec![TurnBuilder::starting(1).under(&lease)])).remove(0).unwrap();
    let tokens = at_work(&here, "a", 3);

    let mut first = here.stolen_leases().unwrap();
    soon(here.nudge()); // it has looked
    cancel(&there, "a", 2);
    assert_eq!(soon(first.next()).unwrap(), stolen(&tokens[0], StolenBecause::Unknown));

    let mut second = here.stolen_leases().unwrap();
    drop(first);
    cancel(&there, "a", 3);
    assert_eq!(soon(second.next()).unwrap(), stolen(&tokens[1], StolenBecause::Unknown));

    drop(second);
    let more = at_work(&here, "c", 1); // while nobody listens
    let mut third = here.stolen_leases().unwrap();
    soon(here.nudge());
    cancel(&there, "c", 2);
    assert_eq!(soon(third.next()).unwrap(), stolen(&more[0], StolenBecause::Unknown));
}

/// How often a statement ran.
fn runs(provider: &SqliteProvider, statement: &str) -> u64 {
    let costs = soon(provider.costs());
    costs.into_iter().filter(|(name, ..)| *name == statement).map(|(_, runs, _)| runs).sum()
}

/// Looking costs as much as this process holds, whatever the others do; and nothing while nobody listens.
#[test]
fn looking_costs_what_is_held_here() {
    let folder = Folder::new("looking");
    let (here, there) = two(&folder);
    let mut told = there.stolen_leases().unwrap();
    let others = at_work(&there, "b", 50);
    let tokens = at_work(&here, "a", 2);
    cancel(&here, "b", 2);
    assert_eq!(soon(told.next()).unwrap(), stolen(&others[0], StolenBecause::Unknown));
    soon(here.nudge());
    assert_eq!(["held_work", "lease_of_work"].map(|statement| runs(&here, statement)), [0, 0]);

    let mut told = here.stolen_leases().unwrap();
    soon(here.nudge());
    for (activity, token) in [(2, &tokens[0]), (3, &tokens[1])] {
        cancel(&there, "a", activity);
        assert_eq!(soon(told.next()).unwrap(), stolen(token, StolenBecause::Unknown));
    }
    assert_eq!(runs(&here, "held_work"), 1, "once, for the one who began to listen");
    let looks = runs(&here, "data_version");
    assert!(runs(&here, "lease_of_work") <= 2 * looks, "at most what is held, each time");
}

#[test]
fn it_hears_of_a_deletion() {
    let folder = Folder::new("deleted");
    let (here, there) = two(&folder);
    let mut told = here.stolen_leases().unwrap();
    let tokens = at_work(&here, "a", 1);
    soon(there.delete_instance("a", true)).unwrap();
    assert_eq!(soon(told.next()).unwrap(), stolen(&tokens[0], StolenBecause::Unknown));
}

fn enqueue_signal(there: &SqliteProvider, instance: &str) {
    soon(there.enqueue_for_orchestrator(signal(instance, "stop"), None)).unwrap();
}
