//! What wakes a call that waits.

use std::time::Duration;

use abide_provider::{FinishedWork, LeaseWork, TagFilter};
use futures_util::future::{join, join_all};

use super::waiting::{LONG, MOMENT, Waited, instances, promptly, woken_by, work};
use crate::ProviderFactory;
use crate::batches::calls::{activities, names, signals};
use crate::factory::real_time;
use crate::support::{Ack, activity, activity_with, completed, queue_message, signal, start, timer, worker};

/// A message wakes who waits for instances.
pub async fn test_new_mail_wakes_who_waits<F: ProviderFactory>(factory: &F) {
    let store = Waited::new(factory).await;
    let leases =
        woken_by(store.post(start("a")), store.lease_instances(LONG), "the start of an instance").await;
    assert_eq!(names(&leases), ["a"]);
    assert_eq!(leases[0].attempt, 1);
    store.commit(&leases[0], Ack::first("a")).await;
    let leases = woken_by(store.post(signal("a", "go")), store.lease_instances(LONG), "a signal").await;
    assert_eq!(signals(&leases[0].messages), ["go"]);
}

/// An activity wakes who waits for work.
pub async fn test_new_work_wakes_who_waits<F: ProviderFactory>(factory: &F) {
    let store = Waited::new(factory).await;
    let leases = woken_by(store.post_work(activity("a", 2)), store.lease_work(LONG), "an activity").await;
    assert_eq!(activities(&leases), [2]);
    assert_eq!(leases[0].attempt, 1);
}

/// A commit wakes who waits for the activities and the messages that it sends.
pub async fn test_commit_wakes_who_waits_for_what_it_sends<F: ProviderFactory>(factory: &F) {
    let store = Waited::new(factory).await;
    store.post(start("a")).await;
    let leased = store.lease_instances(Duration::ZERO).await.pop().expect("the instance has mail");
    let turn = Ack::first("a").scheduling(activity("a", 2)).mail(start("b"));
    let both = join(store.lease_instances(LONG), store.lease_work(LONG));
    let (instances, work) = woken_by(store.commit(&leased, turn), both, "a commit").await;
    assert_eq!(names(&instances), ["b"]);
    assert_eq!(activities(&work), [2]);
}

/// The end of an activity wakes who waits for the instance that asked for it.
pub async fn test_finished_activity_wakes_who_waits_for_its_instance<F: ProviderFactory>(factory: &F) {
    let store = Waited::new(factory).await;
    store.create("a").await;
    store.post_work(activity("a", 2)).await;
    let job = store.lease_work(Duration::ZERO).await.pop().expect("there is work");
    let finish = async {
        let finished = FinishedWork { token: job.token.clone(), completion: Some(completed("a", 2)) };
        let answers = store.provider.finish_work(vec![finished]).await;
        assert_eq!(answers, [Ok(())]);
    };
    let leases = woken_by(finish, store.lease_instances(LONG), "the end of an activity").await;
    assert_eq!(leases[0].messages[0].item, completed("a", 2));
}

/// A lease that is given back wakes who waits for an instance.
pub async fn test_lease_on_an_instance_given_back_wakes_who_waits<F: ProviderFactory>(factory: &F) {
    let store = Waited::new(factory).await;
    store.post(start("a")).await;
    let held = store.lease_instances(Duration::ZERO).await.pop().expect("the instance has mail");
    let give_back = async {
        let abandoned = store.provider.abandon_orchestration_item(&held.token, None, false).await;
        abandoned.expect("the lease is held");
    };
    let served = woken_by(give_back, store.lease_instances(LONG), "a lease that is given back").await;
    assert_eq!(served[0].attempt, 2);
}

/// A commit wakes who waits for mail that came while its turn ran: the instance can be leased again.
pub async fn test_commit_wakes_who_waits_for_mail_behind_its_lease<F: ProviderFactory>(factory: &F) {
    let store = Waited::new(factory).await;
    store.post(start("a")).await;
    let held = store.lease_instances(Duration::ZERO).await.pop().expect("the instance has mail");
    store.post(signal("a", "behind")).await;
    let commit = store.commit(&held, Ack::first("a"));
    let served = woken_by(commit, store.lease_instances(LONG), "the commit before").await;
    assert_eq!(signals(&served[0].messages), ["behind"]);
}

