//! A node in this process that starts instances while commits stall.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use abide_client::Client;
use abide_host::SystemClock;
use abide_model::{Clock as _, OrchestrationStatus};
use abide_postgres::PostgresProvider;
use abide_provider::{Provider, ProviderError};
use abide_runtime::Runtime;
use futures::StreamExt as _;
use futures::executor::block_on;
use futures::future::{Either, select};
use futures::stream::FuturesUnordered;

use super::{MOST, runtime_on, sessions, stuck, threads, wait_until_then};
use crate::support::database::{Database, wait_until};
use crate::support::items::start;

pub(super) struct Node<'d> {
    database: &'d Database,
    store: Arc<PostgresProvider>,
    client: Client,
    runtime: Arc<Runtime>,
    threads: tokio::runtime::Runtime,
    acknowledged: Mutex<Vec<String>>,
    refusal: Mutex<Option<ProviderError>>,
}

impl<'d> Node<'d> {
    /// Starts a node on this schema, which reaches its server by this URL. One instance has completed.
    pub(super) fn start(database: &'d Database, url: &str) -> Self {
        let builder = PostgresProvider::builder(url).schema(database.schema());
        let store = Arc::new(block_on(builder.open()).unwrap());
        let provider: Arc<dyn Provider> = store.clone();
        let (client, threads) = (Client::new(Arc::clone(&provider)), threads());
        let runtime = threads.block_on(async {
            let runtime = runtime_on(&provider).await;
            client.start_orchestration("before", "Order", "x").await.unwrap();
            assert_all_complete(&client, &[]).await;
            runtime
        });
        let (acknowledged, refusal) = (Mutex::default(), Mutex::default());
        Self { database, store, client, runtime, threads, acknowledged, refusal }
    }

    /// Starts instances until then, and watches how many sessions the node has; returns the most.
    pub(super) fn work_until(&self, until: Duration, mut tick: impl FnMut()) -> usize {
        let (is_over, clock) = (AtomicBool::new(false), SystemClock::new());
        let mut most = 0;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                threads().block_on(start_instances(&*self.store, "i", &is_over, &self.acknowledged));
            });
            scope.spawn(|| *self.refusal.lock().unwrap() = refusal_of(&self.store, &is_over));
            // Also if an assertion fails: the threads would not end.
            let _over = Over(&is_over);
            wait_until_then(&clock, until, || {
                let now = sessions(self.database);
                most = most.max(now);
                assert!(now <= MOST, "{now} sessions, {} of them stuck", stuck(self.database));
                tick();
            });
            assert!(stuck(self.database) >= 1);
        });
        most
    }

    /// While no session can be used, callers and the health of the runtime say why.
    pub(super) fn assert_says_why(&self) {
        let refusal = self.refusal.lock().unwrap().take().expect("one was refused");
        assert!(refusal.is_retryable(), "{refusal}");
        for part in ["SyncRep", "nothing more is sent", "synchronous_standby_names"] {
            assert!(refusal.message.contains(part), "{refusal}");
        }
        wait_until(|| self.runtime.health().stalled(Duration::from_secs(10)).is_some());
    }

    /// With the standby everything completes.
    pub(super) fn assert_completes(self) {
        // It refuses calls until it has seen that the server answers again.
        wait_until(|| self.threads.block_on(self.client.list_all_instances()).is_ok());
        self.threads.block_on(async {
            let acknowledged = std::mem::take(&mut *self.acknowledged.lock().unwrap());
            assert_all_complete(&self.client, &acknowledged).await;
            assert!(sessions(self.database) <= MOST);
            self.runtime.shutdown(None).await;
        });
    }
}

/// Starts another instance every 50 ms, and waits 2 s for each, until it is told to stop. None is started
/// twice: that would wait for the lock of the first start, and not for the standby.
pub(super) async fn start_instances(
    store: &dyn Provider,
    prefix: &str,
    is_over: &AtomicBool,
    acknowledged: &Mutex<Vec<String>>,
) {
    let clock = SystemClock::new();
    let mut under_way = FuturesUnordered::new();
    for number in 0.. {
        if is_over.load(Ordering::Acquire) {
            return;
        }
        let id = format!("{prefix}-{number}");
        let patience = clock.sleep_until(clock.monotonic() + Duration::from_secs(2));
        under_way.push(async move {
            match select(store.enqueue_for_orchestrator(start(&id), None), patience).await {
                Either::Left((Ok(()), _)) => Some(id),
                Either::Left((Err(_), _)) | Either::Right(_) => None,
            }
        });
        let mut next = clock.sleep_until(clock.monotonic() + Duration::from_millis(50));
        loop {
            match select(under_way.next(), &mut next).await {
                Either::Left((Some(answer), _)) => acknowledged.lock().unwrap().extend(answer),
                Either::Left((None, _)) => break next.await,
                Either::Right(_) => break,
            }
        }
    }
}

/// Every instance in the store comes to its end, the ones of this list among them.
pub(super) async fn assert_all_complete(client: &Client, acknowledged: &[String]) {
    for id in client.list_all_instances().await.unwrap().iter().chain(acknowledged) {
        let ended = client.wait_for_orchestration(id, Duration::from_secs(60)).await;
        assert!(matches!(ended, Ok(OrchestrationStatus::Completed { .. })), "{id}: {ended:?}");
    }
}

/// What a caller is told once no session can be used.
fn refusal_of(store: &PostgresProvider, is_over: &AtomicBool) -> Option<ProviderError> {
    while !is_over.load(Ordering::Acquire) {
        match block_on(store.read("before")) {
            Err(error) if error.message.contains("sessions that this node may use") => return Some(error),
            Ok(_) | Err(_) => {}
        }
    }
    None
}

/// Says so when it is dropped.
struct Over<'s>(&'s AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}
