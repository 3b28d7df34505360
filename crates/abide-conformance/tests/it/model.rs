//! The reference model under a clock that the suite moves.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use abide_conformance::{Hooks, Polling, ProviderFactory};
use abide_host::SystemEntropy;
use abide_memory::InMemoryProvider;
use abide_model::{Clock, Sleep, Timestamp};
use abide_provider::Provider;
use async_trait::async_trait;

/// Time stands still until it is advanced.
#[derive(Debug, Clone)]
pub(crate) struct ManualClock(Arc<Mutex<Timestamp>>);

impl ManualClock {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(Timestamp::from_millis(1_700_000_000_000))))
    }

    pub(crate) fn advance(&self, by: Duration) {
        let mut now = self.0.lock().unwrap();
        *now = now.saturating_add(by);
    }
}

impl Clock for ManualClock {
    fn wall(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(self.wall().as_millis())
    }

    fn sleep_until(&self, _monotonic: Duration) -> Sleep {
        Box::pin(std::future::pending())
    }
}

/// Makes stores in memory, all under one clock.
pub(crate) struct ModelFactory {
    clock: ManualClock,
    last: Mutex<Option<Arc<InMemoryProvider>>>,
}

impl ModelFactory {
    pub(crate) fn new() -> Self {
        Self { clock: ManualClock::new(), last: Mutex::new(None) }
    }

    /// A new store, which the hooks are about from now on.
    pub(crate) fn create(&self) -> Arc<InMemoryProvider> {
        let clock = Arc::new(self.clock.clone());
        let store = Arc::new(InMemoryProvider::with_seams(clock, Arc::new(SystemEntropy)));
        *self.last.lock().unwrap() = Some(Arc::clone(&store));
        store
    }

    fn last(&self) -> Arc<InMemoryProvider> {
        self.last.lock().unwrap().clone().expect("a provider was created")
    }
}

#[async_trait]
impl ProviderFactory for ModelFactory {
    async fn create_provider(&self) -> Arc<dyn Provider> {
        self.create()
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

    async fn create_provider_in_real_time(&self) -> Arc<dyn Provider> {
        Arc::new(InMemoryProvider::new())
    }
}
