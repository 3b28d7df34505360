//! Stores that the release with schema version 1 left behind (`tests/version_1`): this release goes on with them.

mod populate;
mod program;

use std::sync::Arc;
use std::time::Duration;

use abide::providers::{Provider, TagFilter};
use abide::runtime::Runtime;
use abide::{Client, OrchestrationStatus, RuntimeOptions};

use program::{Activities, activities, orchestrations};

const PATIENCE: Duration = Duration::from_secs(60);

/// What has ended, with what became of it.
const ENDED: [(&str, Result<&str, &str>); 3] =
    [("done-1", Ok("did books")), ("failed-1", Err("ink is out of stock")), ("counted-1", Ok("123"))];

/// What goes on by itself, and how it ends.
const GOES_ON: [(&str, &str); 7] = [
    ("signal-2", "paper got a green light"),
    ("sleep-1", "slept"),
    ("work-1", "did lamps"),
    ("tagged-1", "did desks"),
    ("leased-1", "did wait for leased"),
    ("session-1", "did open chairs, did wait chairs"),
    ("fresh-1", "did clocks"),
];

#[tokio::test(flavor = "multi_thread")]
async fn instances_on_a_file_of_version_1_go_on_and_end() {
    let folder = std::env::temp_dir().join(format!("abide-facade-{}-upgrade", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("store.db");
    std::fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/version_1/store.sqlite"), &path).unwrap();
    goes_on(abide::providers::open(path.to_str().unwrap()).await.unwrap()).await;
    std::fs::remove_dir_all(&folder).unwrap();
}

#[cfg(feature = "postgres")]
#[tokio::test(flavor = "multi_thread")]
async fn instances_in_a_schema_of_version_1_go_on_and_end() {
    let Some(database) = tokio::task::spawn_blocking(crate::database::Database::new).await.unwrap() else {
        return;
    };
    let (client, connection) = tokio_postgres::connect(database.url(), tokio_postgres::NoTls).await.unwrap();
    #[expect(clippy::disallowed_methods, reason = "the connection of a test, awaited below")]
    let connection = tokio::spawn(connection);
    client.batch_execute(include_str!("../../version_1/schema.sql")).await.unwrap();
    drop(client);
    connection.await.unwrap().unwrap();
    goes_on(abide::providers::open(database.url()).await.unwrap()).await;
    tokio::task::spawn_blocking(|| drop(database)).await.unwrap();
}

async fn goes_on(store: Arc<dyn Provider>) {
    let client = Client::new(store.clone());
    for (instance, end) in ENDED {
        let status = client.get_orchestration_status(instance).await.unwrap();
        assert_eq!(ended(instance, status), end.map(str::to_owned).map_err(str::to_owned));
    }
    assert_eq!(client.get_kv_value("done-1", "last").await.unwrap().as_deref(), Some("books"));
    assert_eq!(client.get_kv_value("signal-1", "input").await.unwrap().as_deref(), Some("pens"));
    assert_eq!(client.list_executions("counted-1").await.unwrap(), [1, 2, 3]);
    let status = client.get_orchestration_status("signal-1").await.unwrap();
    assert!(
        matches!(&status, OrchestrationStatus::Running { custom_status: Some(text), .. } if text == "waits for go"),
        "{status:?}"
    );

    // No turn has recorded what they wait for.
    for (instance, activities) in
        [("work-1", "Its open activities: Work (queued)."), ("signal-1", "It runs Signal 1.0.0")]
    {
        let text = client.describe(instance).await.unwrap().to_string();
        let first = format!("{instance} is running (what it waits for is recorded with its next turn).");
        assert_eq!(text.lines().next(), Some(first.as_str()));
        assert!(text.contains(activities), "{text}");
    }

    let options = RuntimeOptions { worker_tag_filter: TagFilter::Any, ..RuntimeOptions::default() };
    let runtime = Runtime::builder()
        .with_provider(store.clone())
        .with_activities(activities(Activities::AllReturn))
        .with_orchestrations(orchestrations())
        .with_options(options)
        .build()
        .await
        .unwrap();
    for (instance, output) in GOES_ON {
        assert_eq!(end_of(&client, instance).await, Ok(output.to_owned()));
    }

    // What waits for somebody hears it.
    client.raise_event("signal-1", "go", "a whistle").await.unwrap();
    client.raise_event("parent-1-child", "go", "a flag").await.unwrap();
    client.enqueue_event("queue-1", "orders", "three").await.unwrap();
    for (instance, output) in [
        ("signal-1", "pens got a whistle"),
        ("parent-1", "child: maps got a flag"),
        ("parent-1-child", "maps got a flag"),
        ("queue-1", "one two three"),
    ] {
        assert_eq!(end_of(&client, instance).await, Ok(output.to_owned()));
    }
    let running = client.list_instances_by_status("Running").await.unwrap();
    assert_eq!(running, ["far-1"], "its timer is far away");
    runtime.shutdown(None).await;
}

async fn end_of(client: &Client, instance: &str) -> Result<String, String> {
    let status = client.wait_for_orchestration(instance, PATIENCE).await;
    ended(instance, status.unwrap_or_else(|error| panic!("{instance}: {error}")))
}

fn ended(instance: &str, status: OrchestrationStatus) -> Result<String, String> {
    match status {
        OrchestrationStatus::Completed { output, .. } => Ok(output),
        OrchestrationStatus::Failed { details, .. } => Err(details.display_message()),
        other @ (OrchestrationStatus::NotFound | OrchestrationStatus::Running { .. }) => {
            panic!("{instance} has not ended: {other:?}")
        }
    }
}
