//! Stores without a mistake, and who makes them.

use std::fmt;
use std::sync::Arc;

use abide_conformance::ProviderFactory;
use abide_memory::Dump;
use abide_model::{Clock, Timestamp};
use abide_provider::{Provider, ProviderAdmin};
use async_trait::async_trait;

/// Both sides of a store. Nothing to implement.
pub trait Whole: Provider + ProviderAdmin {}

impl<P: Provider + ProviderAdmin> Whole for P {}

/// What bugs see and do behind a store's back. All of it blocks, and is called from async code.
pub trait Inside: Send + Sync {
    /// Everything the store holds, in the form of the model.
    fn dump(&self) -> Dump;

    /// By what the store goes. While time is bent, this says so.
    fn clock(&self) -> &dyn Clock;

    /// The store takes this for the time, until it is told `None`. Not asked of a store in real time.
    fn bend(&self, time: Option<Timestamp>);
}

/// A store without a mistake.
#[derive(Clone)]
pub struct Healthy {
    /// The store.
    pub store: Arc<dyn Whole>,
    /// Its inside.
    pub inside: Arc<dyn Inside>,
}

impl fmt::Debug for Healthy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Healthy").field("store", &self.store.name()).finish_non_exhaustive()
    }
}

/// A factory that shows the inside of what it makes.
#[async_trait]
pub trait HealthyStores: ProviderFactory {
    /// [`ProviderFactory::create_provider`].
    async fn create(&self) -> Healthy;

    /// [`ProviderFactory::create_provider_in_real_time`].
    async fn create_in_real_time(&self) -> Healthy;
}
