//! When something becomes leasable by the passing of time alone.
//!
//! A due time may be too early, never too late: who sleeps until then and looks again finds everything in time.

use std::time::Duration;

use abide_model::Timestamp;
use abide_provider::{Ability, InstanceLease, Lane, LeaseWork, WorkLease};

use crate::ProviderFactory;
use crate::batches::calls::{
    commit, jobs, lease, lease_job, lease_jobs, signals, try_finish, try_lease, under,
};
use crate::suite::area;
use crate::support::{Ack, Subject, activity, activity_with, signal, start, timer, worker};

area! {
    due_times;
    test_nothing_is_due_in_an_empty_store: Need::Ability(Ability::DueTimes);
    test_due_times_lead_to_a_timer: Need::Ability(Ability::DueTimes);
    test_due_times_lead_to_the_earliest_of_several: Need::Ability(Ability::DueTimes);
    test_due_times_lead_to_delayed_messages: Need::Ability(Ability::DueTimes);
    test_due_times_lead_to_the_end_of_a_lease_on_an_instance: Need::Ability(Ability::DueTimes);
    test_due_times_lead_to_mail_behind_a_lease: Need::Ability(Ability::DueTimes);
    test_due_times_lead_to_delayed_work: Need::Ability(Ability::DueTimes);
    test_due_times_lead_to_the_end_of_a_lease_on_work: Need::Ability(Ability::DueTimes);
    test_due_times_lead_to_a_session_that_becomes_free: Need::Ability(Ability::DueTimes);
    test_what_is_done_is_not_due: Need::Ability(Ability::DueTimes);
}

/// Looking again so often without finding anything is a busy loop.
const LOOKS: usize = 50;

/// Where nothing waits, nothing will come by time alone.
pub async fn test_nothing_is_due_in_an_empty_store<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for lane in [Lane::Instances, Lane::Work] {
        assert_eq!(due(&store, lane).await, None, "{lane:?}: the store is empty");
    }
}

/// A timer is due when it fires.
pub async fn test_due_times_lead_to_a_timer<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let fire_at = after(&store, 2);
    store.begin(Ack::first("a").mail(timer("a", 2, fire_at.as_millis()))).await;
    let leased = follow_instances(&store, fire_at).await;
    assert_eq!(leased.messages[0].item, timer("a", 2, fire_at.as_millis()));
    assert!(store.now_ms() >= fire_at.as_millis(), "a timer never fires early");
}

/// Of several times the earliest is due, whichever was set first, and then the next.
pub async fn test_due_times_lead_to_the_earliest_of_several<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let (first, second, third) = (after(&store, 2), after(&store, 4), after(&store, 6));
    store.begin(Ack::first("late").mail(timer("late", 2, third.as_millis()))).await;
    store.begin(Ack::first("early").mail(timer("early", 2, first.as_millis()))).await;
    store.begin(Ack::first("middle").mail(timer("middle", 2, second.as_millis()))).await;
    for (instance, fire_at) in [("early", first), ("middle", second), ("late", third)] {
        let leased = follow_instances(&store, fire_at).await;
        assert_eq!(leased.instance, instance);
        commit(&store, under(&leased, Ack::of(instance, 1))).await;
    }
}

/// A message that was sent with a delay, or put off by who leased it, is due when it becomes visible.
pub async fn test_due_times_lead_to_delayed_messages<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    let delay = store.lock() * 2;
    let sent = store.enqueue_for_orchestrator(signal("a", "delayed"), Some(delay)).await;
    sent.expect("a message is enqueued");
    let leased = follow_instances(&store, after(&store, 2)).await;
    assert_eq!(signals(&leased.messages), ["delayed"]);

    let put_off = store.abandon_orchestration_item(&leased.token, Some(delay), false).await;
    put_off.expect("the lease is held");
    let again = follow_instances(&store, after(&store, 2)).await;
    assert_eq!(again.attempt, 2);
}

/// A leased instance is due when its lease ends.
pub async fn test_due_times_lead_to_the_end_of_a_lease_on_an_instance<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    let first = lease(&store, "a").await;
    let again = follow_instances(&store, after(&store, 1)).await;
    assert_eq!((again.instance.as_str(), again.attempt), ("a", 2));
    assert_ne!(again.token, first.token);
}

/// A timer that fires while its instance is leased is found when the lease ends.
pub async fn test_due_times_lead_to_mail_behind_a_lease<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let fire_at = store.now_ms() + millis(store.lock() / 2);
    store.begin(Ack::first("a").mail(timer("a", 2, fire_at))).await;
    store.post(signal("a", "next")).await;
    lease(&store, "a").await;
    let again = follow_instances(&store, after(&store, 1)).await;
    assert_eq!(again.messages.len(), 2, "the signal and the timer: {:?}", again.messages);
}

