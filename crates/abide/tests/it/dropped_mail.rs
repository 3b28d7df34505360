//! Every store warns of a queue message that it drops because the instance does not exist.

use std::fmt::Debug;
use std::sync::{Arc, LazyLock, Mutex};

use abide::prelude::*;
use abide::providers::memory::InMemoryProvider;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::NoSubscriber;
use tracing::{Dispatch, Event, Level, Metadata, Subscriber};

const WARNING: &str = "a queue message was sent to an instance that does not exist; it is dropped";

/// The fields of every warning of this thread.
#[derive(Debug, Clone, Default)]
struct Warnings(Arc<Mutex<Vec<String>>>);

/// With a single dispatcher, a line that another thread reaches first is disabled for every later subscriber.
static ANOTHER: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(NoSubscriber::new()));

impl Warnings {
    fn about_dropped_mail(&self) -> Vec<String> {
        self.0.lock().unwrap().iter().filter(|line| line.contains(WARNING)).cloned().collect()
    }
}

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0.join(" "));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[derive(Default)]
struct Line(Vec<String>);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.push(format!("{}={value:?}", field.name()));
    }
}

async fn warns_of_what_it_drops(store: Arc<dyn Provider>) {
    // Given
    LazyLock::force(&ANOTHER);
    let warnings = Warnings::default();
    let _listening = tracing::subscriber::set_default(warnings.clone());
    let client = Client::new(store);
    client.start_orchestration("starts", "Order", "").await.unwrap();
    // When
    client.enqueue_event("starts", "orders", "kept").await.unwrap();
    for payload in ["a secret", "another"] {
        client.enqueue_event("typo", "orders", payload).await.unwrap();
    }
    client.raise_event("typo", "go", "waits for a start").await.unwrap();
    client.enqueue_event("typo", "refunds", "dropped, although the mailbox exists").await.unwrap();
    client.enqueue_event("other", "refunds", "a secret").await.unwrap();
    // Then
    let lines = warnings.about_dropped_mail();
    assert_eq!(lines.len(), 2, "{lines:#?}");
    assert!(lines[0].contains("instance_id=typo") && lines[0].contains("queue=\"orders\""), "{lines:#?}");
    assert!(lines[1].contains("instance_id=other") && lines[1].contains("queue=\"refunds\""), "{lines:#?}");
    assert!(!lines.concat().contains("secret"), "{lines:#?}");
}

/// The messages of one batch: each is judged for itself.
#[cfg(feature = "postgres")]
async fn warns_of_each_of_a_batch(store: Arc<dyn Provider>) {
    // Given
    LazyLock::force(&ANOTHER);
    let warnings = Warnings::default();
    let _listening = tracing::subscriber::set_default(warnings.clone());
    let client = Client::new(store);
    client.start_orchestration("starts", "Order", "").await.unwrap();
    // When
    let sends = (0..40).map(|number| {
        let client = client.clone();
        let to = if number % 2 == 0 { "starts".to_owned() } else { format!("typo-{number}") };
        async move { client.enqueue_event(to, "orders", "payload").await.unwrap() }
    });
    futures::future::join_all(sends).await;
    // Then
    let mut lines = warnings.about_dropped_mail();
    lines.sort();
    lines.dedup();
    assert_eq!(lines.len(), 20, "{lines:#?}");
    assert!(lines.iter().all(|line| line.contains("instance_id=typo-")), "{lines:#?}");
}

#[tokio::test]
async fn the_store_in_memory_warns_of_a_queue_message_that_it_drops() {
    warns_of_what_it_drops(Arc::new(InMemoryProvider::new())).await;
}

#[cfg(feature = "sqlite")]
#[tokio::test]
async fn sqlite_warns_of_a_queue_message_that_it_drops() {
    let store = abide::providers::sqlite::SqliteProvider::new_in_memory().await.unwrap();
    warns_of_what_it_drops(Arc::new(store)).await;
}

#[cfg(feature = "postgres")]
#[test]
fn postgres_warns_of_a_queue_message_that_it_drops() {
    let Some(database) = crate::database::Database::new() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = abide::providers::postgres::PostgresProvider::new(database.url()).await.unwrap();
        let store: Arc<dyn Provider> = Arc::new(store);
        warns_of_what_it_drops(Arc::clone(&store)).await;
        warns_of_each_of_a_batch(store).await;
    });
}
