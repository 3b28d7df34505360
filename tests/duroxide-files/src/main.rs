//! Writes the sample files. Each step is a process of its own, which ends without closing the database: see
//! README.md.

#[expect(dead_code, reason = "the tests of the import use the rest")]
mod program;

use std::error::Error;
use std::fs::File;
use std::sync::Arc;
use std::time::{Duration, Instant};

use durable::providers::sqlite::SqliteProvider;
use durable::runtime::{OrchestrationStatus, Runtime};
use durable::{Client, PruneOptions, RuntimeOptions};
use program::{Mode, Runs, activities, orchestrations};

/// What [`everything`] starts: instance, orchestration, input.
const INSTANCES: &[(&str, &str, &str)] = &[
    ("completed", "Completes", "completed"),
    ("failed", "Fails", "card"),
    ("waiting", "Waits", "waiting"),
    ("signaled", "Waits", "signaled"),
    ("canceled", "Waits", "canceled"),
    ("to-cancel", "Waits", "to-cancel"),
    ("sleeping", "Sleeps", "sleeping"),
    ("racing", "Races", ""),
    ("running", "Runs", "running"),
    ("counting", "Counts", "1"),
    ("pruned", "Counts", "1"),
    ("parent", "Parent", "parent"),
    ("launching", "Launches", "launching"),
    ("keeping", "Keeps", "first"),
    ("on-session", "OnSession", "on-session"),
    ("retrying", "Retries", "retrying"),
    ("typed", "Typed", "5"),
    ("versioned", "Versioned", ""),
    ("unregistered", "Unregistered", "unregistered"),
    ("tagged", "Tagged", "tagged"),
    ("adopting", "Adopts", "adopted"),
    ("busy-failed", "Busy", "busy-failed"),
    ("busy-canceled", "Busy", "busy-canceled"),
];

type Fallible<T> = Result<T, Box<dyn Error>>;

#[tokio::main]
async fn main() -> Fallible<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["everything", path] => everything(path).await?,
        ["few", path] => few(path).await?,
        ["mail", path] => mail(path).await?,
        ["empty", path] => empty(path).await?,
        _ => return Err("usage: duroxide-files (empty | everything | few | mail) FILE".into()),
    }
    // Nothing is given back and nothing is closed, as if the process were killed.
    std::process::exit(0);
}

async fn open(path: &str) -> Fallible<Arc<SqliteProvider>> {
    File::options().create(true).append(true).open(path)?;
    Ok(Arc::new(SqliteProvider::new(&format!("sqlite:{path}"), None).await?))
}

async fn start(store: &Arc<SqliteProvider>, runs: &Runs) -> Arc<Runtime> {
    let options = RuntimeOptions {
        // Everything that is left half done holds a slot.
        dispatcher_min_poll_interval: Duration::from_millis(100),
        orchestration_concurrency: 4,
        worker_concurrency: 8,
        worker_node_id: Some("node-1".to_owned()),
        ..RuntimeOptions::default()
    };
    let store = Arc::clone(store);
    Runtime::start_with_options(store, activities(Mode::Record, runs), orchestrations(Mode::Record), options)
        .await
}

/// An instance in every state.
async fn everything(path: &str) -> Fallible<()> {
    let store = open(path).await?;
    let client = Client::new(store.clone());
    let _runtime = start(&store, &Runs::default()).await;
    for (instance, orchestration, input) in INSTANCES.iter().copied() {
        client.start_orchestration(instance, orchestration, input).await?;
    }
    for instance in ["counting", "pruned"] {
        status(&client, instance, "execution 1").await?;
        client.enqueue_event(instance, "inbox", "one").await?;
        client.enqueue_event(instance, "inbox", "two").await?;
        client.raise_event(instance, "filled", "").await?;
        status(&client, instance, "execution 3").await?;
    }
    for instance in ["waiting", "signaled", "canceled", "to-cancel", "launching-detached"] {
        status(&client, instance, "waiting").await?;
    }
    for instance in ["busy-failed-child", "busy-canceled-child"] {
        status(&client, instance, "waiting").await?;
    }
    client.cancel_instance("canceled", "not wanted").await?;
    client.cancel_instance("busy-canceled", "not wanted").await?;
    client.raise_event("busy-failed", "fail", "told to").await?;
    for instance in [
        "completed",
        "failed",
        "canceled",
        "launching",
        "busy-failed",
        "busy-canceled",
        "busy-failed-child",
        "busy-canceled-child",
    ] {
        client.wait_for_orchestration(instance, Duration::from_secs(20)).await?;
    }
    prune(&client, "pruned").await?;
    // It blocks a thread of the runtime, so it comes last.
    client.start_orchestration("mid-turn", "MidTurn", "mid-turn").await?;
    tokio::time::sleep(Duration::from_secs(4)).await;
    Ok(())
}

/// A few instances, so that the log beside the file stays small.
async fn few(path: &str) -> Fallible<()> {
    let store = open(path).await?;
    let client = Client::new(store.clone());
    let runs = Runs::default();
    let _runtime = start(&store, &runs).await;
    client.start_orchestration("waiting", "Waits", "waiting").await?;
    client.start_orchestration("running", "Runs", "running").await?;
    status(&client, "waiting", "waiting").await?;
    let is_slow = |run: &String| run == "running Slow running";
    while !runs.lock().is_ok_and(|runs| runs.iter().any(is_slow)) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

/// Messages that no runtime has taken. Closes the database, which copies the log into the file.
async fn mail(path: &str) -> Fallible<()> {
    let store = open(path).await?;
    let client = Client::new(store.clone());
    client.raise_event("signaled", "go", "go on").await?;
    client.enqueue_event("counting", "inbox", "three").await?;
    client.enqueue_event("pruned", "inbox", "three").await?;
    client.cancel_instance("to-cancel", "too late").await?;
    client.start_orchestration("unstarted", "Completes", "unstarted").await?;
    client.start_orchestration_versioned("unstarted-version", "Versioned", "1.0.0", "").await?;
    client.raise_event("unstarted-version", "go", "early").await?;
    client.raise_event("nobody", "go", "for nobody").await?;
    store.checkpoint().await?;
    store.get_pool().close().await;
    Ok(())
}

/// Opens and closes the database. A new one is empty.
async fn empty(path: &str) -> Fallible<()> {
    let store = open(path).await?;
    store.checkpoint().await?;
    store.get_pool().close().await;
    Ok(())
}

/// The database is often locked by the runtime beside.
async fn prune(client: &Client, instance: &str) -> Fallible<()> {
    let end = Instant::now() + Duration::from_secs(20);
    let keep_last = || PruneOptions { keep_last: Some(1), ..PruneOptions::default() };
    while let Err(error) = client.prune_executions(instance, keep_last()).await {
        if !error.is_retryable() || Instant::now() > end {
            return Err(error.into());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

/// Waits until an instance has this custom status.
async fn status(client: &Client, instance: &str, expected: &str) -> Fallible<()> {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        match client.get_orchestration_status(instance).await? {
            OrchestrationStatus::Running { custom_status: Some(found), .. } if found == expected => {
                return Ok(());
            }
            other if Instant::now() > end => return Err(format!("{instance}: {other:?}").into()),
            _ => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}
