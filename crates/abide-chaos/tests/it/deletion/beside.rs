//! A node runs one instance after the other while a very large one is deleted beside it.

use abide_host::SystemClock;

use super::figures::{Figures, measured_client, record};
use super::past::Past;
use super::*;
use crate::support::deployment::on_own_stores;
use crate::support::site::Site;
use crate::support::wait::until;

/// The longest that a call may take because of a deletion.
const LONGEST: Duration = Duration::from_millis(100);

/// How many times as long as before the slowest hundredth of the instances may take.
const SLOWER: u32 = 3;

/// A round in which the machine was busy with something else is repeated, until more rounds are good than
/// bad, or this many are bad.
const BAD_ROUNDS: u32 = 3;

/// What the deleted instance has very many of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Many {
    Executions,
    QueuedActivities,
}

#[test]
fn no_call_waits_for_the_removal_of_very_many_executions() {
    on_own_stores("deletion", |site| repeat_rounds(site, Many::Executions));
}

#[test]
fn no_call_waits_for_the_removal_of_very_many_queued_activities() {
    repeat_rounds(&Site::new("deletion"), Many::QueuedActivities);
}

fn repeat_rounds(site: &Site, many: Many) {
    let _alone = alone();
    record();
    let (mut good, mut bad) = (0, 0);
    while good <= bad {
        match round(site, good + bad, many) {
            Ok(()) => good += 1,
            Err(complaint) => {
                println!("{complaint}");
                bad += 1;
                assert!(bad < BAD_ROUNDS, "{complaint}; {good} rounds of {} were good", good + bad);
            }
        }
    }
}

/// Deletes an instance beside the workload. The error says which bound was not kept.
fn round(site: &Site, round: u32, many: Many) -> Result<(), String> {
    // Before the node: a large transaction of the test is not the node's.
    let past = (many == Many::Executions).then(|| Past::put(site, u64::from(round), executions()));
    let threads = threads();
    let clock = Arc::new(SystemClock::new());
    let store = block_on(site.store().open(clock.clone())).unwrap();
    let node = threads.block_on(start_node(store.clone(), clock.clone()));
    let client = measured_client(store.clone());
    let past = past.unwrap_or_else(|| {
        block_on(client.start_orchestration(LARGE, WAITING, "")).unwrap();
        let has_begun = || block_on(client.get_instance_info(LARGE)).is_ok().then_some(());
        until("the instance to begin", has_begun);
        Past::queue(site, &*store, executions())
    });

    let warm = clock.monotonic() + Duration::from_millis(500);
    Figures::measure(&client, &format!("warm-{round}"), || clock.monotonic() >= warm);
    let end = clock.monotonic() + time_before();
    // A call for the deleted instance waits for no part of its removal, either.
    let signal = || {
        if many == Many::QueuedActivities {
            block_on(client.raise_event(LARGE, "unread", "")).unwrap();
        }
    };
    let before = Figures::measure(&client, &format!("before-{round}"), || {
        signal();
        clock.monotonic() >= end
    });
    let began = clock.monotonic();
    let (during, call) = std::thread::scope(|scope| {
        let deletion = scope.spawn(|| delete_and_start_again(&client, &past, many));
        let during = Figures::measure(&client, &format!("beside-{round}"), || {
            signal();
            deletion.is_finished() && !past.is_being_removed()
        });
        (during, deletion.join().unwrap())
    });
    let removal = clock.monotonic().saturating_sub(began);
    past.wait_until_removed();
    assert_eq!(block_on(client.list_executions(LARGE)).unwrap(), [1]);
    // For the next round.
    block_on(client.delete_instance(LARGE, true)).unwrap();
    threads.block_on(node.shutdown(None));

    println!("{:?}: the call took {call:?}, the removal {removal:?}", site.store());
    println!("before: {before}\nbeside: {during}");
    if during.longest.took >= LONGEST {
        return Err(format!("a call took {:?}: {}", during.longest.took, during.longest.operation));
    }
    if during.p99 > before.p99 * SLOWER {
        return Err(format!("p99 was {:?} before, and {:?} beside the removal", before.p99, during.p99));
    }
    Ok(())
}

/// Deletes the instance, and starts another under its id at once, which completes beside the removal. Returns
/// how long the deletion took.
fn delete_and_start_again(client: &Client, past: &Past<'_>, many: Many) -> Duration {
    let clock = SystemClock::new();
    let began = clock.monotonic();
    let deleted = block_on(client.delete_instance(LARGE, true)).unwrap();
    let call = clock.monotonic().saturating_sub(began);
    let (instances, count) = match many {
        Many::Executions => (deleted.instances_deleted, deleted.executions_deleted),
        Many::QueuedActivities => (deleted.instances_deleted, deleted.queue_messages_deleted),
    };
    assert!(instances == 1 && count >= executions(), "{deleted:?}");
    complete(client, LARGE);
    assert!(past.is_being_removed(), "the removal was over before the new instance completed");
    assert_eq!(block_on(client.list_executions(LARGE)).unwrap(), [1]);
    call
}