/// A lease that is given back wakes who waits for work.
pub async fn test_lease_on_work_given_back_wakes_who_waits<F: ProviderFactory>(factory: &F) {
    let store = Waited::new(factory).await;
    store.post_work(activity("a", 2)).await;
    let job = store.lease_work(Duration::ZERO).await.pop().expect("there is work");
    let give_back = async {
        store.provider.abandon_work_item(&job.token, None, false).await.expect("the lease is held");
    };
    let leases = woken_by(give_back, store.lease_work(LONG), "a lease that is given back").await;
    assert_eq!(leases[0].attempt, 2);
}

/// A timer wakes who waits when it fires, and not before.
pub async fn test_timer_wakes_who_waits<F: ProviderFactory>(factory: &F) {
    let store = Waited::new(factory).await;
    store.create("a").await;
    let began = store.monotonic();
    let fire_at = store.in_a_moment().as_millis();
    store.post(timer("a", 2, fire_at)).await;
    let leases = promptly(store.lease_instances(LONG), "a timer").await;
    assert_eq!(leases[0].messages[0].item, timer("a", 2, fire_at));
    store.assert_elapsed(began, MOMENT, "a timer");
}

/// A message that was sent with a delay wakes who waits when the delay is over, and not before.
pub async fn test_message_that_becomes_visible_wakes_who_waits<F: ProviderFactory>(factory: &F) {
    let store = Waited::new(factory).await;
    store.create("a").await;
    let began = store.monotonic();
    let sent = store.provider.enqueue_for_orchestrator(signal("a", "later"), Some(MOMENT)).await;
    sent.expect("a message is enqueued");
    let leases = promptly(store.lease_instances(LONG), "a delayed message").await;
    assert_eq!(signals(&leases[0].messages), ["later"]);
    store.assert_elapsed(began, MOMENT, "a delayed message");
}

/// An activity that was put off wakes who waits when the delay is over, and not before.
pub async fn test_work_that_becomes_visible_wakes_who_waits<F: ProviderFactory>(factory: &F) {
    let store = Waited::new(factory).await;
    store.post_work(activity("a", 2)).await;
    let job = store.lease_work(Duration::ZERO).await.pop().expect("there is work");
    let began = store.monotonic();
    let put_off = store.provider.abandon_work_item(&job.token, Some(MOMENT), false).await;
    put_off.expect("the lease is held");
    let leases = promptly(store.lease_work(LONG), "an activity that was put off").await;
    assert_eq!(activities(&leases), [2]);
    store.assert_elapsed(began, MOMENT, "an activity that was put off");
}

/// A lease on an instance that runs out wakes who waits, and not before.
pub async fn test_end_of_a_lease_on_an_instance_wakes_who_waits<F: ProviderFactory>(factory: &F) {
    let store = Waited::new(factory).await;
    store.post(start("a")).await;
    let began = store.monotonic();
    assert_eq!(store.lease_instances_for(MOMENT, Duration::ZERO).await.len(), 1);
    let leases = promptly(store.lease_instances(LONG), "the end of a lease").await;
    assert_eq!(leases[0].attempt, 2);
    store.assert_elapsed(began, MOMENT, "the end of a lease");
}

/// A lease on an activity that runs out wakes who waits, and not before.
pub async fn test_end_of_a_lease_on_work_wakes_who_waits<F: ProviderFactory>(factory: &F) {
    let store = Waited::new(factory).await;
    store.post_work(activity("a", 2)).await;
    let began = store.monotonic();
    assert_eq!(store.lease_work_with(work(MOMENT, Duration::ZERO)).await.len(), 1);
    let leases = promptly(store.lease_work(LONG), "the end of a lease").await;
    assert_eq!(leases[0].attempt, 2);
    store.assert_elapsed(began, MOMENT, "the end of a lease");
}

/// A session whose lock runs out wakes who waits for its activities.
pub async fn test_session_that_becomes_free_wakes_who_waits<F: ProviderFactory>(factory: &F) {
    let store = Waited::new(factory).await;
    store.post_work(activity_with("a", 2, Some("s"), None)).await;
    store.post_work(activity_with("a", 3, Some("s"), None)).await;
    let owned =
        |owner: &str, wait: Duration| LeaseWork { session: Some(worker(owner, MOMENT)), ..work(LONG, wait) };
    let began = store.monotonic();
    assert_eq!(activities(&store.lease_work_with(owned("me", Duration::ZERO)).await), [2]);
    let leases = promptly(store.lease_work_with(owned("you", LONG)), "a session that becomes free").await;
    assert_eq!(activities(&leases), [3]);
    store.assert_elapsed(began, MOMENT, "a session that becomes free");
}

