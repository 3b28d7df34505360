//! Files that duroxide wrote are imported, and everything in them continues and ends right.
//!
//! The files are made by `tests/duroxide-files`, whose program is compiled into this test as well.

#[path = "../../../../../tests/duroxide-files/src/program.rs"]
#[allow(
    unreachable_pub,
    missing_docs,
    dead_code,
    clippy::pedantic,
    clippy::disallowed_methods,
    reason = "a program of another package, which also runs on another crate"
)]
mod program;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use abide::prelude::*;
use abide::providers::sqlite::{ImportOutcome, SqliteProvider, import_duroxide, import_duroxide_dry_run};
use abide::{AppErrorKind, ErrorDetails, EventKind, TagFilter};
use program::{Mode, Runs, activities, orchestrations};

const PATIENCE: Duration = Duration::from_secs(30);

/// A folder with copies of the sample files, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("abide-import-{}-{test}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/duroxide-files/files");
        for sample in std::fs::read_dir(samples).unwrap() {
            let sample = sample.unwrap();
            std::fs::copy(sample.path(), folder.join(sample.file_name())).unwrap();
        }
        Self(folder)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _gone = std::fs::remove_dir_all(&self.0);
    }
}

/// A store with the imported sample, and what runs it.
struct World {
    store: Arc<SqliteProvider>,
    client: Client,
    runs: Runs,
}

impl World {
    async fn import(from: &str, into: &str) -> Self {
        let store = Arc::new(SqliteProvider::new(into, None).await.unwrap());
        let report = import_duroxide(from, &store).await.unwrap();
        assert_eq!(report.outcome, ImportOutcome::Imported);
        Self { client: Client::new(store.clone()), store, runs: Runs::default() }
    }

    async fn run(&self) -> Arc<Runtime> {
        Runtime::builder()
            .with_provider(self.store.clone())
            .with_activities(activities(Mode::Resume, &self.runs))
            .with_orchestrations(orchestrations(Mode::Resume))
            .with_options(RuntimeOptions { worker_tag_filter: TagFilter::Any, ..RuntimeOptions::default() })
            .build()
            .await
            .unwrap()
    }

    async fn output(&self, instance: &str) -> String {
        let status = self.client.wait_for_orchestration(instance, PATIENCE).await.unwrap();
        let OrchestrationStatus::Completed { output, .. } = status else { panic!("{instance}: {status:?}") };
        output
    }

    async fn failure(&self, instance: &str) -> ErrorDetails {
        let status = self.client.wait_for_orchestration(instance, PATIENCE).await.unwrap();
        let OrchestrationStatus::Failed { details, .. } = status else { panic!("{instance}: {status:?}") };
        details
    }

    fn runs(&self) -> Vec<String> {
        let mut runs = self.runs.lock().unwrap().clone();
        runs.sort();
        runs
    }
}

/// What had ended there is here as it was, before anything runs.
#[tokio::test]
async fn what_had_ended_is_as_it_was() {
    let folder = Folder::new("ended");
    let world = World::import(&folder.file("everything.db"), &folder.file("ours.db")).await;
    let client = &world.client;
    assert_eq!(world.output("completed").await, "hello completed");
    assert_eq!(world.output("launching").await, "hello launching");
    assert_eq!(world.output("parent-done").await, "hello child");
    assert_eq!(world.failure("failed").await.display_message(), "card declined");
    assert_eq!(world.failure("busy-failed").await.display_message(), "told to");
    for instance in ["canceled", "busy-canceled"] {
        let canceled =
            |kind: &_| matches!(kind, AppErrorKind::Cancelled { reason } if reason == "not wanted");
        let details = world.failure(instance).await;
        assert!(
            matches!(&details, ErrorDetails::Application { kind, .. } if canceled(kind)),
            "{instance}: {details:?}"
        );
        let history = client.read_execution_history(instance, 1).await.unwrap();
        let last = &history.last().unwrap().kind;
        assert!(matches!(last, EventKind::OrchestrationFailed { .. }), "{instance}: {last:?}");
    }
    assert_eq!(client.get_kv_value("completed", "greeting").await.unwrap().unwrap(), "hello completed");
    let OrchestrationStatus::Completed { custom_status, custom_status_version, .. } =
        client.get_orchestration_status("completed").await.unwrap()
    else {
        panic!("it has completed");
    };
    assert_eq!((custom_status.as_deref(), custom_status_version), (Some("greeted"), 1));
    let info = client.get_instance_info("completed").await.unwrap();
    assert_eq!(
        (info.orchestration_name.as_str(), info.orchestration_version.as_str()),
        ("Completes", "1.0.0")
    );
    assert!(info.created_at > 1_700_000_000_000 && info.updated_at >= info.created_at, "{info:?}");
    let tree = client.get_instance_tree("parent").await.unwrap();
    assert_eq!(tree.all_ids, ["parent", "parent-done", "parent::sub::4", "parent::sub::5"]);
    assert_eq!(client.list_executions("pruned").await.unwrap(), [3]);
    assert_eq!(client.list_executions("counting").await.unwrap(), [1, 2, 3]);
}

