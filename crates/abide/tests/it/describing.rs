//! `Client::describe` on every store, in real time: the texts are those of virtual time, but for the lengths
//! of time.

use std::sync::Arc;
use std::time::Duration;

use abide::Client;
use abide::client::{Description, InstanceState};
use abide::prelude::*;
use abide::providers::memory::InMemoryProvider;
use abide::providers::{Ability, HoldWork, LeaseWork, TagFilter};
use abide::seams::Clock as _;
use abide_host::SystemClock;

/// Lengths of time as a word, and the id of the node that runs the test as another: they differ from run to
/// run.
fn plain(description: &Description) -> String {
    let text = description.to_string();
    let lines = text.lines().map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let is_number = |word: &str| word.chars().all(|each| each.is_ascii_digit()) && !word.is_empty();
        let is_unit = |word: &str| {
            let unit = word.trim_end_matches([')', ',', '.', ';', ':']);
            ["ms", "s", "min", "h", "d"].contains(&unit)
        };
        let mut plain: Vec<String> = Vec::new();
        for (place, word) in words.iter().enumerate() {
            let number = word.trim_start_matches('(');
            let next = words.get(place + 1).copied().unwrap_or_default();
            if is_number(number) && is_unit(next) {
                plain.push(word.replace(number, "some"));
            } else {
                plain.push((*word).to_owned());
            }
        }
        let line = plain.join(" ");
        ["ms", "min", "s", "h", "d"].iter().fold(line, |line, unit| {
            let ends = [" ", ")", ",", ".", ";", ":"];
            let line = ends.iter().fold(line, |line, end| {
                line.replace(&format!("some {unit}{end}"), &format!("some time{end}"))
            });
            if line.ends_with(&format!("some {unit}")) {
                line.replace(&format!("some {unit}"), "some time")
            } else {
                line
            }
        })
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A description that is as wanted, once it is.
async fn once(client: &Client, instance: &str, wanted: impl Fn(&Description) -> bool) -> Description {
    let clock = SystemClock::new();
    for _ in 0..600 {
        if let Ok(description) = client.describe(instance).await
            && wanted(&description)
        {
            return description;
        }
        clock.sleep_until(clock.monotonic() + Duration::from_millis(50)).await;
    }
    panic!("it does not become so: {:#?}", client.describe(instance).await)
}

fn orchestrations() -> OrchestrationRegistry {
    OrchestrationRegistry::builder()
        .register("Retried", |ctx: OrchestrationContext, _: String| async move {
            let hourly = BackoffStrategy::Fixed { delay: Duration::from_secs(3_600) };
            let policy = RetryPolicy::new(5).with_backoff(hourly);
            ctx.schedule_activity_with_retry("Declined", "", policy).await
        })
        .register("Runs", |ctx: OrchestrationContext, _: String| async move {
            ctx.schedule_activity("Slow", "").await
        })
        .register("Sleeps", |ctx: OrchestrationContext, _: String| async move {
            ctx.schedule_timer(Duration::from_secs(7_500)).await;
            Ok(String::new())
        })
        .register("Waits", |ctx: OrchestrationContext, _: String| async move {
            Ok(ctx.schedule_wait("approved").await)
        })
        .register("Dequeues", |ctx: OrchestrationContext, _: String| async move {
            Ok(ctx.dequeue_event("orders").await)
        })
        .register("Parent", |ctx: OrchestrationContext, _: String| async move {
            ctx.schedule_sub_orchestration("Waits", "").await
        })
        .register("Unserved", |ctx: OrchestrationContext, _: String| async move {
            ctx.schedule_activity("Declnied", "").await
        })
        .register("Panics", |ctx: OrchestrationContext, _: String| async move {
            ctx.schedule_activity("Quick", "").await?;
            panic!("a bad deploy")
        })
        .register("Ends", |_: OrchestrationContext, _: String| async { Ok(String::new()) })
        .build()
}

fn activities() -> ActivityRegistry {
    ActivityRegistry::builder()
        .register("Declined", |_: ActivityContext, _: String| async {
            Err::<String, _>("card declined".to_owned())
        })
        .register("Slow", |ctx: ActivityContext, _: String| async move {
            ctx.cancelled().await;
            Ok(String::new())
        })
        .register("Quick", |_: ActivityContext, _: String| async { Ok(String::new()) })
        .build()
}

const IDS: [&str; 7] = ["Retried", "Runs", "Sleeps", "Waits", "Dequeues", "Parent", "Ends"];

/// Holds an activity that no node serves, as a node does after too many crashes.
async fn describes_a_quarantine(client: &Client, store: &Arc<dyn Provider>) {
    client.start_orchestration("held", "Unserved", "").await.unwrap();
    once(client, "held", |it| it.open == Some(1) && it.lease.is_none()).await;
    let (wait, tags) = (Duration::ZERO, TagFilter::Any);
    let lease_for = Duration::from_secs(60);
    let request = LeaseWork { limit: 1, lease_for, wait, session: None, tags, serving: None };
    let leases = store.lease_work(request).await.unwrap();
    let detail = "activity 'Declnied' was under way in 10 crashes".to_owned();
    let request = HoldWork { token: leases[0].token.clone(), detail, build: "b".to_owned() };
    store.hold_work(request).await.unwrap();
    let held = client.describe("held").await.unwrap();
    assert_eq!(held.state, InstanceState::Running, "its turns continue");
    assert_eq!(
        plain(&held),
        "held is waiting for activity Declnied (scheduled some time ago).\n\
         The activity is quarantined for some time: activity 'Declnied' was under way in 10 crashes.\n\
         Repair it, then call client.retry(\"held\").\n\
         It runs Unserved 1.0.0, execution 1, created some time ago.\n\
         Its last turn was some time ago."
    );
}

async fn describes(store: Arc<dyn Provider>) {
    let abilities = store.abilities();
    assert!(abilities.has(Ability::Overviews), "{}", store.name());
    let client = Client::new(store.clone());
    client.start_orchestration("pending", "Ends", "").await.unwrap();
    let pending = client.describe("pending").await.unwrap();
    assert_eq!(pending.state, InstanceState::Pending { starts_at: None });
    assert!(plain(&pending).starts_with("pending has not started: its start is queued"), "{pending}");

    let runtime = Runtime::builder()
        .with_provider(store.clone())
        .with_orchestrations(orchestrations())
        .with_activities(activities())
        .build()
        .await
        .unwrap();
    for name in IDS {
        client.start_orchestration(&name.to_lowercase(), name, "").await.unwrap();
    }
    let has_settled = |description: &Description| description.open == Some(1) && description.lease.is_none();
    let first_line = async |id: &str| {
        let description = once(&client, id, has_settled).await;
        plain(&description).lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(
        first_line("sleeps").await,
        "sleeps is waiting for a timer that fires in some time (set some time ago)."
    );
    assert_eq!(first_line("waits").await, "waits is waiting for event 'approved' (for some time).");
    assert_eq!(
        first_line("dequeues").await,
        "dequeues is waiting for a message of queue 'orders' (for some time)."
    );
    assert_eq!(
        first_line("parent").await,
        "parent is waiting for child parent::sub::2 (orchestration Waits, for some time)."
    );
    let retried = once(&client, "retried", |it| plain(it).contains("Next try")).await;
    assert_eq!(
        plain(&retried),
        "retried is waiting for activity Declined (scheduled some time ago, attempt 1 of 5).\n\
         Last error: card declined. Next try in some time.\n\
         It runs Retried 1.0.0, execution 1, created some time ago.\n\
         Its last turn was some time ago."
    );
    let runs = once(&client, "runs", |it| plain(it).contains("is running it")).await;
    assert!(runs.operations[0].work.as_ref().is_some_and(|work| work.attempts == 1), "{runs:?}");
    let ends = once(&client, "ends", |it| matches!(it.state, InstanceState::Completed { .. })).await;
    assert!(
        plain(&ends).starts_with("ends completed some time ago.\nIt ran Ends 1.0.0, execution 1"),
        "{ends}"
    );
    if abilities.has(Ability::Nodes) {
        if abilities.has(Ability::Blocking) {
            describes_a_quarantine(&client, &store).await;
        }
        client.start_orchestration("unserved", "Unserved", "").await.unwrap();
        let unserved = once(&client, "unserved", has_settled).await;
        let expected = "No live node serves activity 'Declnied' (did you mean 'Declined'?).";
        assert_eq!(plain(&unserved).lines().nth(1), Some(expected));
    }
    if abilities.has(Ability::Blocking) {
        client.start_orchestration("panics", "Panics", "").await.unwrap();
        let blocked = once(&client, "panics", |it| it.state == InstanceState::Blocked).await;
        assert!(plain(&blocked).starts_with("panics is blocked (panic) for some time.\nBuild "), "{blocked}");
    }
    runtime.shutdown(None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn instances_are_described_on_memory() {
    describes(Arc::new(InMemoryProvider::new())).await;
}

#[cfg(feature = "sqlite")]
#[tokio::test(flavor = "multi_thread")]
async fn instances_are_described_on_sqlite() {
    describes(Arc::new(SqliteProvider::new_in_memory().await.unwrap())).await;
}

#[cfg(feature = "postgres")]
#[test]
fn instances_are_described_on_postgresql() {
    let Some(database) = crate::database::Database::new() else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = abide::providers::postgres::PostgresProvider::new(database.url()).await.unwrap();
        describes(Arc::new(store)).await;
    });
}
