//! Timers that nobody waits for are removed.

use abide_model::WorkItem;
use abide_provider::{Ability, InstanceLease, Rejection, TurnCommit};

use crate::ProviderFactory;
use crate::batches::calls::{
    assert_rejected_as, commit, lease, lease_all, names, signals, try_commit, under,
};
use crate::suite::area;
use crate::support::{Ack, Subject, completed, signal, timer};

area! {
    timer_removal;
    test_named_timers_are_removed: Need::Ability(Ability::TimerRemoval);
    test_timers_that_are_due_are_removed_too: Need::Ability(Ability::TimerRemoval);
    test_timer_removed_by_the_turn_that_sets_it_never_fires: Need::Ability(Ability::TimerRemoval);
    test_end_of_an_execution_removes_its_timers: Need::Ability(Ability::TimerRemoval);
    test_removing_timers_spares_everything_else: Need::Ability(Ability::TimerRemoval);
    test_removing_unknown_timers_is_no_error: Need::Ability(Ability::TimerRemoval);
    test_refused_commit_removes_no_timers: Need::Ability(Ability::TimerRemoval);
}

/// Timers that a turn names, by the event that created them, never fire. The others do.
pub async fn test_named_timers_are_removed<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    begin_with_timers(&store, "a", &[2, 3, 4, 5]).await;
    remove(&store, "a", &[3, 5]).await;
    pass_to_timers(&store).await;
    assert_eq!(timers(&lease(&store, "a").await), [2, 4]);
}

/// A timer that is due, but not yet handed out, is removed like any other.
pub async fn test_timers_that_are_due_are_removed_too<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    begin_with_timers(&store, "a", &[2, 3]).await;
    store.post(signal("a", "next")).await;
    let leased = lease(&store, "a").await;
    assert!(timers(&leased).is_empty(), "no timer is due yet: {leased:?}");
    store.renew_orchestration_item_lock(&leased.token, store.lock() * 4).await.expect("the lease is held");
    pass_to_timers(&store).await;
    commit(&store, removing(under(&leased, Ack::of("a", 1)), &[2])).await;
    assert_eq!(timers(&lease(&store, "a").await), [3]);
}

/// A turn that sets a timer and drops it leaves none: messages are enqueued first, timers removed after.
pub async fn test_timer_removed_by_the_turn_that_sets_it_never_fires<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "next")).await;
    let leased = lease(&store, "a").await;
    let now = store.now_ms();
    let turn = Ack::of("a", 1).mail(timer("a", 2, now)).mail(timer("a", 3, now));
    commit(&store, removing(under(&leased, turn), &[2])).await;
    assert_eq!(timers(&lease(&store, "a").await), [3]);
}

/// The end of an execution, whichever it is, removes all of its timers without naming them, by a commit and by an
/// ack.
pub async fn test_end_of_an_execution_removes_its_timers<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for instance in ["completed", "failed", "continued", "acked"] {
        begin_with_timers(&store, instance, &[2, 3]).await;
    }
    for turn in [
        Ack::of("completed", 1).completing(4),
        Ack::of("failed", 1).failing(4),
        Ack::of("continued", 1).continuing(4),
    ] {
        let instance = turn.instance.clone();
        store.post(signal(&instance, "end")).await;
        let leased = lease(&store, &instance).await;
        commit(&store, under(&leased, turn)).await;
        if instance == "continued" {
            let next = lease(&store, &instance).await;
            commit(&store, under(&next, Ack::first_of(&instance, 2))).await;
        }
    }
    store.step(Ack::of("acked", 1).completing(4)).await;

    pass_to_timers(&store).await;
    let fired = lease_all(&store).await;
    assert!(fired.is_empty(), "the executions that set these timers have ended: {fired:?}");
}

