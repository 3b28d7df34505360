//! One instance has one turn at a time.

mod contention;
mod leases;
mod many_threads;

use std::collections::BTreeSet;

pub(crate) use contention::*;
pub(crate) use leases::*;
pub use many_threads::*;

use crate::ProviderFactory;
use crate::suite::area;
use crate::support::{Ack, Subject, activity, completed, signal};

area! {
    instance_locking;
    test_exclusive_instance_lock;
    test_lock_token_uniqueness;
    test_invalid_lock_token_rejection;
    test_concurrent_instance_fetching;
    test_completions_arriving_during_lock_blocked;
    test_cross_instance_lock_isolation;
    test_message_tagging_during_lock;
    test_ack_only_affects_locked_messages;
    test_multi_threaded_lock_contention;
    test_multi_threaded_no_duplicate_processing;
    test_multi_threaded_lock_expiration_recovery;
    test_ack_ends_the_lease;
    test_stale_token_after_another_took_the_lease;
    test_work_of_a_leased_instance_goes_on;
    test_names_are_compared_exactly;
}

/// A leased instance is leased to nobody else, whatever mail it gets, until the lease ends.
pub async fn test_exclusive_instance_lock<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "first")).await;
    let turn = store.fetch("a").await;
    store.assert_no_turn("the instance is leased").await;
    store.post(signal("a", "second")).await;
    store.assert_no_turn("the instance is leased, and new mail does not change that").await;
    store.pass(store.lock() / 2).await;
    store.assert_no_turn("the instance is leased, and the lease lasts longer").await;

    store.ack(&turn.token, Ack::of("a", 1).signalled(2)).await;
    assert_eq!(store.fetch("a").await.signals(), ["second"], "the lease is free, and the mail is there");
}

/// No two leases have the same token, on whatever instance or activity.
pub async fn test_lock_token_uniqueness<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let names = ["a", "b", "c"];
    for name in names {
        store.create(name).await;
    }
    let mut tokens = Vec::new();
    for name in names {
        store.post(signal(name, "mail")).await;
        store.post_work(activity(name, 2)).await;
    }
    for _round in 0..3 {
        let turns = lease_all(&store).await;
        assert_eq!(turns.len(), names.len(), "each instance has mail, and comes back when given back");
        for turn in turns.values() {
            give_back(&store, turn).await;
            tokens.push(turn.token.clone());
        }
        let jobs = lease_all_work(&store).await;
        assert_eq!(jobs.len(), names.len(), "each activity comes back when given back");
        for job in &jobs {
            give_back_work(&store, job).await;
            tokens.push(job.token.clone());
        }
    }
    let distinct: BTreeSet<_> = tokens.iter().collect();
    assert_eq!(distinct.len(), tokens.len(), "a token was given out twice: {tokens:?}");
    assert!(tokens.iter().all(|token| !token.is_empty()), "a token says something: {tokens:?}");
}

/// A token that the store never gave out for an instance is refused by ack, abandon and renew, and the lease that there
/// is goes on.
pub async fn test_invalid_lock_token_rejection<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post_work(activity("a", 7)).await;
    let job = store.fetch_work().await;
    assert_powerless(&store, "no-such-token", "a", "nothing is leased").await;

    store.post(signal("a", "leased")).await;
    let turn = store.fetch("a").await;
    for token in ["no-such-token", "", "a", job.token.as_str(), &format!("{}x", turn.token)] {
        assert_powerless(&store, token, "a", "this token was never given out for an instance").await;
        store.assert_no_turn("a wrong token ended the lease, or sent something").await;
        let renewed = store.renew_orchestration_item_lock(&turn.token, store.lock()).await;
        renewed.expect("the lease itself is as good as before");
    }
    store.ack(&turn.token, Ack::of("a", 1).signalled(2)).await;
    assert_eq!(
        store.event_ids("a", 1).await,
        [1, 2],
        "the lease itself is as good as before, and nothing else was written"
    );
    store.assert_no_turn("the batch was consumed, and a wrong token sent nothing").await;
    store.assert_no_work("a wrong token enqueued nothing").await;
}

