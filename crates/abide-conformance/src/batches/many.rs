//! More mail than one lease may hand out.
//!
//! A store may hand all of it out, or bound a batch: in order and once it comes either way.

use abide_model::WorkItem;
use abide_provider::{BATCH_MESSAGES, LEASE_BYTES};

use super::calls::{commit, instances, jobs, lease, lease_instances, lease_jobs, signals, try_lease, under};
use crate::ProviderFactory;
use crate::support::{Ack, Subject, activity, signal, start};

/// However much mail an instance has: its start comes first, and the rest in the order of enqueueing, over as many
/// leases as the store likes. What one lease does not hand out, its commit does not consume.
pub async fn test_many_messages_are_leased_in_order_and_once<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let sent = numbers(BATCH_MESSAGES + 5);
    send(&store, "a", &sent).await;

    let mut received = Vec::new();
    let mut turn = Ack::first("a");
    for event in 2_u64.. {
        let Some(leased) = try_lease(&store).await else {
            break;
        };
        if event == 2 {
            assert_eq!(leased.messages[0].item, start("a"), "the start came last, and is handed out first");
        }
        received.extend(signals(&leased.messages).into_iter().map(str::to_owned));
        assert_eq!(leased.attempt, 1, "what was not handed out was not tried");
        assert!(received.len() <= sent.len(), "messages are handed out twice");
        commit(&store, under(&leased, turn)).await;
        turn = Ack::of("a", 1).signalled(event);
    }
    assert_eq!(received, sent);
}

/// The same for fetches, whose batch is in the order of enqueueing throughout.
pub async fn test_many_messages_are_fetched_in_order_and_once<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let sent = numbers(BATCH_MESSAGES + 5);
    send(&store, "a", &sent).await;

    let mut received = Vec::new();
    let mut turn = Ack::first("a");
    for event in 2_u64.. {
        let Some(fetched) = store.try_fetch().await else {
            break;
        };
        if event == 2 {
            assert_eq!(
                fetched.item.messages.last(),
                Some(&start("a")),
                "without its start nothing is fetched"
            );
        }
        received.extend(fetched.signals().into_iter().map(str::to_owned));
        assert!(received.len() <= sent.len(), "messages are handed out twice");
        store.ack(&fetched.token, turn).await;
        turn = Ack::of("a", 1).signalled(event);
    }
    assert_eq!(received, sent);
}

/// Large messages are handed out like small ones: in order, once, and none is too large.
pub async fn test_large_messages_are_leased_in_order_and_once<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    let large = |number: u32, mebibytes: usize| format!("{number}").repeat(mebibytes * 1024 * 1024);
    let sent = [large(1, 1), large(2, 5), large(3, 1), large(4, 1)];
    for data in &sent {
        store.post(signal("a", data)).await;
    }
    let mut received = Vec::new();
    for event in 2_u64.. {
        let Some(leased) = try_lease(&store).await else {
            break;
        };
        received.extend(signals(&leased.messages).into_iter().map(str::to_owned));
        assert!(received.len() <= sent.len(), "messages are handed out twice");
        commit(&store, under(&leased, Ack::of("a", 1).signalled(event))).await;
    }
    let same = received == sent;
    let sizes: Vec<usize> = received.iter().map(String::len).collect();
    assert!(same, "other messages came than were sent, or in another order; of these sizes: {sizes:?}");
}

fn numbers(count: usize) -> Vec<String> {
    (0..count).map(|number| number.to_string()).collect()
}

/// Sends these signals and then the start, in one commit of another instance.
async fn send(store: &Subject<'_>, instance: &str, signals: &[String]) {
    store.post(start("sender")).await;
    let sender = lease(store, "sender").await;
    let turn = signals.iter().fold(Ack::first("sender"), |turn, data| turn.mail(signal(instance, data)));
    commit(store, under(&sender, turn.mail(start(instance)))).await;
}

/// A lease call grants no further lease once those before it brought 16 MiB, but always one. The rest comes with the next
/// calls.
pub async fn test_lease_calls_bring_a_bounded_size<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let large = "x".repeat(LEASE_BYTES / 2);
    let names = ["a", "b", "c"];
    for instance in names {
        store.post(start(instance)).await;
        store.post(signal(instance, &large)).await;
    }
    let mut granted = Vec::new();
    while granted.len() < names.len() {
        let leases = lease_instances(&store, instances(&store, 10)).await;
        let sizes: Vec<usize> =
            leases.iter().map(|lease| signals(&lease.messages).into_iter().map(str::len).sum()).collect();
        assert_bounded(&sizes);
        granted.extend(leases.into_iter().map(|lease| lease.instance));
    }
    assert_eq!(granted, names, "every instance comes, in the order of their mail");

    for id in [2, 3, 4] {
        let WorkItem::ActivityExecute { instance, execution_id, name, .. } = activity("a", id) else {
            unreachable!("an activity is one");
        };
        let input = large.clone();
        let (session_id, tag) = (None, None);
        let work = WorkItem::ActivityExecute { instance, execution_id, id, name, input, session_id, tag };
        store.post_work(work).await;
    }
    let mut granted = Vec::new();
    while granted.len() < 3 {
        let leases = lease_jobs(&store, jobs(&store, 10)).await;
        let work = leases.iter().map(|lease| {
            let WorkItem::ActivityExecute { id, input, .. } = &lease.item else {
                panic!("no activity: {:?}", lease.item);
            };
            (*id, input.len())
        });
        let (ids, sizes): (Vec<u64>, Vec<usize>) = work.unzip();
        assert_bounded(&sizes);
        granted.extend(ids);
    }
    assert_eq!(granted, [2, 3, 4], "every activity comes, in their order");
}

fn assert_bounded(sizes: &[usize]) {
    assert!(!sizes.is_empty(), "there is more, but nothing was leased");
    let before_the_last: usize = sizes.iter().rev().skip(1).sum();
    assert!(before_the_last < LEASE_BYTES, "a lease was added to 16 MiB: {sizes:?}");
}
