//! The whole client on the stores themselves, by the machine's clock.

use std::sync::Arc;
use std::time::Duration;

use abide_client::{Client, ClientError, StartError, Started};
use abide_memory::InMemoryProvider;
use abide_model::{OrchestrationStatus, PruneOptions};
use abide_provider::{Ability, BlockInstance, BlockKind, InstanceQuery, Provider};
use abide_sqlite::SqliteProvider;
use futures_util::TryStreamExt as _;
use futures_util::future::join_all;

use crate::support::{Past, Telling, Wrapper, millis, seconds};

/// Longer than any machine takes.
const PLENTY: Duration = seconds(60);

/// The model and SQLite, as they are and telling nothing of changes.
async fn every_store() -> Vec<Arc<dyn Provider>> {
    let quiet = |store| Wrapper::new(store).telling(Telling::Nothing);
    vec![memory(), sqlite().await, Arc::new(quiet(memory())), Arc::new(quiet(sqlite().await))]
}

fn memory() -> Arc<dyn Provider> {
    Arc::new(InMemoryProvider::new())
}

async fn sqlite() -> Arc<dyn Provider> {
    Arc::new(SqliteProvider::new_in_memory().await.unwrap())
}

#[tokio::test]
async fn an_order_from_start_to_end() {
    for store in every_store().await {
        let (client, past) = (Client::new(Arc::clone(&store)), Past(&*store));
        client.start_orchestration_typed("a", "Order", ("box", 2)).await.unwrap();
        let sees_waiting_starts = store.abilities().has(Ability::AtomicStarts);
        let status = client.get_orchestration_status("a").await.unwrap();
        assert_eq!(matches!(status, OrchestrationStatus::Running { .. }), sees_waiting_starts, "{status:?}");

        let waits = async {
            tokio::join!(
                biased;
                client.wait_for_kv_value_typed::<u8>("a", "boxes", PLENTY),
                client.wait_for_status_change("a", 0, millis(5), PLENTY),
                client.wait_for_orchestration_typed::<String>("a", PLENTY),
            )
        };
        let turns = async {
            past.taken_up("a").await;
            past.kept("a", "boxes", "2").await;
            past.said("a", "packed").await;
            past.completed("a", "shipped").await;
        };
        let ((boxes, changed, output), ()) = tokio::join!(biased; waits, turns);

        assert_eq!(boxes.unwrap(), 2);
        assert!(!matches!(changed.unwrap(), OrchestrationStatus::NotFound));
        assert_eq!(output.unwrap(), Ok("shipped".to_owned()));
        let ended = client.wait_for_orchestration("a", Duration::ZERO).await.unwrap();
        assert_eq!(
            ended,
            OrchestrationStatus::Completed {
                output: "shipped".to_owned(),
                custom_status: Some("packed".to_owned()),
                custom_status_version: 1,
            }
        );
    }
}

#[tokio::test]
async fn signals_and_messages_arrive_in_order() {
    for store in every_store().await {
        let (client, past) = (Client::new(Arc::clone(&store)), Past(&*store));
        past.started("a").await;

        client.raise_event("a", "go", "1").await.unwrap();
        client.enqueue_event("a", "inbox", "2").await.unwrap();
        client.cancel_instance("a", "3").await.unwrap();

        let kinds: Vec<_> = past.mail("a").await.iter().map(abide_model::kind_of).collect();
        assert_eq!(kinds, ["ExternalRaised", "ExternalRaisedPersistent", "CancelInstance"]);
    }
}

#[tokio::test]
async fn a_name_is_started_once() {
    for store in every_store().await {
        let (client, past) = (Client::new(Arc::clone(&store)), Past(&*store));

        assert_eq!(client.start("a", "Order").input("x").await.unwrap(), Started::Created);
        past.taken_up("a").await;
        assert_eq!(client.start("a", "Order").await.unwrap(), Started::AlreadyExisted);
        let refused = client.start("a", "Order").or_refuse().await;
        assert!(matches!(refused, Err(StartError::AlreadyExists { .. })));
    }
}

#[tokio::test]
async fn of_many_who_start_a_name_at_once_one_creates_it() {
    for store in every_store().await {
        let client = Client::new(store);
        let starts = (0..16).map(|_| client.start("a", "Order").delay(PLENTY).or_refuse().send());

        let answers = join_all(starts).await;

        let created = answers.iter().filter(|answer| matches!(answer, Ok(Started::Created))).count();
        let refused =
            answers.iter().filter(|answer| matches!(answer, Err(StartError::AlreadyExists { .. }))).count();
        assert_eq!((created, refused), (1, 15), "a start that is not due yet takes the name too");
    }
}

#[tokio::test]
async fn a_wait_looks_when_it_is_told_and_not_otherwise() {
    for inner in [memory(), sqlite().await] {
        let store = Arc::new(Wrapper::new(inner));
        let (client, past) = (Client::new(store.clone()), Past(&*store));
        past.started("other").await;

        let turns = async {
            past.started("a").await;
            for n in 0..20 {
                past.said("other", &n.to_string()).await;
            }
            past.completed("a", "done").await;
        };
        let (ended, ()) = tokio::join!(biased; client.wait_for_orchestration("a", PLENTY), turns);

        assert!(matches!(ended.unwrap(), OrchestrationStatus::Completed { .. }));
        // At first, when it started and when it ended; and once if this machine was asleep for five seconds.
        assert!((2..=4).contains(&store.reads.calls()), "{}", store.reads.calls());
    }
}

