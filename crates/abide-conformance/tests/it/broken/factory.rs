//! Makes broken providers, all under one clock.

use std::sync::Arc;
use std::time::Duration;

use abide_conformance::{Hooks, Polling, ProviderFactory};
use abide_host::{SystemClock, SystemEntropy};
use abide_memory::InMemoryProvider;
use abide_model::{Clock, Timestamp};
use abide_provider::Provider;
use async_trait::async_trait;

use super::bug::Bug;
use super::clock::BentClock;
use super::provider::Broken;
use super::store::Store;
use crate::model::ModelFactory;

/// Plants one bug in every provider it makes.
pub(super) struct BrokenFactory {
    model: ModelFactory,
    plant: fn() -> Box<dyn Bug>,
}

impl BrokenFactory {
    pub(super) fn new(plant: fn() -> Box<dyn Bug>) -> Self {
        Self { model: ModelFactory::new(), plant }
    }

    fn broken(&self, model: Arc<InMemoryProvider>, clock: Arc<dyn Clock>) -> Arc<dyn Provider> {
        Arc::new(Broken::new((self.plant)(), Store::new(model, clock)))
    }
}

#[async_trait]
impl ProviderFactory for BrokenFactory {
    async fn create_provider(&self) -> Arc<dyn Provider> {
        let clock: Arc<dyn Clock> = Arc::new(BentClock(self.model.clock().clone()));
        self.broken(self.model.create_on(Arc::clone(&clock)), clock)
    }

    async fn create_provider_in_real_time(&self) -> Arc<dyn Provider> {
        let clock: Arc<dyn Clock> = Arc::new(BentClock(SystemClock::new()));
        let model = InMemoryProvider::with_seams(Arc::clone(&clock), Arc::new(SystemEntropy));
        self.broken(Arc::new(model), clock)
    }

    async fn corrupt_instance_history(&self, instance: &str) {
        self.model.corrupt_instance_history(instance).await;
    }

    async fn get_max_attempt_count(&self, instance: &str) -> u32 {
        self.model.get_max_attempt_count(instance).await
    }

    async fn corrupt_queued_messages(&self, instance: &str) {
        self.model.corrupt_queued_messages(instance).await;
    }

    async fn corrupt_queued_work(&self, instance: &str) {
        self.model.corrupt_queued_work(instance).await;
    }

    fn hooks(&self) -> Hooks {
        self.model.hooks()
    }

    fn polling(&self) -> Polling {
        (self.plant)().polling()
    }

    async fn pass_time(&self, duration: Duration) {
        self.model.pass_time(duration).await;
    }

    fn store_time(&self) -> Timestamp {
        self.model.store_time()
    }
}
