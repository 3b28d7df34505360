//! Threads: those that user code occupies, those that are not tokio's, and a tokio without timers. In real time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use abide_client::Client;
use abide_engine::OrchestrationContext;
use abide_host::SystemClock;
use abide_memory::InMemoryProvider;
use abide_model::{Clock as _, OrchestrationStatus};
use abide_provider::{Operation, Provider};
use abide_runtime::registry::{ActivityRegistry, OrchestrationRegistry};
use abide_runtime::{ActivityContext, Runtime, RuntimeOptions, StartError};
use abide_sim::FaultStore;
use abide_sqlite::SqliteProvider;

use crate::support::output;

const LIMIT: Duration = Duration::from_secs(60);
/// More than there are threads.
const MANY: u64 = 8;

fn one_thread() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// A SQLite store whose calls are counted.
async fn counted() -> Arc<FaultStore> {
    let sqlite = Arc::new(SqliteProvider::new_in_memory().await.unwrap());
    Arc::new(FaultStore::new(sqlite, Arc::new(SystemClock::new())))
}

fn short_leases() -> RuntimeOptions {
    let lease = Duration::from_millis(300);
    RuntimeOptions {
        orchestrator_lock_timeout: lease,
        worker_lock_timeout: lease,
        ..RuntimeOptions::default()
    }
}

/// Blocks this thread until this call was made so often.
fn block_until(store: &FaultStore, operation: Operation, count: u64) {
    let clock = SystemClock::new();
    while store.count(operation) < count {
        assert!(clock.monotonic() < LIMIT, "{operation} was made {} times", store.count(operation));
        std::thread::yield_now();
    }
}

#[test]
fn an_activity_that_blocks_the_only_thread_keeps_its_lease_and_those_behind_it_go_back() {
    one_thread().block_on(async {
        let (store, runs) = (counted().await, Arc::new(AtomicU64::new(0)));
        let (of_handler, counts) = (store.clone(), runs.clone());
        let activities = ActivityRegistry::builder()
            .register("Blocks", move |_: ActivityContext, input: String| {
                // The first holds the only thread until its lease was renewed long enough to have run out.
                if counts.fetch_add(1, Ordering::Relaxed) == 0 {
                    block_until(&of_handler, Operation::RenewWorkItemLock, 5);
                    block_until(&of_handler, Operation::AbandonWorkItem, MANY - 1);
                }
                async move { Ok(input) }
            })
            .build();
        let orchestrations = OrchestrationRegistry::builder()
            .register("Many", |ctx: OrchestrationContext, _| async move {
                let all = (0..MANY).map(|number| ctx.schedule_activity("Blocks", number.to_string()));
                Ok(ctx.join(all.collect()).await.len().to_string())
            })
            .build();
        let node =
            Runtime::start_with_options(store.clone(), activities, orchestrations, short_leases()).await;
        let client = Client::new(store);
        client.start_orchestration("i", "Many", "").await.unwrap();
        let status = client.wait_for_orchestration("i", LIMIT).await.unwrap();
        assert_eq!(output(status), MANY.to_string());
        assert_eq!(runs.load(Ordering::Relaxed), MANY);
        node.shutdown(None).await;
    });
}

#[test]
fn a_turn_that_blocks_the_only_thread_keeps_its_lease_and_those_behind_it_go_back() {
    one_thread().block_on(async {
        let (store, runs) = (counted().await, Arc::new(AtomicU64::new(0)));
        let (of_code, counts) = (store.clone(), runs.clone());
        let orchestrations = OrchestrationRegistry::builder()
            .register("Blocks", move |_: OrchestrationContext, input: String| {
                let (store, counts) = (of_code.clone(), counts.clone());
                async move {
                    if counts.fetch_add(1, Ordering::Relaxed) == 0 {
                        block_until(&store, Operation::RenewOrchestrationItemLock, 5);
                        block_until(&store, Operation::AbandonOrchestrationItem, MANY - 1);
                    }
                    Ok(input)
                }
            })
            .build();
        let client = Client::new(store.clone());
        for number in 0..MANY {
            client.start_orchestration(format!("i-{number}"), "Blocks", "").await.unwrap();
        }
        let activities = ActivityRegistry::builder().build();
        let node =
            Runtime::start_with_options(store.clone(), activities, orchestrations, short_leases()).await;
        for number in 0..MANY {
            client.wait_for_orchestration(&format!("i-{number}"), LIMIT).await.unwrap();
        }
        assert_eq!(runs.load(Ordering::Relaxed), MANY);
        node.shutdown(None).await;
    });
}

