//! Committing turns.

use abide_model::{ExecutionStatus, WorkItem};
use abide_provider::{Authority, Consumed, InstanceLease, Position, Rejection, TurnCommit};

use super::calls::{
    Written, assert_rejected, assert_rejected_as, assert_written_everywhere, assert_written_nowhere, commit,
    lease, lease_all, lease_job, reading, signals, try_commit, try_finish, turn_of, under,
    writing_everywhere,
};
use crate::ProviderFactory;
use crate::support::{
    Ack, Subject, activity, completed, event, identifier, queue_message, signal, start, started,
};

/// Every turn of a batch is committed for itself: one answer for each, in order, and one that is refused costs the
/// others nothing.
pub async fn test_commit_turns_answers_each_in_order<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for instance in ["a", "b", "c", "d"] {
        store.post(start(instance)).await;
    }
    let mut leases = lease_all(&store).await;
    leases.sort_by(|one, other| one.instance.cmp(&other.instance));
    let [a, b, c, d] = leases.as_slice() else {
        panic!("four instances have mail, and these were leased: {leases:?}");
    };
    let unknown = InstanceLease { token: "no-such-token".to_owned(), ..b.clone() };
    let without_number = Ack::of("c", 1).named("Order", "1.0.0").event(0, started());
    let turns = vec![
        under(a, Ack::first("a")),
        under(&unknown, Ack::first("b")),
        under(d, Ack::first("d").scheduling(activity("d", 2))),
        under(c, without_number),
    ];
    let answers = store.commit_turns(turns).await;

    assert_eq!(answers.len(), 4, "one answer for each turn");
    assert!(answers[0].is_ok(), "the first turn is in order: {:?}", answers[0]);
    assert_rejected(&answers[1], "the second turn, whose token is unknown");
    assert!(answers[2].is_ok(), "the third turn is in order: {:?}", answers[2]);
    assert_rejected(&answers[3], "the last turn, whose event has no number");
    assert_eq!(store.event_ids("a", 1).await, [1]);
    assert!(store.history("b").await.is_empty(), "a refused turn writes nothing");
    assert!(store.history("c").await.is_empty(), "a refused turn writes nothing");
    assert_eq!(store.event_ids("d", 1).await, [1, 2]);
    assert_eq!(store.fetch_work().await.id(), 2, "the third turn's activity is there");

    commit(&store, under(b, Ack::first("b"))).await;
    commit(&store, under(c, Ack::first("c"))).await;
    store.assert_no_turn("every turn is committed").await;
}

/// A batch of nothing is answered with nothing.
pub async fn test_commit_turns_and_finish_work_of_nothing_answer_nothing<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    assert!(store.commit_turns(Vec::new()).await.is_empty());
    assert!(store.finish_work(Vec::new()).await.is_empty());
}

/// A committed turn is written as an ack would write it: events, metadata, custom status, values, activities,
/// revoked activities and messages; the mail is consumed and the lease is over.
pub async fn test_commit_turns_writes_everything_a_turn_says<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").scheduling(activity("a", 2))).await;
    store.post(signal("a", "next")).await;
    let leased = lease(&store, "a").await;
    let turn = writing_everywhere("a", 3).named("Invoice", "2.0.0").cancelling(identifier("a", 2));
    commit(&store, under(&leased, turn)).await;

    let again = try_commit(&store, under(&leased, Ack::of("a", 1).signalled(9))).await;
    assert_rejected(&again, "a second commit under the same lease");
    assert_written_everywhere(&store, "a", 3).await;
    store.post(signal("a", "last")).await;
    let next = lease(&store, "a").await;
    assert_eq!(signals(&next.messages), ["last"], "the leased mail was consumed");
    assert_eq!((next.orchestration_name.as_str(), next.orchestration_version.as_str()), ("Invoice", "2.0.0"));

    commit(&store, under(&next, Ack::of("a", 1).completing(6).mail(signal("b", "hello")).mail(start("b"))))
        .await;
    assert_eq!(signals(&lease(&store, "b").await.messages), ["hello"], "mail for others is sent");
    store.post(signal("a", "late")).await;
    assert_eq!(lease(&store, "a").await.status, Some(ExecutionStatus::Completed));
}

/// A turn that is refused writes nothing, and its lease stays: the same turn, put right, is committed under it.
pub async fn test_refused_turn_writes_nothing<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "next")).await;
    let leased = lease(&store, "a").await;
    let before = Written::of(&store, "a").await;

    let mut unnumbered = writing_everywhere("a", 2);
    unnumbered.events.push(event("a", 1, 0, started()));
    assert_rejected(&try_commit(&store, under(&leased, unnumbered)).await, "an event without a number");
    assert_written_nowhere(&store, "a", &before).await;

    let mut recorded = writing_everywhere("a", 2);
    recorded.events.insert(0, event("a", 1, 1, started()));
    assert_rejected(&try_commit(&store, under(&leased, recorded)).await, "an event that is recorded already");
    assert_written_nowhere(&store, "a", &before).await;

    commit(&store, under(&leased, writing_everywhere("a", 2))).await;
    assert_written_everywhere(&store, "a", 2).await;
}

