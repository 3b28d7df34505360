//! Leases that come with a commit.

use std::time::Duration;

use abide_provider::{InstanceLease, NextLease, Turn, TurnCommit};

use super::calls::{commit, lease, lease_all, names, signals, under};
use crate::ProviderFactory;
use crate::support::{Ack, Subject, signal, start};

/// A turn whose caller would take the next one.
fn going_on(lease: &InstanceLease, ack: Ack) -> TurnCommit {
    let commit = under(lease, ack);
    let next = Some(NextLease { lease_for: Duration::from_secs(60), capabilities: None, serving: None });
    TurnCommit { turn: Turn { next, ..commit.turn }, ..commit }
}

/// What comes with the commit of a turn, whether or not the store gives anything, is the lease that anybody would have been given: on the
/// mail that the turn left, and good for one turn.
pub async fn test_next_turn_is_leased_by_the_commit_or_by_whoever_asks<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    let first = lease(&store, "a").await;
    store.post(signal("a", "meanwhile")).await;
    let committed = commit(&store, going_on(&first, Ack::first("a"))).await;
    let next = match committed.next {
        Some(next) => *next,
        None => lease(&store, "a").await,
    };
    assert_eq!((next.instance.as_str(), next.attempt), ("a", 1));
    assert_eq!((next.position.execution_id, next.position.last_event_id), (1, 1));
    assert_eq!(signals(&next.messages), ["meanwhile"]);
    assert_ne!(next.token, first.token, "every lease has its own token");
    store.assert_no_turn("the next turn is leased already").await;
    let last = commit(&store, going_on(&next, Ack::of("a", 1).signalled(2))).await;
    assert_eq!(last.next, None, "there is no more mail");
    assert_eq!(store.event_ids("a", 1).await, [1, 2]);
    store.assert_no_turn("there is no more mail").await;
}

/// One busy instance does not keep the others waiting: the next turn is nobody's if another instance has waited for longer.
pub async fn test_next_turn_does_not_pass_who_waits_for_longer<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    let first = lease(&store, "a").await;
    store.post(start("b")).await;
    store.post(signal("a", "later")).await;
    let committed = commit(&store, going_on(&first, Ack::first("a"))).await;
    assert_eq!(committed.next, None, "'b' has waited for longer");
    assert_eq!(names(&lease_all(&store).await), ["a", "b"]);
}