#[tokio::test]
async fn nothing_that_never_comes_is_waited_for_too_long() {
    for store in every_store().await {
        let client = Client::new(store);
        let ended = client.wait_for_orchestration("nobody", millis(30)).await;
        assert!(matches!(ended, Err(ClientError::Timeout)));
    }
}

#[tokio::test]
async fn instances_are_managed() {
    for store in every_store().await {
        let (client, past) = (Client::new(Arc::clone(&store)), Past(&*store));
        past.started("a").await;
        past.started_child("a::sub::2", "a").await;
        past.started("b").await;
        past.completed("b", "done").await;

        let instances: Vec<_> = client.instances(InstanceQuery::new().limit(1)).try_collect().await.unwrap();
        assert_eq!(instances.len(), 3);
        let running = client.delete_instance("a", false).await;
        assert!(matches!(running, Err(ClientError::InstanceStillRunning { .. })));
        let child = client.delete_instance("a::sub::2", true).await;
        assert!(matches!(child, Err(ClientError::CannotDeleteSubOrchestration { .. })));
        let missing = client.delete_instance("c", false).await;
        assert!(matches!(missing, Err(ClientError::InstanceNotFound { .. })));
        assert_eq!(client.delete_instance("a", true).await.unwrap().instances_deleted, 2);
        assert_eq!(client.delete_instance("b", false).await.unwrap().instances_deleted, 1);
        assert_eq!(client.get_system_metrics().await.unwrap().total_instances, 0);
    }
}

#[tokio::test]
async fn blocked_instances_are_listed_and_counted() {
    for store in [memory(), sqlite().await] {
        let (client, past) = (Client::new(Arc::clone(&store)), Past(&*store));
        past.started("a").await;
        past.started("b").await;
        client.raise_event("b", "go", "").await.unwrap();
        let (_, token, _) =
            store.fetch_orchestration_item(PLENTY, Duration::ZERO, None).await.unwrap().unwrap();
        let block = BlockInstance {
            token,
            kind: BlockKind::Panic,
            detail: "it panicked".to_owned(),
            build: "b1".to_owned(),
            event_id: None,
            retry_after: Some(PLENTY),
        };
        store.block_instance(block).await.unwrap();

        let listed = client.list_instances(InstanceQuery::new()).await.unwrap().instances;
        let mut kinds: Vec<_> = listed
            .iter()
            .map(|each| (each.instance_id.as_str(), each.block.map(|block| block.kind)))
            .collect();
        kinds.sort_unstable();
        assert_eq!(kinds, [("a", None), ("b", Some(BlockKind::Panic))]);
        let blocked: Vec<_> = client.instances(InstanceQuery::new().blocked()).try_collect().await.unwrap();
        assert_eq!(blocked.iter().map(|each| each.instance_id.as_str()).collect::<Vec<_>>(), ["b"]);
        let counts = client.count_blocked().await.unwrap();
        assert_eq!(counts.by_kind, [(BlockKind::Panic, 1)]);
        assert_eq!(counts.oldest.map(|oldest| oldest.instance).as_deref(), Some("b"));
    }
}

#[tokio::test]
async fn a_client_is_used_from_many_threads_at_once() {
    let client = Client::new(sqlite().await);
    let starts = (0..8).map(|n| {
        let client = client.clone();
        tokio::task::spawn_blocking(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(async {
                for k in 0..20 {
                    client.start_orchestration(format!("{n}-{k}"), "Order", "").await.unwrap();
                }
            });
        })
    });
    for start in starts.collect::<Vec<_>>() {
        start.await.unwrap();
    }
    assert_eq!(client.get_queue_depths().await.unwrap().orchestrator_queue, 160);
}

#[tokio::test]
async fn a_start_that_is_queued_is_an_instance_for_every_call() {
    for store in every_store().await {
        let client = Client::new(Arc::clone(&store));
        if !store.abilities().has(Ability::Overviews) {
            continue;
        }
        client.start_orchestration("queued", "Order", "").await.unwrap();

        let info = client.get_instance_info("queued").await.unwrap();
        assert_eq!((info.orchestration_name.as_str(), info.status.as_str()), ("Order", "Running"));
        assert_eq!((info.current_execution_id, info.created_at), (1, 0));
        let pruned = client.prune_executions("queued", PruneOptions::default()).await.unwrap();
        assert_eq!((pruned.instances_processed, pruned.executions_deleted), (1, 0));
        let execution = client.get_execution_info("queued", 1).await.unwrap_err();
        assert!(matches!(execution, ClientError::Provider(_)), "{execution:?}");
        assert_eq!(client.blocks("queued").await.unwrap(), []);
        assert!(!client.retry("queued").await.unwrap());
    }
}

#[tokio::test]
async fn an_id_that_is_mistyped_is_not_found() {
    for store in every_store().await {
        let client = Client::new(store);
        let errors = [
            client.describe("typo").await.unwrap_err(),
            client.get_instance_info("typo").await.unwrap_err(),
            client.get_execution_info("typo", 1).await.unwrap_err(),
            client.prune_executions("typo", PruneOptions::default()).await.unwrap_err(),
            client.delete_instance("typo", true).await.unwrap_err(),
            client.blocks("typo").await.unwrap_err(),
            client.retry("typo").await.unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.to_string(), "Instance typo not found");
        }
    }
}
