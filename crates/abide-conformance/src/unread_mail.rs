//! Messages that a turn did not consume stay.

use abide_model::WorkItem;
use abide_provider::{Ability, BATCH_BYTES, BATCH_MESSAGES, Consumed, Rejection, TurnCommit};

use crate::ProviderFactory;
use crate::batches::calls::{
    Written, assert_rejected_as, assert_written_everywhere, assert_written_nowhere, commit, lease, reading,
    signals, try_commit, under, writing_everywhere,
};
use crate::suite::area;
use crate::support::{Ack, Subject, queue_message, signal, start};

area! {
    unread_mail;
    test_unread_messages_keep_their_place: Need::Ability(Ability::UnreadMailStays);
    test_unread_messages_get_their_attempt_back: Need::Ability(Ability::UnreadMailStays);
    test_turn_that_reads_nothing_leaves_everything: Need::Ability(Ability::UnreadMailStays);
    test_unread_messages_are_not_sent_again: Need::Ability(Ability::UnreadMailStays);
    test_unread_messages_wait_for_the_next_execution: Need::Ability(Ability::UnreadMailStays);
    test_unread_messages_of_an_ended_instance_stay: Need::Ability(Ability::UnreadMailStays);
    test_refused_commit_consumes_nothing: Need::Ability(Ability::UnreadMailStays);
    test_commit_consumes_only_mail_of_its_lease: Need::Ability(Ability::UnreadMailStays);
    test_lease_is_good_for_its_instance_only: Need::Ability(Ability::UnreadMailStays);
    test_lease_hands_out_a_bounded_number_of_messages: Need::Ability(Ability::UnreadMailStays);
    test_lease_hands_out_a_bounded_size_of_messages: Need::Ability(Ability::UnreadMailStays);
}

/// A message that a turn did not read keeps its number and its place: before everything that came after it.
pub async fn test_unread_messages_keep_their_place<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    for data in ["one", "two", "three"] {
        store.post(signal("a", data)).await;
    }
    let leased = lease(&store, "a").await;
    store.post(signal("a", "four")).await;
    commit(&store, reading(&leased, &[1], Ack::of("a", 1).mail(signal("a", "five")))).await;

    let next = lease(&store, "a").await;
    assert_eq!(signals(&next.messages), ["one", "three", "four", "five"]);
    assert_eq!(next.messages[0].id, leased.messages[0].id, "an unread message keeps its number");
    assert_eq!(next.messages[1].id, leased.messages[2].id, "an unread message keeps its number");
    commit(&store, reading(&next, &[0, 2, 3], Ack::of("a", 1))).await;
    assert_eq!(signals(&lease(&store, "a").await.messages), ["three"]);
}

/// A lease whose turn did not read a message is no attempt for it. Attempts that were counted before stay, each
/// message's own.
pub async fn test_unread_messages_get_their_attempt_back<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "tried once")).await;
    lease(&store, "a").await;
    store.expire_leases().await;
    store.post(signal("a", "new")).await;

    for event in 2..5 {
        let leased = lease(&store, "a").await;
        let attempts: Vec<u32> = leased.messages.iter().map(|message| message.attempt).collect();
        assert_eq!(attempts, [2, 1], "only the lease that ran out was an attempt");
        assert_eq!(leased.attempt, 2, "the most of any message");
        commit(&store, reading(&leased, &[], Ack::of("a", 1).signalled(event))).await;
    }
    let leased = lease(&store, "a").await;
    commit(&store, reading(&leased, &[0], Ack::of("a", 1))).await;
    let last = lease(&store, "a").await;
    assert_eq!(last.attempt, 1, "the message that is left was never tried");
}

/// A turn that reads nothing is committed, leaves all of its mail, and gives the lease back: the instance can be
/// leased at once.
pub async fn test_turn_that_reads_nothing_leaves_everything<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "one")).await;
    store.post(queue_message("a", "two")).await;
    let leased = lease(&store, "a").await;
    commit(&store, reading(&leased, &[], Ack::of("a", 1).signalled(2))).await;
    assert_eq!(store.event_ids("a", 1).await, [1, 2]);
    let next = lease(&store, "a").await;
    assert_eq!(next.messages, leased.messages);
    assert_ne!(next.token, leased.token);
    commit(&store, under(&next, Ack::of("a", 1).signalled(3))).await;
    store.assert_no_turn("everything was read").await;
}

