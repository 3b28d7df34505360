//! Several dispatchers at once.

use std::sync::Arc;
use std::time::Duration;

use abide_provider::{Provider, ProviderError};

use crate::support::{Ack, Subject, Turn, beside};

/// How often a dispatcher tries again when the store asks for it.
const PATIENCE: usize = 100;

/// Lets so many dispatchers fetch at the same time; what they got.
pub(crate) async fn contend(store: &Subject<'_>, dispatchers: usize) -> Vec<Turn> {
    let fetches: Vec<_> = (0..dispatchers)
        .map(|_| {
            let (provider, lock) = (store.shared(), store.lock());
            beside(async move { fetch_beside_others(&provider, lock).await })
        })
        .collect();
    let mut turns = Vec::new();
    for fetch in fetches {
        turns.extend(fetch.await.expect("a fetch answers, and does not panic"));
    }
    turns
}

/// One fetch that does not wait. A store in use by others may ask to try again.
pub(crate) async fn fetch_beside_others(provider: &Arc<dyn Provider>, lock: Duration) -> Option<Turn> {
    for _ in 0..PATIENCE {
        match provider.fetch_orchestration_item(lock, Duration::ZERO, None).await {
            Ok(fetched) => return fetched.map(|(item, token, attempt)| Turn { item, token, attempt }),
            Err(error) => assert!(error.is_retryable(), "a fetch failed for good: {error}"),
        }
        tokio::task::yield_now().await;
    }
    panic!("the store asked {PATIENCE} times to try again");
}

/// Commits a turn, from whatever task. A store in use by others may ask to try again.
pub(crate) async fn commit(provider: &dyn Provider, token: &str, ack: Ack) -> Result<(), ProviderError> {
    for _ in 0..PATIENCE {
        match commit_once(provider, token, ack.clone()).await {
            Err(error) if error.is_retryable() => tokio::task::yield_now().await,
            answer => return answer,
        }
    }
    panic!("the store asked {PATIENCE} times to try again");
}

async fn commit_once(provider: &dyn Provider, token: &str, ack: Ack) -> Result<(), ProviderError> {
    let Ack { instance: _, execution_id, events, worker_items, orchestrator_items, metadata, cancelled } =
        ack;
    let acked = provider.ack_orchestration_item(
        token,
        execution_id,
        events,
        worker_items,
        orchestrator_items,
        metadata,
        cancelled,
    );
    acked.await
}