/// Who waits for a time is woken by an earlier one that is set meanwhile.
pub async fn test_timer_set_while_somebody_waits_wakes_them<F: ProviderFactory>(factory: &F) {
    let store = Waited::new(factory).await;
    store.create("a").await;
    let far = store.in_a_moment().saturating_add(LONG).as_millis();
    store.post(timer("a", 2, far)).await;
    let soon = store.in_a_moment().saturating_add(MOMENT).as_millis();
    let leases =
        woken_by(store.post(timer("a", 3, soon)), store.lease_instances(LONG), "an earlier timer").await;
    assert_eq!(leases[0].messages[0].item, timer("a", 3, soon));
    assert_eq!(leases[0].messages.len(), 1, "the other timer is not due");
}

/// Mail for an instance that does not exist serves nobody: the call waits on, and is served when there is a start.
pub async fn test_mail_for_nobody_wakes_nobody<F: ProviderFactory>(factory: &F) {
    let store = Waited::new(factory).await;
    let post = async {
        store.post(signal("a", "early")).await;
        store.post(queue_message("a", "dropped")).await;
        real_time(MOMENT).await;
        store.post(start("a")).await;
    };
    let leases = woken_by(post, store.lease_instances(LONG), "the start behind early mail").await;
    assert_eq!(names(&leases), ["a"], "early mail alone is not handed out");
    assert_eq!(leases[0].messages[0].item, start("a"));
}

/// An activity serves one who wants it; who waits for another tag waits on.
pub async fn test_work_goes_to_who_wants_it<F: ProviderFactory>(factory: &F) {
    let store = Waited::new(factory).await;
    let tagged = LeaseWork { tags: TagFilter::tags(["gpu"]), ..work(LONG, LONG) };
    let post = async {
        store.post_work(activity("a", 2)).await;
        real_time(MOMENT).await;
        store.post_work(activity_with("a", 3, None, Some("gpu"))).await;
    };
    let both = join(store.lease_work_with(tagged), store.lease_work(LONG));
    let (tagged, untagged) = woken_by(post, both, "activities with and without a tag").await;
    assert_eq!(activities(&tagged), [3]);
    assert_eq!(activities(&untagged), [2]);
}

/// One message serves one of those who wait; the others wait on, and are served by what comes next.
pub async fn test_of_many_who_wait_one_is_served<F: ProviderFactory>(factory: &F) {
    let store = Waited::new(factory).await;
    let post = async {
        for instance in ["a", "b", "c"] {
            store.post(start(instance)).await;
            real_time(MOMENT / 4).await;
        }
    };
    let calls = join_all((0..3).map(|_| store.lease_instances(LONG)));
    let served = woken_by(post, calls, "three messages for three who wait").await;
    assert!(served.iter().all(|leases| leases.len() == 1), "each call waits until it is served: {served:?}");
    let leases: Vec<_> = served.into_iter().flatten().collect();
    assert_eq!(names(&leases), ["a", "b", "c"]);
    assert!(leases.iter().all(|lease| lease.attempt == 1), "each message is leased once: {leases:?}");
}

/// The fetches of a store that polls long are woken like lease calls.
pub async fn test_waiting_fetches_are_woken<F: ProviderFactory>(factory: &F) {
    let store = Waited::new(factory).await;
    let provider = &store.provider;
    let post = async {
        store.post(start("a")).await;
        store.post_work(activity("a", 2)).await;
    };
    let tags = TagFilter::default_only();
    let both = join(
        provider.fetch_orchestration_item(LONG, LONG, None),
        provider.fetch_work_item(LONG, LONG, None, &tags),
    );
    let (turn, job) = woken_by(post, both, "a message and an activity").await;
    let (item, ..) = turn.expect("fetching works").expect("there is an instance");
    assert_eq!(item.instance, "a");
    let (item, ..) = job.expect("fetching works").expect("there is an activity");
    assert_eq!(item, activity("a", 2));
    let none = provider.lease_instances(instances(LONG, Duration::ZERO)).await.expect("leasing works");
    assert!(none.is_empty(), "what was fetched is leased");
}
