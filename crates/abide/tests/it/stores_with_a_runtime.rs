//! What the suite tries with a runtime on the provider, on every store of ours.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use abide::provider_stress_tests::large_payload::{LargePayloadConfig, run_large_payload_test_with_config};
use abide::provider_stress_tests::parallel_orchestrations::{
    ProviderStressFactory, run_parallel_orchestrations_test_with_config,
};
use abide::provider_stress_tests::{StressTestConfig, print_comparison_table};
use abide::provider_validations::{ProviderFactory, race_replay};
use abide::providers::Provider;
use abide::providers::memory::InMemoryProvider;
use abide::providers::sqlite::SqliteProvider;
use async_trait::async_trait;

struct Memory;
struct SqliteInMemory;

/// Files in a directory of their own, removed at the end.
struct SqliteFiles {
    dir: PathBuf,
    next: AtomicU64,
}

impl SqliteFiles {
    fn new(test: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("abide-facade-{}-{test}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        Self { dir, next: AtomicU64::new(0) }
    }

    async fn open(&self) -> Arc<dyn Provider> {
        let file = self.dir.join(format!("{}.db", self.next.fetch_add(1, Ordering::Relaxed)));
        Arc::new(SqliteProvider::new(file.to_str().unwrap(), None).await.unwrap())
    }
}

impl Drop for SqliteFiles {
    fn drop(&mut self) {
        let _gone = std::fs::remove_dir_all(&self.dir);
    }
}

#[async_trait]
impl ProviderFactory for Memory {
    async fn create_provider(&self) -> Arc<dyn Provider> {
        Arc::new(InMemoryProvider::new())
    }
}

#[async_trait]
impl ProviderFactory for SqliteInMemory {
    async fn create_provider(&self) -> Arc<dyn Provider> {
        Arc::new(SqliteProvider::new_in_memory().await.unwrap())
    }
}

#[async_trait]
impl ProviderFactory for SqliteFiles {
    async fn create_provider(&self) -> Arc<dyn Provider> {
        self.open().await
    }
}

#[async_trait]
impl ProviderStressFactory for SqliteFiles {
    async fn create_provider(&self) -> Arc<dyn Provider> {
        self.open().await
    }
}

async fn all_races<F: ProviderFactory>(factory: &F) {
    race_replay::test_duplicate_start_preserves_pinned_handler(factory).await;
    race_replay::test_continue_as_new_unregistered_backoff(factory).await;
    race_replay::test_continue_as_new_poisoned_successor_is_own_execution(factory).await;
    race_replay::test_continue_as_new_duplicate_start(factory).await;
    for stamp in ["0.1.30", "0.1.32", "0.2.0"] {
        race_replay::test_continue_as_new_transition_delivery(factory, stamp).await;
    }
    race_replay::test_queue_race_cancellation_replay(factory).await;
    race_replay::test_continue_as_new_queue_race_replay(factory).await;
    race_replay::test_queue_replay_version_stamp_roundtrip(factory).await;
    race_replay::test_positional_wait_race_replay(factory).await;
    race_replay::test_legacy_queue_race_decision_preserved(factory).await;
}

#[tokio::test]
async fn races_are_replayed_on_memory() {
    all_races(&Memory).await;
}

#[tokio::test]
async fn races_are_replayed_on_sqlite_in_memory() {
    all_races(&SqliteInMemory).await;
}

#[tokio::test]
async fn races_are_replayed_on_sqlite_files() {
    all_races(&SqliteFiles::new("races")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_fails_under_stress() {
    let factory = SqliteFiles::new("stress");
    let base = StressTestConfig { duration_secs: 1, activity_delay_ms: 1, ..StressTestConfig::default() };
    let fan_out = run_parallel_orchestrations_test_with_config(&factory, base.clone()).await.unwrap();
    let large = LargePayloadConfig {
        base: StressTestConfig { max_concurrent: 3, ..base },
        activity_count: 3,
        sub_orch_count: 2,
        ..LargePayloadConfig::default()
    };
    let large = run_large_payload_test_with_config(&factory, large).await.unwrap();
    print_comparison_table(&[
        ("SQLite file".to_owned(), "fan-out".to_owned(), fan_out.clone()),
        ("SQLite file".to_owned(), "large payloads".to_owned(), large.clone()),
    ]);
    for result in [fan_out, large] {
        assert!(result.completed > 0 && result.failed == 0, "{result:?}");
        assert!((result.success_rate() - 100.0).abs() < f64::EPSILON, "{result:?}");
    }
}
