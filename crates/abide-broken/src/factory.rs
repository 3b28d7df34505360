//! Plants a bug in every store that a factory makes.

use std::sync::Arc;
use std::time::Duration;

use abide_conformance::{Hooks, Polling, ProviderFactory};
use abide_model::Timestamp;
use abide_provider::Provider;
use async_trait::async_trait;

use crate::bug::Bug;
use crate::healthy::{Healthy, HealthyStores};
use crate::provider::Broken;
use crate::store::Store;

/// Plants one bug in every provider it makes.
pub(crate) struct BrokenFactory<'s> {
    stores: &'s dyn HealthyStores,
    plant: fn() -> Box<dyn Bug>,
}

impl<'s> BrokenFactory<'s> {
    pub(crate) fn new(stores: &'s dyn HealthyStores, plant: fn() -> Box<dyn Bug>) -> Self {
        Self { stores, plant }
    }

    fn broken(&self, healthy: Healthy) -> Arc<dyn Provider> {
        Arc::new(Broken::new((self.plant)(), Store::new(healthy)))
    }
}

#[async_trait]
impl ProviderFactory for BrokenFactory<'_> {
    async fn create_provider(&self) -> Arc<dyn Provider> {
        self.broken(self.stores.create().await)
    }

    async fn create_provider_in_real_time(&self) -> Arc<dyn Provider> {
        self.broken(self.stores.create_in_real_time().await)
    }

    fn lock_timeout(&self) -> Duration {
        self.stores.lock_timeout()
    }

    fn short_poll_threshold(&self) -> Duration {
        self.stores.short_poll_threshold()
    }

    async fn corrupt_instance_history(&self, instance: &str) {
        self.stores.corrupt_instance_history(instance).await;
    }

    async fn get_max_attempt_count(&self, instance: &str) -> u32 {
        self.stores.get_max_attempt_count(instance).await
    }

    async fn corrupt_queued_messages(&self, instance: &str) {
        self.stores.corrupt_queued_messages(instance).await;
    }

    async fn corrupt_queued_work(&self, instance: &str) {
        self.stores.corrupt_queued_work(instance).await;
    }

    fn hooks(&self) -> Hooks {
        self.stores.hooks()
    }

    fn polling(&self) -> Polling {
        (self.plant)().polling()
    }

    async fn pass_time(&self, duration: Duration) {
        self.stores.pass_time(duration).await;
    }

    fn store_time(&self) -> Timestamp {
        self.stores.store_time()
    }
}
