//! The model, a wrapper around it that fails as it is told, and a client, all by one virtual clock.

use std::sync::Arc;
use std::time::Duration;

use abide_client::{Client, ClientBuilder};
use abide_memory::InMemoryProvider;
use abide_model::{Clock as _, WorkItem};
use abide_provider::Ability;

use super::admin::AdminFault;
use super::{Numbers, Past, Telling, VirtualClock, Wrapper};

pub(crate) struct World {
    pub(crate) client: Client,
    pub(crate) store: Arc<Wrapper>,
    pub(crate) clock: VirtualClock,
}

impl World {
    /// A store that can do everything.
    pub(crate) fn new() -> Self {
        Self::with(|_| ())
    }

    pub(crate) fn telling(telling: Telling) -> Self {
        Self::with(|store| store.telling = telling)
    }

    pub(crate) fn without_ability(ability: Ability) -> Self {
        Self::with(|store| store.abilities = store.abilities.without(ability))
    }

    pub(crate) fn without_admin() -> Self {
        Self::with(|store| store.admin = None)
    }

    pub(crate) fn with_admin(fault: AdminFault) -> Self {
        Self::with(|store| store.admin.as_mut().unwrap().fault = Some(fault))
    }

    fn with(change: impl FnOnce(&mut Wrapper)) -> Self {
        let clock = VirtualClock::new();
        let inner = InMemoryProvider::with_seams(Arc::new(clock.clone()), Arc::new(Numbers::default()));
        let mut store = Wrapper::new(Arc::new(inner));
        change(&mut store);
        let store = Arc::new(store);
        let client = builder(&store, &clock).build();
        Self { client, store, clock }
    }

    /// The same store, asked by a client with other settings.
    pub(crate) fn asked_by(self, change: impl FnOnce(ClientBuilder) -> ClientBuilder) -> Self {
        Self { client: change(builder(&self.store, &self.clock)).build(), ..self }
    }

    /// Writes histories.
    pub(crate) fn past(&self) -> Past<'_> {
        Past(&*self.store)
    }

    /// What is in the queue for this instance.
    pub(crate) async fn mail(&self, instance: &str) -> Vec<WorkItem> {
        self.past().mail(instance).await
    }

    /// How long the test has run.
    pub(crate) fn now(&self) -> Duration {
        self.clock.monotonic()
    }

    pub(crate) async fn at(&self, time: Duration) {
        self.clock.sleep_until(time).await;
    }
}

fn builder(store: &Arc<Wrapper>, clock: &VirtualClock) -> ClientBuilder {
    let store = Arc::clone(store);
    Client::builder(store).clock(Arc::new(clock.clone())).entropy(Arc::new(Numbers::default()))
}
