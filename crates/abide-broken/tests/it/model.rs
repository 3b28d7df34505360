//! The reference model as a healthy store, under a clock that the suite moves.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use abide_broken::{Healthy, HealthyStores, Inside};
use abide_conformance::{Hooks, Polling, ProviderFactory};
use abide_host::{SystemClock, SystemEntropy};
use abide_memory::{Dump, InMemoryProvider};
use abide_model::{Clock, Timestamp};
use abide_provider::Provider;
use async_trait::async_trait;

use crate::clock::{BentClock, ManualClock, bend};

/// Makes stores in memory, all under one clock.
pub(crate) struct Models {
    clock: ManualClock,
    last: Mutex<Option<Arc<InMemoryProvider>>>,
}

/// One of them, from within.
struct InsideModel {
    store: Arc<InMemoryProvider>,
    clock: Arc<dyn Clock>,
}

impl Inside for InsideModel {
    fn dump(&self) -> Dump {
        self.store.dump()
    }

    fn clock(&self) -> &dyn Clock {
        self.clock.as_ref()
    }

    fn bend(&self, time: Option<Timestamp>) {
        bend(time);
    }
}

impl Models {
    pub(crate) fn new() -> Self {
        Self { clock: ManualClock::new(), last: Mutex::new(None) }
    }

    fn last(&self) -> Arc<InMemoryProvider> {
        self.last.lock().unwrap().clone().expect("a provider was created")
    }
}

fn model(clock: Arc<dyn Clock>) -> (Arc<InMemoryProvider>, Healthy) {
    let store = Arc::new(InMemoryProvider::with_seams(Arc::clone(&clock), Arc::new(SystemEntropy)));
    let inside = Arc::new(InsideModel { store: Arc::clone(&store), clock });
    (Arc::clone(&store), Healthy { store, inside })
}

#[async_trait]
impl HealthyStores for Models {
    async fn create(&self) -> Healthy {
        let (store, healthy) = model(Arc::new(BentClock(self.clock.clone())));
        *self.last.lock().unwrap() = Some(store);
        healthy
    }

    async fn create_in_real_time(&self) -> Healthy {
        model(Arc::new(BentClock(SystemClock::new()))).1
    }
}

#[async_trait]
impl ProviderFactory for Models {
    async fn create_provider(&self) -> Arc<dyn Provider> {
        self.create().await.store
    }

    async fn create_provider_in_real_time(&self) -> Arc<dyn Provider> {
        self.create_in_real_time().await.store
    }

    async fn corrupt_instance_history(&self, instance: &str) {
        let store = self.last();
        let current = store.dump().instances.get(instance).map_or(0, |dump| dump.execution);
        store.make_history_unreadable(instance, current);
    }

    async fn get_max_attempt_count(&self, instance: &str) -> u32 {
        let dump = self.last().dump();
        let batch = dump.instances.get(instance).map(|dump| dump.batch.clone()).unwrap_or_default();
        let of_instance = dump.messages.iter().filter(|(_, message)| message.mailbox == instance);
        let counts =
            of_instance.map(|(number, message)| message.attempts + u32::from(batch.contains(number)));
        counts.max().unwrap_or(0)
    }

    async fn corrupt_queued_messages(&self, instance: &str) {
        let store = self.last();
        for (number, message) in store.dump().messages {
            if message.mailbox == instance {
                store.make_message_unreadable(number);
            }
        }
    }

    async fn corrupt_queued_work(&self, instance: &str) {
        let store = self.last();
        for (number, work) in store.dump().work {
            if work.instance == instance {
                store.make_work_unreadable(number);
            }
        }
    }

    fn hooks(&self) -> Hooks {
        Hooks::ALL
    }

    fn polling(&self) -> Polling {
        Polling::Long
    }

    async fn pass_time(&self, duration: Duration) {
        self.clock.advance(duration);
    }

    fn store_time(&self) -> Timestamp {
        self.clock.wall()
    }
}