/// An activity that was put off is due when it becomes visible again.
pub async fn test_due_times_lead_to_delayed_work<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post_work(activity("a", 2)).await;
    let leased = lease_job(&store).await;
    let put_off = store.abandon_work_item(&leased.token, Some(store.lock() * 2), false).await;
    put_off.expect("the lease is held");
    let again = follow_work(&store, jobs(&store, 1), after(&store, 2)).await;
    assert_eq!(again.attempt, 2);
}

/// A leased activity is due when its lease ends, also if that was put off by a renewal.
pub async fn test_due_times_lead_to_the_end_of_a_lease_on_work<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post_work(activity("a", 2)).await;
    let leased = lease_job(&store).await;
    store.renew_work_item_lock(&leased.token, store.lock() * 2).await.expect("the lease is held");
    let again = follow_work(&store, jobs(&store, 1), after(&store, 2)).await;
    assert_eq!(again.attempt, 2);
}

/// Activities of a session that belongs to somebody else are due when that ends.
pub async fn test_due_times_lead_to_a_session_that_becomes_free<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post_work(activity_with("a", 2, Some("s"), None)).await;
    store.post_work(activity_with("a", 3, Some("s"), None)).await;
    let owned = |owner: &str| LeaseWork { session: Some(worker(owner, store.lock() * 2)), ..jobs(&store, 1) };
    let first = lease_jobs(&store, owned("me")).await.pop().expect("the session is free");
    try_finish(&store, &first.token, None).await.expect("the lease is held");
    assert!(lease_jobs(&store, owned("you")).await.is_empty(), "the session is somebody else's");
    let second = follow_work(&store, owned("you"), after(&store, 2)).await;
    assert_eq!(second.item, activity_with("a", 3, Some("s"), None));
}

/// Where nothing can be leased, no time is named that has come: that would be a busy loop. It does not matter what was
/// there: a timer that fired, work that was finished, a session that ended, a timer of nobody.
pub async fn test_what_is_done_is_not_due<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let fire_at = after(&store, 1);
    store.post(timer("nobody", 2, fire_at.as_millis())).await;
    store.begin(Ack::first("a").scheduling(activity("a", 2)).mail(timer("a", 3, fire_at.as_millis()))).await;
    store.post_work(activity_with("a", 4, Some("s"), None)).await;
    let in_session = LeaseWork { session: Some(worker("me", store.lock())), ..jobs(&store, 1) };
    for _ in 0..2 {
        let job = lease_jobs(&store, in_session.clone()).await.pop().expect("there is work");
        try_finish(&store, &job.token, None).await.expect("the lease is held");
    }
    let fired = follow_instances(&store, fire_at).await;
    commit(&store, under(&fired, Ack::of("a", 1).signalled(4))).await;
    store.pass(store.lock() * 2).await;
    for lane in [Lane::Instances, Lane::Work] {
        assert!(try_lease(&store).await.is_none(), "everything is done");
        assert!(lease_jobs(&store, in_session.clone()).await.is_empty(), "everything is done");
        let due = due(&store, lane).await;
        assert!(due.is_none_or(|due| due.as_millis() > store.now_ms()), "{lane:?}: {due:?} has come");
    }
}

async fn due(store: &Subject<'_>, lane: Lane) -> Option<Timestamp> {
    store.next_due(lane).await.expect("the due time can be asked for")
}

/// So many lease times from now, and what the calls took that came before.
fn after(store: &Subject<'_>, locks: u32) -> Timestamp {
    Timestamp::from_millis(store.now_ms()).saturating_add(store.lock() * locks)
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).expect("a short time")
}

/// Sleeps from due time to due time, as a dispatcher does, until there is an instance to lease. None may be later
/// than this.
async fn follow_instances(store: &Subject<'_>, latest: Timestamp) -> InstanceLease {
    for _ in 0..LOOKS {
        if let Some(leased) = try_lease(store).await {
            return leased;
        }
        sleep_until_due(store, Lane::Instances, latest).await;
    }
    panic!("the due times do not lead to the instance that is due at {latest:?}")
}

/// The same for activities.
async fn follow_work(store: &Subject<'_>, request: LeaseWork, latest: Timestamp) -> WorkLease {
    for _ in 0..LOOKS {
        if let Some(leased) = lease_jobs(store, request.clone()).await.pop() {
            return leased;
        }
        sleep_until_due(store, Lane::Work, latest).await;
    }
    panic!("the due times do not lead to the activity that is due at {latest:?}")
}

async fn sleep_until_due(store: &Subject<'_>, lane: Lane, latest: Timestamp) {
    // A store's clock is not quite ours, and times are whole milliseconds.
    const TOLERANCE: Duration = Duration::from_millis(20);
    let due = due(store, lane).await;
    let due = due.unwrap_or_else(|| panic!("{lane:?}: something is due at {latest:?}, and no time is named"));
    assert!(
        due <= latest.saturating_add(TOLERANCE),
        "{lane:?}: {due:?} is too late, it is due at {latest:?}"
    );
    let now = Timestamp::from_millis(store.now_ms());
    store.pass(due.saturating_duration_since(now).max(Duration::from_millis(5))).await;
}