/// What was running, waiting or about to start continues and ends; what was done is not done again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_running_continues_and_ends_right() {
    let folder = Folder::new("running");
    let world = World::import(&folder.file("everything.db"), &folder.file("ours.db")).await;
    let client = &world.client;
    let tagged = client.describe("tagged").await.unwrap().to_string();
    assert!(tagged.contains("what it waits for is recorded with its next turn"), "{tagged}");
    assert!(tagged.contains("Its open activities: Greet (queued)."), "{tagged}");
    let runtime = world.run().await;
    for instance in
        ["waiting", "racing", "keeping", "typed", "versioned", "launching-detached", "parent::sub::4"]
    {
        client.raise_event(instance, "go", "goes on").await.unwrap();
    }
    let expected = BTreeMap::from([
        ("adopting", "hello adopted"),
        ("counting", "3: one two three"),
        ("keeping", "added=new changed=new kept=old"),
        ("launching-detached", "hello detached, goes on"),
        ("mid-turn", "hello mid-turn, second mid-turn"),
        ("on-session", "hello on-session, slow on-session"),
        ("parent", "hello child; hello waiting child, goes on; child declined"),
        ("parent::sub::4", "hello waiting child, goes on"),
        ("pruned", "3: one two three"),
        ("racing", "hello goes on"),
        ("retrying", "flaky retrying"),
        ("running", "hello running, slow running"),
        ("signaled", "hello signaled, go on"),
        ("sleeping", "hello sleeping"),
        ("tagged", "hello tagged"),
        ("typed", "1 goes on"),
        ("unregistered", "hello unregistered"),
        ("unstarted", "hello unstarted"),
        ("versioned", "version 1: goes on"),
        ("waiting", "hello waiting, goes on"),
    ]);
    for (instance, output) in expected {
        assert_eq!(world.output(instance).await, output, "{instance}");
    }
    let canceled = world.failure("to-cancel").await;
    assert!(canceled.display_message().contains("too late"), "{canceled:?}");
    assert_eq!(client.get_kv_all_values("keeping").await.unwrap().len(), 3);
    assert_eq!(client.get_kv_value("counting", "count").await.unwrap().unwrap(), "3");
    // Only what was under way, or came afterwards, has run here.
    let runs = [
        "adopting::sub::2 Greet adopted",
        "on-session Slow on-session",
        "racing Greet goes on",
        "retrying Flaky retrying",
        "running Slow running",
        "sleeping Greet sleeping",
        "tagged Greet tagged",
        "unregistered Greet unregistered",
        "unstarted Greet unstarted",
    ];
    assert_eq!(world.runs(), runs);
    runtime.shutdown(None).await;
    let depths = client.get_queue_depths().await.unwrap();
    assert_eq!(depths.worker_queue, 0, "no activity is left");
}

/// Executions keep the version that pinned them, and with it the leniencies of that version.
#[tokio::test]
async fn executions_keep_their_pins_and_versions() {
    let folder = Folder::new("pins");
    let world = World::import(&folder.file("everything.db"), &folder.file("ours.db")).await;
    let pins = world
        .store
        .inspect(|connection| {
            let mut statement = connection.prepare("SELECT DISTINCT pin FROM execution").unwrap();
            let pins = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
            pins.collect::<Result<Vec<_>, _>>().unwrap()
        })
        .await
        .unwrap();
    assert_eq!(pins, ["0.1.32"]);
    let history = world.client.read_execution_history("typed", 1).await.unwrap();
    assert!(history.iter().all(|event| event.duroxide_version == "0.1.32"));
    // Recorded bare, as abide's own executions would not: replaying it strictly would be a mismatch.
    let recorded =
        |kind: &EventKind| matches!(kind, EventKind::ActivityScheduled { input, .. } if input == "5");
    assert!(history.iter().any(|event| recorded(&event.kind)), "{history:?}");
}

/// The log of a process that was killed is read with the file.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_file_of_a_killed_process_continues() {
    let folder = Folder::new("killed");
    let from = folder.file("crashed.db");
    let planned = {
        let store = SqliteProvider::new(&folder.file("ours.db"), None).await.unwrap();
        import_duroxide_dry_run(&from, &store).await.unwrap()
    };
    assert_eq!((planned.counts.instances, planned.counts.running, planned.counts.activities), (2, 2, 1));
    let world = World::import(&from, &folder.file("ours.db")).await;
    let runtime = world.run().await;
    world.client.raise_event("waiting", "go", "goes on").await.unwrap();
    assert_eq!(world.output("waiting").await, "hello waiting, goes on");
    assert_eq!(world.output("running").await, "hello running, slow running");
    assert_eq!(world.runs(), ["running Slow running"]);
    runtime.shutdown(None).await;
}
