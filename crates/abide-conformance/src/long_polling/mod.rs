//! Whether a fetch that finds nothing waits, and how long.
//!
//! These measure real time, and take the provider: it must be on a real clock, and empty. Whoever is slow once is not
//! slow: what must be fast may be tried a few times.

mod for_suite;
mod stopwatch;

use std::time::Duration;

use abide_provider::{Provider, TagFilter};
pub(crate) use for_suite::area;
use stopwatch::{assert_takes_at_most, elapsed_since, now};

use crate::factory::real_time;
use crate::support::{activity, signal, start};

/// How long leases last here: longer than any of these tests.
const LEASE: Duration = Duration::from_secs(60);

/// How long a fetch may wait here.
const POLL: Duration = Duration::from_millis(300);

/// A wait that is not to be reached.
const LONG: Duration = Duration::from_secs(5);

/// By how much a wait may be too long, for slow machines.
const TOLERANCE: Duration = Duration::from_millis(200);

/// By how much a wait may be too short, for timers that are coarse.
const COARSE: Duration = Duration::from_millis(50);

/// A provider that does not wait says that there is nothing within the threshold, whatever time it was given.
pub async fn test_short_poll_returns_immediately(provider: &dyn Provider, threshold: Duration) {
    let poll = threshold * 5;
    assert_takes_at_most(threshold, "a fetch from a provider that does not wait", || {
        fetch_nothing(provider, poll)
    })
    .await;
}

/// The same for activities.
pub async fn test_short_poll_work_item_returns_immediately(provider: &dyn Provider, threshold: Duration) {
    let poll = threshold * 5;
    assert_takes_at_most(threshold, "a fetch of work from a provider that does not wait", || {
        fetch_no_work(provider, poll)
    })
    .await;
}

/// A provider that waits does so until the time it was given is over, and then says that there is nothing.
pub async fn test_long_poll_waits_for_timeout(provider: &dyn Provider) {
    let began = now();
    fetch_nothing(provider, POLL).await;
    let waited = elapsed_since(began);
    assert!(waited + COARSE >= POLL, "a fetch that may wait for {POLL:?} gave up after {waited:?}");
}

/// The same for activities.
pub async fn test_long_poll_work_item_waits_for_timeout(provider: &dyn Provider) {
    let began = now();
    fetch_no_work(provider, POLL).await;
    let waited = elapsed_since(began);
    assert!(waited + COARSE >= POLL, "a fetch that may wait for {POLL:?} gave up after {waited:?}");
}

/// No fetch waits longer than it was told, whether the provider waits or not.
pub async fn test_fetch_respects_timeout_upper_bound(provider: &dyn Provider) {
    assert_takes_at_most(POLL + TOLERANCE, "a fetch that may wait for a time", || {
        fetch_nothing(provider, POLL)
    })
    .await;
    assert_takes_at_most(POLL + TOLERANCE, "a fetch of work that may wait for a time", || {
        fetch_no_work(provider, POLL)
    })
    .await;
}

/// A fetch that is given no time answers at once, whether the provider waits or not.
pub async fn test_zero_timeout_returns_immediately(provider: &dyn Provider, threshold: Duration) {
    assert_takes_at_most(threshold, "a fetch that was given no time", || {
        fetch_nothing(provider, Duration::ZERO)
    })
    .await;
}

/// The same for activities.
pub async fn test_zero_timeout_work_item_returns_immediately(provider: &dyn Provider, threshold: Duration) {
    assert_takes_at_most(threshold, "a fetch of work that was given no time", || {
        fetch_no_work(provider, Duration::ZERO)
    })
    .await;
}

/// A fetch that finds something answers at once, however long it might wait.
pub async fn test_fetch_with_mail_does_not_wait(provider: &dyn Provider) {
    enqueue_all(provider).await;
    let began = now();
    assert!(fetch_instance(provider, LONG).await, "there is mail, but nothing was fetched");
    assert!(fetch_work(provider, LONG).await, "there is work, but nothing was fetched");
    let waited = elapsed_since(began);
    assert!(waited < LONG, "two fetches that found something at once took {waited:?}");
}

/// A fetch that waits is served by mail that comes meanwhile.
pub async fn test_long_poll_ends_with_new_mail(provider: &dyn Provider) {
    let began = now();
    let (is_fetched, ()) =
        futures_util::future::join(fetch_instance(provider, LONG), enqueue_later(provider)).await;
    let waited = elapsed_since(began);
    assert!(is_fetched, "mail came while a fetch waited, but the fetch ended without it");
    assert!(waited < LONG, "mail came while a fetch waited, but it waited on until {waited:?}");
}

/// The same for activities.
pub async fn test_long_poll_ends_with_new_work(provider: &dyn Provider) {
    let began = now();
    let (is_fetched, ()) =
        futures_util::future::join(fetch_work(provider, LONG), enqueue_later(provider)).await;
    let waited = elapsed_since(began);
    assert!(is_fetched, "work came while a fetch waited, but the fetch ended without it");
    assert!(waited < LONG, "work came while a fetch waited, but it waited on until {waited:?}");
}

/// A fetch that waits is served by a message whose time comes meanwhile.
pub async fn test_long_poll_ends_when_a_message_is_due(provider: &dyn Provider) {
    let sent = provider.enqueue_for_orchestrator(start("a"), Some(POLL)).await;
    sent.expect("a message can be delayed");
    let began = now();
    assert!(fetch_instance(provider, LONG).await, "a message was due, but the fetch ended without it");
    let waited = elapsed_since(began);
    assert!(waited < LONG, "a message was due, but the fetch waited on until {waited:?}");
}

async fn fetch_nothing(provider: &dyn Provider, poll: Duration) {
    assert!(!fetch_instance(provider, poll).await, "nothing was enqueued, but something was fetched");
}

async fn fetch_no_work(provider: &dyn Provider, poll: Duration) {
    assert!(!fetch_work(provider, poll).await, "nothing was enqueued, but something was fetched");
}

async fn fetch_instance(provider: &dyn Provider, poll: Duration) -> bool {
    let fetched = provider.fetch_orchestration_item(LEASE, poll, None).await;
    fetched.unwrap_or_else(|error| panic!("fetching an instance failed: {error}")).is_some()
}

async fn fetch_work(provider: &dyn Provider, poll: Duration) -> bool {
    let fetched = provider.fetch_work_item(LEASE, poll, None, &TagFilter::default_only()).await;
    fetched.unwrap_or_else(|error| panic!("fetching work failed: {error}")).is_some()
}

/// A start and an activity, when a fetch that was begun before is waiting.
async fn enqueue_later(provider: &dyn Provider) {
    real_time(POLL).await;
    enqueue_all(provider).await;
}

async fn enqueue_all(provider: &dyn Provider) {
    for message in [start("a"), signal("a", "mail")] {
        let sent = provider.enqueue_for_orchestrator(message, None).await;
        sent.expect("a message can be enqueued");
    }
    provider.enqueue_for_worker(activity("a", 2)).await.expect("an activity can be enqueued");
}