/// What stays is not also sent again: the list of unread messages is for stores that cannot leave them.
pub async fn test_unread_messages_are_not_sent_again<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "one")).await;
    store.post(queue_message("a", "two")).await;
    let leased = lease(&store, "a").await;
    let unread = reading(&leased, &[], Ack::of("a", 1).signalled(2));
    assert_eq!(unread.left.len(), 2);
    commit(&store, unread).await;
    let next = lease(&store, "a").await;
    assert_eq!(next.messages, leased.messages, "each message once");
    let listed = TurnCommit { left: vec![signal("a", "read")], ..under(&next, Ack::of("a", 1).signalled(3)) };
    commit(&store, listed).await;
    store.assert_no_turn("a turn that read everything leaves nothing, whatever is listed").await;
}

/// What an execution leaves unread when it continues as new waits behind the successor's start, queue messages too:
/// nothing has to be carried.
pub async fn test_unread_messages_wait_for_the_next_execution<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(queue_message("a", "queued")).await;
    store.post(signal("a", "read")).await;
    store.post(signal("a", "unread")).await;
    let leased = lease(&store, "a").await;
    commit(&store, reading(&leased, &[1], Ack::of("a", 1).continuing(2))).await;

    let next = lease(&store, "a").await;
    assert_eq!(next.messages.len(), 3, "{:?}", next.messages);
    let first = &next.messages[0].item;
    let WorkItem::ContinueAsNew { carry_forward_events, .. } = first else {
        panic!("the successor's start comes first, but this did: {first:?}");
    };
    assert!(carry_forward_events.is_empty(), "what stays is not carried too: {carry_forward_events:?}");
    assert_eq!(next.messages[1], leased.messages[0], "the queue message, as it was");
    assert_eq!(next.messages[2], leased.messages[2], "the signal, as it was");
}

/// The end of an instance does not take its unread mail away.
pub async fn test_unread_messages_of_an_ended_instance_stay<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "read")).await;
    store.post(signal("a", "unread")).await;
    let leased = lease(&store, "a").await;
    commit(&store, reading(&leased, &[0], Ack::of("a", 1).completing(2))).await;
    let next = lease(&store, "a").await;
    assert_eq!(signals(&next.messages), ["unread"]);
    assert_eq!(store.event_ids("a", 1).await, [1, 2]);
}

/// A commit that is refused consumes nothing, not even what it names: under a lost lease, and where the history has
/// moved on.
pub async fn test_refused_commit_consumes_nothing<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "one")).await;
    store.post(signal("a", "two")).await;
    let ran_out = lease(&store, "a").await;
    store.expire_leases().await;
    let held = lease(&store, "a").await;
    let before = Written::of(&store, "a").await;

    let stale = try_commit(&store, reading(&ran_out, &[0], writing_everywhere("a", 2))).await;
    assert_rejected_as(&stale, Rejection::LeaseLost, "a commit under a lease that ran out");
    assert_written_nowhere(&store, "a", &before).await;
    let recorded = try_commit(&store, reading(&held, &[0], writing_everywhere("a", 1))).await;
    assert_rejected_as(&recorded, Rejection::Conflict, "a turn whose first event is recorded already");
    assert_written_nowhere(&store, "a", &before).await;

    store.expire_leases().await;
    let last = lease(&store, "a").await;
    assert_eq!(signals(&last.messages), ["one", "two"], "nothing was consumed");
    commit(&store, under(&last, writing_everywhere("a", 2))).await;
    assert_written_everywhere(&store, "a", 2).await;
}