/// Dispatchers that fetch at the same time get different instances, and together all of them: nobody goes away empty-handed
/// while there is something.
pub async fn test_concurrent_instance_fetching<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let names: BTreeSet<String> = (0..12).map(|number| format!("instance-{number}")).collect();
    for name in &names {
        store.create(name).await;
    }
    for name in &names {
        store.post(signal(name, "mail")).await;
    }
    let mut turns = Vec::new();
    for _round in 0..names.len() / 4 {
        let some = contend(&store, 4).await;
        assert_eq!(some.len(), 4, "who lost one instance to another was told that there is nothing, but there is");
        turns.extend(some);
    }
    let leased: BTreeSet<String> = turns.iter().map(|turn| turn.item.instance.clone()).collect();
    assert_eq!(turns.len(), leased.len(), "an instance was leased twice");
    assert_eq!(leased, names, "an instance with mail was leased to nobody");
}

/// What arrives for a leased instance waits: it is neither handed out to others nor added to the batch nor lost.
pub async fn test_completions_arriving_during_lock_blocked<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let first = Ack::first("a").scheduling(activity("a", 2)).scheduling(activity("a", 3));
    store.begin(first).await;
    let jobs = lease_all_work(&store).await;
    store.post(signal("a", "leased")).await;
    let turn = store.fetch("a").await;
    assert_eq!(
        turn.item.messages,
        [signal("a", "leased")],
        "the batch is what is visible when the lease is taken"
    );

    finish(&store, "a", &jobs[0]).await;
    store.assert_no_turn("a completion for a leased instance waits").await;
    finish(&store, "a", &jobs[1]).await;
    store.post(signal("a", "late")).await;
    store.assert_no_turn("mail for a leased instance waits").await;

    store.ack(&turn.token, Ack::of("a", 1).signalled(4)).await;
    let next = store.fetch("a").await;
    assert_eq!(
        next.item.messages,
        [completed("a", 2), completed("a", 3), signal("a", "late")],
        "what came during the lease is the next batch, in order"
    );
}

/// A lease on one instance is none on another: the others are leased, committed and given back beside it.
pub async fn test_cross_instance_lock_isolation<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for name in ["a", "b", "c"] {
        store.create(name).await;
    }
    store.post(signal("a", "mail of a")).await;
    let a = store.fetch("a").await;
    store.post(signal("b", "mail of b")).await;
    let b = store.fetch("b").await;
    store.post(signal("c", "mail of c")).await;
    let c = store.fetch("c").await;
    store.assert_no_turn("all three are leased").await;

    store.ack(&b.token, Ack::of("b", 1).signalled(2)).await;
    store.assert_no_turn("the commit of one instance ended the lease of another").await;
    give_back(&store, &c).await;
    let again = store.fetch("c").await;
    assert_eq!(again.signals(), ["mail of c"], "what is given back comes again");
    store.assert_no_turn("giving one instance back ended the lease of another").await;

    store.ack(&a.token, Ack::of("a", 1).signalled(2)).await;
    assert_eq!(store.event_ids("a", 1).await, [1, 2], "the commit of an instance goes to that instance");
    assert_eq!(store.event_ids("b", 1).await, [1, 2], "the commit of an instance goes to that instance");
    assert_eq!(store.event_ids("c", 1).await, [1], "a commit wrote to another instance");
    store.ack(&again.token, Ack::of("c", 1).signalled(2)).await;
    store.assert_no_turn("everything was consumed").await;
}

/// A lease is on the messages that were visible when it was taken, and on no others.
pub async fn test_message_tagging_during_lock<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    let delay = store.lock() * 2;
    let hidden = store.enqueue_for_orchestrator(signal("a", "hidden"), Some(delay)).await;
    hidden.expect("a message can be delayed");
    store.post(signal("a", "first")).await;
    store.post(signal("a", "second")).await;
    let turn = store.fetch("a").await;
    assert_eq!(turn.signals(), ["first", "second"], "what cannot be seen yet is not handed out");
    store.post(signal("a", "third")).await;

    store.ack(&turn.token, Ack::of("a", 1).signalled(2)).await;
    let next = store.fetch("a").await;
    assert_eq!(next.signals(), ["third"], "the ack removed exactly its batch");
    store.ack(&next.token, Ack::of("a", 1).signalled(3)).await;
    store.pass(beyond(delay)).await;
    assert_eq!(store.fetch("a").await.signals(), ["hidden"], "an ack removed a message it never saw");
}