/// Who holds no lease any more commits nothing: it ran out, and its mail is leased to another; or it was given
/// back.
pub async fn test_stale_commit_writes_nothing<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "next")).await;
    let ran_out = lease(&store, "a").await;
    store.expire_leases().await;
    let late = try_commit(&store, under(&ran_out, writing_everywhere("a", 2))).await;
    assert_rejected(&late, "a commit under a lease that ran out, although nobody else has one");
    let given_back = lease(&store, "a").await;
    store.abandon_orchestration_item(&given_back.token, None, false).await.expect("the lease is held");
    let held = lease(&store, "a").await;
    assert_eq!(held.attempt, 3);

    let before = Written::of(&store, "a").await;
    for (stale, what) in [(&ran_out, "a lease that ran out"), (&given_back, "a lease that was given back")] {
        assert_rejected(&try_commit(&store, under(stale, writing_everywhere("a", 2))).await, what);
        assert_written_nowhere(&store, "a", &before).await;
    }
    assert_eq!(signals(&held.messages), ["next"], "nobody consumed the mail");
    commit(&store, under(&held, writing_everywhere("a", 2))).await;
    assert_written_everywhere(&store, "a", 2).await;
}

/// A commit consumes the mail that was leased. What came later stays, for the next lease.
pub async fn test_commit_turns_takes_only_the_leased_mail<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "leased")).await;
    let leased = lease(&store, "a").await;
    store.post(signal("a", "later")).await;
    commit(&store, under(&leased, Ack::of("a", 1).signalled(2))).await;
    let next = lease(&store, "a").await;
    assert_eq!(signals(&next.messages), ["later"]);
    assert_eq!(next.attempt, 1, "it was not leased before");
    commit(&store, under(&next, Ack::of("a", 1).signalled(3))).await;
    store.assert_no_turn("all mail was consumed").await;
}

/// A fused step that does not fit, because the store has none or because the instance stands elsewhere, is refused
/// as busy and writes nothing: the activity is still leased, and is finished the plain way.
pub async fn test_fused_step_that_does_not_fit_is_busy<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").scheduling(activity("a", 2))).await;
    let job = lease_job(&store).await;
    let expected = Position { incarnation: u64::MAX / 4, execution_id: 1, last_event_id: 1 };
    let step = TurnCommit {
        instance: "a".to_owned(),
        authority: Authority::FinishedWork { token: job.token.clone(), expected },
        consumed: Consumed::All,
        left: Vec::new(),
        turn: turn_of(writing_everywhere("a", 3)),
    };
    let before = Written::of(&store, "a").await;
    assert_rejected_as(&try_commit(&store, step).await, Rejection::Busy, "a fused step that does not fit");
    assert_written_nowhere(&store, "a", &before).await;
    try_finish(&store, &job.token, Some(completed("a", 2))).await.expect("the lease is held");
    assert_eq!(store.fetch("a").await.item.messages, [completed("a", 2)]);
}

/// Messages that a turn did not read are delivered again, in their order, without an attempt counted; those that it
/// read are not. A store sends them again, or leaves them where they are.
pub async fn test_unread_messages_are_delivered_again<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    for data in ["one", "two", "three", "four"] {
        store.post(signal("a", data)).await;
    }
    let leased = lease(&store, "a").await;
    commit(&store, reading(&leased, &[1], Ack::of("a", 1).signalled(2))).await;
    let next = lease(&store, "a").await;
    assert_eq!(signals(&next.messages), ["one", "three", "four"]);
    assert_eq!(next.attempt, 1, "an unread message was not tried");
    assert_eq!(store.event_ids("a", 1).await, [1, 2], "what the turn did is committed all the same");

    commit(&store, reading(&next, &[], Ack::of("a", 1).signalled(3))).await;
    let last = lease(&store, "a").await;
    assert_eq!(signals(&last.messages), ["one", "three", "four"], "a turn may read nothing");
    commit(&store, reading(&last, &[0, 1, 2], Ack::of("a", 1).signalled(4))).await;
    store.assert_no_turn("everything was read").await;
}

/// Messages that an execution leaves unread when it continues as new reach its successor, each once: queue messages
/// as mail or in the carry list, others as mail.
pub async fn test_unread_messages_of_a_continuing_instance_are_delivered_again<F: ProviderFactory>(
    factory: &F,
) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(queue_message("a", "q1")).await;
    store.post(signal("a", "read")).await;
    store.post(signal("a", "unread")).await;
    store.post(queue_message("a", "q2")).await;
    let leased = lease(&store, "a").await;
    let continuing = reading(&leased, &[1], Ack::of("a", 1).continuing(2));
    assert_eq!(continuing.left.len(), 3);
    assert!(matches!(&continuing.consumed, Consumed::These(read) if read.len() == 1));
    commit(&store, continuing).await;

    let next = lease(&store, "a").await;
    let first = &next.messages[0].item;
    let WorkItem::ContinueAsNew { carry_forward_events, .. } = first else {
        panic!("the successor's start comes first, but this did: {first:?}");
    };
    let mut queue: Vec<&str> = carry_forward_events.iter().map(|(_, data)| data.as_str()).collect();
    queue.extend(next.messages.iter().filter_map(|message| {
        if let WorkItem::QueueMessage { data, .. } = &message.item { Some(data.as_str()) } else { None }
    }));
    assert_eq!(queue, ["q1", "q2"], "queue messages are read by whoever reads next");
    assert_eq!(signals(&next.messages), ["unread"]);
    commit(&store, under(&next, Ack::first_of("a", 2))).await;
    store.assert_no_turn("all mail was consumed").await;
}
