//! Fills a store the way a release that was in use leaves it behind: ended instances, instances that wait for
//! signals, queues, timers, activities, sessions and children, mail that nobody has read, and leases of a process
//! that was killed.
//!
//! `tests/version_1/README.md` says how the stores there were made with it.

use std::time::Duration;

use abide::providers::{LeaseInstances, LeaseWork, Provider, SessionFetchConfig, TagFilter};
use abide::runtime::Runtime;
use abide::{Client, OrchestrationStatus, RuntimeOptions};

use super::program::{Activities, activities, orchestrations};

const PATIENCE: Duration = Duration::from_secs(60);

/// Fills the store that `ABIDE_FIXTURE` names, and dies without closing it.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "makes a fixture for later releases"]
async fn writes_a_fixture() {
    let address = std::env::var("ABIDE_FIXTURE").expect("ABIDE_FIXTURE names the store to fill");
    let store = abide::providers::open(&address).await.unwrap();
    let client = Client::new(store.clone());

    // Everything that comes to an end.
    let all = || RuntimeOptions { worker_tag_filter: TagFilter::Any, ..RuntimeOptions::default() };
    let runtime = Runtime::start_with_options(
        store.clone(),
        activities(Activities::SomeNeverReturn),
        orchestrations(),
        all(),
    )
    .await;
    for (instance, name, input) in
        [("done-1", "Done", "books"), ("failed-1", "Fails", "ink"), ("counted-1", "Counts", "1")]
    {
        client.start_orchestration(instance, name, input).await.unwrap();
        client.wait_for_orchestration(instance, PATIENCE).await.unwrap();
    }

    // What waits, each seen to wait.
    for (instance, name, input, status) in [
        ("signal-1", "Signal", "pens", "waits for go"),
        ("signal-2", "Signal", "paper", "waits for go"),
        ("far-1", "Sleeps", "3000000000", "sleeps"),
        ("leased-1", "Works", "wait for leased", "works"),
        ("session-1", "Session", "chairs", "has a session"),
    ] {
        client.start_orchestration(instance, name, input).await.unwrap();
        wait_for_status(&client, instance, status).await;
    }
    client.start_orchestration("parent-1", "Parent", "maps").await.unwrap();
    wait_for_status(&client, "parent-1-child", "waits for go").await;
    client.start_orchestration("queue-1", "Queue", "").await.unwrap();
    client.enqueue_event("queue-1", "orders", "one").await.unwrap();
    wait_for_status(&client, "queue-1", "took 1").await;
    runtime.shutdown(Some(0)).await;

    // Activities that nobody has begun, and a timer that comes due after the end of this process.
    let turns_only = RuntimeOptions { worker_concurrency: 0, ..all() };
    let registry = activities(Activities::SomeNeverReturn);
    let runtime = Runtime::start_with_options(store.clone(), registry, orchestrations(), turns_only).await;
    for (instance, name, input, status) in [
        ("work-1", "Works", "lamps", "works"),
        ("tagged-1", "Works", "tagged desks", "works"),
        ("sleep-1", "Sleeps", "5", "sleeps"),
    ] {
        client.start_orchestration(instance, name, input).await.unwrap();
        wait_for_status(&client, instance, status).await;
    }
    runtime.shutdown(None).await;

    leave_work_under_way(&*store).await;
    leave_mail_unread(&*store, &client).await;
    std::process::exit(0);
}

async fn leave_work_under_way(store: &dyn Provider) {
    // Activities that were under way when the process died: of leased-1 and of session-1, the oldest.
    let request = LeaseWork {
        limit: 2,
        lease_for: Duration::from_secs(600),
        wait: Duration::ZERO,
        session: Some(SessionFetchConfig {
            owner_id: "a node of version 1".to_owned(),
            lock_timeout: Duration::from_secs(600),
        }),
        tags: TagFilter::DefaultOnly,
        serving: None,
    };
    assert_eq!(store.lease_work(request).await.unwrap().len(), 2);
}

async fn leave_mail_unread(store: &dyn Provider, client: &Client) {
    // Mail that nobody has read.
    client.raise_event("signal-2", "go", "a green light").await.unwrap();
    client.enqueue_event("queue-1", "orders", "two").await.unwrap();
    client.start_orchestration("fresh-1", "Done", "clocks").await.unwrap();
    let request = LeaseInstances {
        limit: 1,
        lease_for: Duration::from_secs(600),
        wait: Duration::ZERO,
        capabilities: None,
        serving: None,
    };
    assert_eq!(store.lease_instances(request).await.unwrap().len(), 1);
}

async fn wait_for_status(client: &Client, instance: &str, wanted: &str) {
    let mut seen = 0;
    loop {
        let status =
            client.wait_for_status_change(instance, seen, Duration::from_millis(20), PATIENCE).await.unwrap();
        let (value, version) = custom(&status);
        if value == Some(wanted) {
            return;
        }
        seen = version;
    }
}

fn custom(status: &OrchestrationStatus) -> (Option<&str>, u64) {
    match status {
        OrchestrationStatus::Running { custom_status, custom_status_version }
        | OrchestrationStatus::Completed { custom_status, custom_status_version, .. }
        | OrchestrationStatus::Failed { custom_status, custom_status_version, .. } => {
            (custom_status.as_deref(), *custom_status_version)
        }
        OrchestrationStatus::NotFound => (None, 0),
    }
}