/// An ack removes its own batch: not mail that came later, be it word for word the same, and not other instances' mail.
pub async fn test_ack_only_affects_locked_messages<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.create("b").await;
    store.post(signal("a", "same")).await;
    let turn = store.fetch("a").await;
    store.post(signal("a", "same")).await;
    store.post(signal("a", "same")).await;
    store.post(signal("b", "same")).await;
    store.ack(&turn.token, Ack::of("a", 1)).await;

    let turns = lease_all(&store).await;
    assert_eq!(turns["a"].signals(), ["same", "same"], "an ack removed mail that came after its lease");
    assert_eq!(turns["b"].signals(), ["same"], "an ack removed mail of another instance");
    for turn in turns.values() {
        store.ack(&turn.token, Ack::of(&turn.item.instance, 1)).await;
    }
    store.expire_leases().await;
    store.assert_no_turn("an ack removes its whole batch, for good").await;
}

/// A commit ends its lease: the token is good for nothing more.
pub async fn test_ack_ends_the_lease<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "mail")).await;
    let turn = store.fetch("a").await;
    store.ack(&turn.token, Ack::of("a", 1).signalled(2)).await;
    assert_powerless(&store, &turn.token, "a", "the lease ended with its commit").await;
    store.assert_no_turn("a token that is used up sends nothing").await;
    store.assert_no_work("a token that is used up enqueues nothing").await;
    store.post(signal("a", "next")).await;
    assert_eq!(store.fetch("a").await.signals(), ["next"], "a token that is used up locks nothing");
}

/// Whoever lost the lease to another changes nothing, and the other one does not notice.
pub async fn test_stale_token_after_another_took_the_lease<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "mail")).await;
    let lost = store.fetch("a").await;
    store.expire_leases().await;
    let held = store.fetch("a").await;
    assert_ne!(held.token, lost.token, "another lease has another token");

    assert_powerless(&store, &lost.token, "a", "another one has the lease").await;
    store.assert_no_turn("a stale token ended the lease of its successor, or sent something").await;
    store.assert_no_work("a stale token enqueued something").await;
    store.ack(&held.token, Ack::of("a", 1).signalled(2)).await;
    assert_eq!(store.event_ids("a", 1).await, [1, 2], "the one who has the lease commits, and nobody else");
    store.expire_leases().await;
    store.assert_no_turn("the mail was consumed by the one who had the lease").await;
}

/// A lease on an instance is none on its activities: they are fetched and finished meanwhile.
pub async fn test_work_of_a_leased_instance_goes_on<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").scheduling(activity("a", 2))).await;
    store.post(signal("a", "mail")).await;
    let turn = store.fetch("a").await;
    let job = store.fetch_work().await;
    assert_eq!(job.id(), 2, "the activity of a leased instance can be leased");
    finish(&store, "a", &job).await;
    store.ack(&turn.token, Ack::of("a", 1).signalled(3)).await;
    assert_eq!(
        store.fetch("a").await.item.messages,
        [completed("a", 2)],
        "the completion that came during the lease is there"
    );
}

/// Names that look alike are different instances: upper and lower case, spaces, a name within a name, a wildcard.
pub async fn test_names_are_compared_exactly<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let names = ["order", "Order", "order ", " order", "order::1", "ord%", "ord_r", "örder"];
    for name in names {
        store.create(name).await;
    }
    for name in names {
        store.post(signal(name, name)).await;
    }
    let turns = lease_all(&store).await;
    assert_eq!(turns.len(), names.len(), "names were taken for one another: {:?}", turns.keys());
    for name in names {
        assert_eq!(turns[name].signals(), [name], "mail went to another instance");
        assert_eq!(turns[name].item.history.len(), 1, "the history of another instance was handed out");
    }
    store.ack(&turns["order"].token, Ack::of("order", 1).signalled(2)).await;
    store.assert_no_turn("the commit of one instance ended the lease of another").await;
    for name in names {
        let expected: &[u64] = if name == "order" { &[1, 2] } else { &[1] };
        assert_eq!(store.event_ids(name, 1).await, expected, "a commit wrote to '{name}'");
    }
}