/// Removing timers takes no others: not those of other instances with the same number, not those of the next
/// execution, and no mail that is not a timer.
pub async fn test_removing_timers_spares_everything_else<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    begin_with_timers(&store, "a", &[2, 3]).await;
    begin_with_timers(&store, "b", &[2, 3]).await;
    store.post(signal("a", "next")).await;
    let leased = lease(&store, "a").await;
    store.post(completed("a", 2)).await;
    store.post(signal("a", "later")).await;
    commit(&store, removing(under(&leased, Ack::of("a", 1)), &[2])).await;

    let next = lease(&store, "a").await;
    assert_eq!(next.messages.len(), 2, "mail that is no timer stays: {:?}", next.messages);
    assert_eq!(next.messages[0].item, completed("a", 2), "the completion of an event is not its timer");
    assert_eq!(signals(&next.messages), ["later"]);
    let of_the_next =
        WorkItem::TimerFired { instance: "a".to_owned(), execution_id: 2, id: 3, fire_at_ms: store.now_ms() };
    store.post(of_the_next.clone()).await;
    commit(&store, under(&next, Ack::of("a", 1).continuing(4))).await;
    let successor = lease(&store, "a").await;
    let items: Vec<&WorkItem> = successor.messages.iter().map(|message| &message.item).collect();
    assert_eq!(items[1..], [&of_the_next], "the end of an execution removes its own timers");

    pass_to_timers(&store).await;
    let fired = lease_all(&store).await;
    let theirs = fired.iter().find(|lease| lease.instance == "b");
    let theirs = theirs.unwrap_or_else(|| panic!("the other instance's timers fire: {:?}", names(&fired)));
    assert_eq!(timers(theirs), [2, 3]);
}

/// A timer that is not there is not missed: it has fired, or never was.
pub async fn test_removing_unknown_timers_is_no_error<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    begin_with_timers(&store, "a", &[2]).await;
    pass_to_timers(&store).await;
    let leased = lease(&store, "a").await;
    assert_eq!(timers(&leased), [2]);
    commit(&store, removing(under(&leased, Ack::of("a", 1).signalled(3)), &[2, 77])).await;
    assert_eq!(store.event_ids("a", 1).await, [1, 3], "the turn is committed all the same");
    remove(&store, "a", &[2]).await;
    store.assert_no_turn("no timer is left").await;
}

/// A commit that is refused removes no timers: neither those it names nor those of the end it asks for.
pub async fn test_refused_commit_removes_no_timers<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    begin_with_timers(&store, "a", &[2, 3]).await;
    store.post(signal("a", "next")).await;
    let held = lease(&store, "a").await;
    let lost = InstanceLease { token: "no-such-token".to_owned(), ..held.clone() };
    let stale = try_commit(&store, removing(under(&lost, Ack::of("a", 1)), &[2])).await;
    assert_rejected_as(&stale, Rejection::LeaseLost, "a token that is unknown");
    let ending = try_commit(&store, under(&lost, Ack::of("a", 1).completing(4))).await;
    assert_rejected_as(&ending, Rejection::LeaseLost, "a token that is unknown");
    let recorded = try_commit(&store, removing(under(&held, Ack::of("a", 1).completing(1)), &[2])).await;
    assert_rejected_as(&recorded, Rejection::Conflict, "an event that is recorded already");

    commit(&store, under(&held, Ack::of("a", 1))).await;
    pass_to_timers(&store).await;
    assert_eq!(timers(&lease(&store, "a").await), [2, 3]);
}

/// An instance with timers of these events, which are not due yet.
async fn begin_with_timers(store: &Subject<'_>, instance: &str, events: &[u64]) {
    let fire_at = store.now_ms() + u64::try_from(store.lock().as_millis()).expect("a short time");
    let turn = events.iter().fold(Ack::first(instance), |turn, id| turn.mail(timer(instance, *id, fire_at)));
    store.begin(turn).await;
}

/// Lets the timers become due.
async fn pass_to_timers(store: &Subject<'_>) {
    store.pass(store.lock() * 5 / 4).await;
}

fn removing(mut commit: TurnCommit, timers: &[u64]) -> TurnCommit {
    commit.turn.removed_timers = timers.to_vec();
    commit
}

/// Runs a turn that removes these timers.
async fn remove(store: &Subject<'_>, instance: &str, timers: &[u64]) {
    store.post(signal(instance, "remove")).await;
    let leased = lease(store, instance).await;
    commit(store, removing(under(&leased, Ack::of(instance, 1)), timers)).await;
}

/// The events behind the timers in a lease.
fn timers(lease: &InstanceLease) -> Vec<u64> {
    let ids = lease.messages.iter().filter_map(|message| {
        if let WorkItem::TimerFired { id, .. } = message.item { Some(id) } else { None }
    });
    ids.collect()
}