#[test]
fn an_activity_may_use_its_client_on_a_thread_of_its_own() {
    one_thread().block_on(async {
        let store: Arc<dyn Provider> = Arc::new(InMemoryProvider::new());
        let activities = ActivityRegistry::builder()
            .register("Asks", |ctx: ActivityContext, _| async move {
                let client = ctx.get_client();
                let (tell, told) = tokio::sync::oneshot::channel();
                std::thread::scope(|scope| {
                    scope.spawn(move || {
                        let wait = client.wait_for_orchestration("nobody", Duration::from_millis(1));
                        tell.send(futures::executor::block_on(wait).unwrap_err().to_string())
                    });
                });
                told.await.map_err(|error| error.to_string())
            })
            .build();
        let orchestrations = OrchestrationRegistry::builder()
            .register("Main", |ctx: OrchestrationContext, _| async move {
                ctx.schedule_activity("Asks", "").await
            })
            .build();
        let node = Runtime::start_with_store(store.clone(), activities, orchestrations).await;
        let client = Client::new(store);
        client.start_orchestration("i", "Main", "").await.unwrap();
        assert_eq!(output(client.wait_for_orchestration("i", LIMIT).await.unwrap()), "Operation timed out");
        node.shutdown(None).await;
    });
}

#[test]
fn a_tokio_without_timers_is_refused() {
    let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let store = Arc::new(InMemoryProvider::new());
    let refused = tokio.block_on(Runtime::builder().with_provider(store).build()).unwrap_err();
    assert_eq!(refused, StartError::NoTimers);
    assert!(refused.to_string().contains("enable_time"), "{refused}");
}

/// What panics when it is dropped, and again.
struct Bomb(u32);

impl Drop for Bomb {
    fn drop(&mut self) {
        if self.0 > 0 {
            std::panic::panic_any(Self(self.0 - 1));
        }
    }
}

#[test]
fn a_panic_whose_payload_panics_is_a_failure_of_its_activity() {
    one_thread().block_on(async {
        let store: Arc<dyn Provider> = Arc::new(InMemoryProvider::new());
        let (told, runs) = mpsc::channel();
        let activities = ActivityRegistry::builder()
            .register("Panics", move |_: ActivityContext, depth: String| {
                let told = told.clone();
                async move {
                    told.send(()).map_err(|error| error.to_string())?;
                    std::panic::panic_any(Bomb(depth.parse().unwrap()))
                }
            })
            .build();
        let orchestrations = OrchestrationRegistry::builder()
            .register("Main", |ctx: OrchestrationContext, depth| async move {
                ctx.schedule_activity("Panics", depth).await
            })
            .build();
        let node = Runtime::start_with_store(store.clone(), activities, orchestrations).await;
        let client = Client::new(store);
        for depth in ["0", "1", "2"] {
            client.start_orchestration(depth, "Main", depth).await.unwrap();
            let OrchestrationStatus::Failed { details, .. } =
                client.wait_for_orchestration(depth, LIMIT).await.unwrap()
            else {
                panic!("it has not failed")
            };
            assert_eq!(details.display_message(), "activity 'Panics' panicked: no message");
        }
        assert_eq!(runs.try_iter().count(), 3, "once each");
        node.shutdown(None).await;
    });
}

#[test]
fn an_instance_that_goes_on_for_ever_leaves_the_only_thread_to_others() {
    let (done, is_done) = mpsc::channel();
    #[expect(clippy::disallowed_methods, reason = "if it kept the thread, no timer would fire on it")]
    std::thread::spawn(move || {
        one_thread().block_on(async {
            // It answers at once.
            let store = Arc::new(InMemoryProvider::new());
            let orchestrations = OrchestrationRegistry::builder()
                .register("Forever", |ctx: OrchestrationContext, input: String| async move {
                    ctx.continue_as_new(input).await
                })
                .build();
            let activities = ActivityRegistry::builder().build();
            let runtime = Runtime::start_with_store(store.clone(), activities, orchestrations).await;
            let client = Client::new(store);
            client.start_orchestration("i", "Forever", "").await.unwrap();
            while client.list_executions("i").await.unwrap().len() < 100 {
                tokio::task::yield_now().await;
            }
            client.cancel_instance("i", "enough").await.unwrap();
            let end = client.wait_for_orchestration("i", LIMIT).await.unwrap();
            assert!(matches!(end, OrchestrationStatus::Failed { .. }), "{end:?}");
            runtime.shutdown(None).await;
        });
        done.send(()).unwrap();
    });
    is_done.recv_timeout(LIMIT).expect("others have their turn");
}