/// A commit can consume only what its lease handed out: naming a message of somebody else takes nothing from them.
pub async fn test_commit_consumes_only_mail_of_its_lease<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.create("b").await;
    store.post(signal("b", "theirs")).await;
    let theirs = lease(&store, "b").await;
    store.post(signal("a", "mine")).await;
    let mine = lease(&store, "a").await;
    store.abandon_orchestration_item(&theirs.token, None, true).await.expect("the lease is held");

    let named = vec![mine.messages[0].id, theirs.messages[0].id];
    let greedy =
        TurnCommit { consumed: Consumed::These(named), ..under(&mine, Ack::of("a", 1).signalled(2)) };
    // Whether the rest of the turn counts is the store's business; what is not in the batch is not its to take.
    let answer = try_commit(&store, greedy).await;
    let events: &[u64] = if answer.is_ok() { &[1, 2] } else { &[1] };
    assert_eq!(store.event_ids("a", 1).await, events, "{answer:?}");
    let again = lease(&store, "b").await;
    assert_eq!(again.messages, theirs.messages, "the other instance still has its mail");
}

/// A turn of one instance is not committed under the lease of another.
pub async fn test_lease_is_good_for_its_instance_only<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.create("b").await;
    store.post(signal("a", "next")).await;
    let leased = lease(&store, "a").await;
    let before = (Written::of(&store, "a").await, Written::of(&store, "b").await);
    let foreign = try_commit(&store, under(&leased, writing_everywhere("b", 2))).await;
    assert_rejected_as(&foreign, Rejection::Invalid, "a turn of another instance");
    assert_written_nowhere(&store, "a", &before.0).await;
    assert_written_nowhere(&store, "b", &before.1).await;
    commit(&store, under(&leased, writing_everywhere("a", 2))).await;
    assert_written_everywhere(&store, "a", 2).await;
}

/// A lease hands out at most 1,000 messages, what starts the instance first. The rest stays queued, and its attempts are
/// not counted.
pub async fn test_lease_hands_out_a_bounded_number_of_messages<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let sent: Vec<String> = (0..=BATCH_MESSAGES).map(|number| number.to_string()).collect();
    let mail = sent.iter().fold(Ack::first("sender"), |turn, data| turn.mail(signal("a", data)));
    store.begin(mail.mail(start("a"))).await;

    let first = lease(&store, "a").await;
    let size = first.messages.len();
    assert!(size <= BATCH_MESSAGES, "a lease handed out {size} messages");
    assert_eq!(first.messages[0].item, start("a"), "the start came last, and is handed out first");
    assert_eq!(signals(&first.messages), sent[..size - 1]);
    store.expire_leases().await;

    let again = lease(&store, "a").await;
    assert_eq!(again.messages.len(), size);
    assert_eq!(again.attempt, 2);
    commit(&store, under(&again, Ack::first("a"))).await;
    let rest = lease(&store, "a").await;
    let received = signals(&rest.messages);
    assert_eq!(received, sent[size - 1..size - 1 + received.len()], "what was not handed out comes next");
    assert_eq!(rest.attempt, 1, "what was not handed out was not tried");
}

/// A lease hands out no further message once 4 MiB are reached, but always one.
pub async fn test_lease_hands_out_a_bounded_size_of_messages<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    let large = |number: u32, size: usize| format!("{number}").repeat(size);
    let sent = [large(1, 2 * BATCH_BYTES), large(2, BATCH_BYTES), large(3, BATCH_BYTES / 2), large(4, 10)];
    for data in &sent {
        store.post(signal("a", data)).await;
    }
    let mut received = Vec::new();
    while received.len() < sent.len() {
        let leased = lease(&store, "a").await;
        let sizes: Vec<usize> = signals(&leased.messages).into_iter().map(str::len).collect();
        let before_the_last: usize = sizes.iter().rev().skip(1).sum();
        assert!(before_the_last < BATCH_BYTES, "a message was added to 4 MiB: {sizes:?}");
        received.extend(signals(&leased.messages).into_iter().map(str::to_owned));
        commit(&store, under(&leased, Ack::of("a", 1))).await;
    }
    assert!(received == sent, "all messages come, in their order");
    store.assert_no_turn("everything was read").await;
}
