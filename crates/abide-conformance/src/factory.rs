//! What the author of a provider gives to the suite.

use std::sync::Arc;
use std::time::Duration;

use abide_host::SystemClock;
use abide_model::{Clock, Timestamp};
use abide_provider::Provider;
use async_trait::async_trait;

/// Makes providers to be tested, and does to them what no provider offers.
///
/// Only [`create_provider`](Self::create_provider) is required. Whatever else is implemented makes more validations
/// apply; [`hooks`](Self::hooks) says which.
#[async_trait]
pub trait ProviderFactory: Sync + Send {
    /// A provider on a store of its own, empty.
    async fn create_provider(&self) -> Arc<dyn Provider>;

    /// How long the leases of a test last. Shorter is faster; it must be longer than a slow call takes.
    fn lock_timeout(&self) -> Duration {
        Duration::from_secs(5)
    }

    /// Within which time a fetch that may not wait must have answered.
    fn short_poll_threshold(&self) -> Duration {
        Duration::from_millis(100)
    }

    /// Damages what is stored of an instance's current history, in the provider created last, so that no event of it can
    /// be read.
    async fn corrupt_instance_history(&self, _instance: &str) {
        panic!("this factory cannot damage a history: implement `corrupt_instance_history`")
    }

    /// The highest number of attempts among the queued messages of an instance, in the provider created last; a
    /// lease that is held counts.
    async fn get_max_attempt_count(&self, _instance: &str) -> u32 {
        panic!("this factory cannot look at attempts: implement `get_max_attempt_count`")
    }

    /// Damages every queued message of an instance, in the provider created last, so that it cannot be read.
    async fn corrupt_queued_messages(&self, _instance: &str) {
        panic!("this factory cannot damage messages: implement `corrupt_queued_messages`")
    }

    /// Damages every queued activity of an instance, in the provider created last, so that it cannot be read.
    async fn corrupt_queued_work(&self, _instance: &str) {
        panic!("this factory cannot damage activities: implement `corrupt_queued_work`")
    }

    /// Which of the methods above are implemented.
    fn hooks(&self) -> Hooks {
        Hooks::default()
    }

    /// Whether a fetch that finds nothing answers at once or waits.
    fn polling(&self) -> Polling {
        Polling::Short
    }

    /// Lets this much time pass by the clock of the providers that were created.
    ///
    /// The default waits. A factory whose providers take a clock can move that clock instead, and the whole suite
    /// takes a moment.
    async fn pass_time(&self, duration: Duration) {
        real_time(duration).await;
    }

    /// What time it is by the clock of the providers that were created.
    fn store_time(&self) -> Timestamp {
        SystemClock::new().wall()
    }

    /// A provider for the tests of waiting, which measure real time: one that is not on a clock moved by
    /// [`pass_time`](Self::pass_time).
    async fn create_provider_in_real_time(&self) -> Arc<dyn Provider> {
        self.create_provider().await
    }
}

/// Any factory as a type of its own, so that the functions that are generic over it are compiled once, here, and not again for
/// every factory of every test.
pub(crate) struct AnyFactory<'f>(pub(crate) &'f dyn ProviderFactory);

#[async_trait]
impl ProviderFactory for AnyFactory<'_> {
    async fn create_provider(&self) -> Arc<dyn Provider> {
        self.0.create_provider().await
    }

    fn lock_timeout(&self) -> Duration {
        self.0.lock_timeout()
    }

    fn short_poll_threshold(&self) -> Duration {
        self.0.short_poll_threshold()
    }

    async fn corrupt_instance_history(&self, instance: &str) {
        self.0.corrupt_instance_history(instance).await;
    }

    async fn get_max_attempt_count(&self, instance: &str) -> u32 {
        self.0.get_max_attempt_count(instance).await
    }

    async fn corrupt_queued_messages(&self, instance: &str) {
        self.0.corrupt_queued_messages(instance).await;
    }

    async fn corrupt_queued_work(&self, instance: &str) {
        self.0.corrupt_queued_work(instance).await;
    }

    fn hooks(&self) -> Hooks {
        self.0.hooks()
    }

    fn polling(&self) -> Polling {
        self.0.polling()
    }

    async fn pass_time(&self, duration: Duration) {
        self.0.pass_time(duration).await;
    }

    fn store_time(&self) -> Timestamp {
        self.0.store_time()
    }

    async fn create_provider_in_real_time(&self) -> Arc<dyn Provider> {
        self.0.create_provider_in_real_time().await
    }
}

/// Which optional methods of a factory are implemented.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hooks(u8);

impl Hooks {
    /// None.
    pub const NONE: Self = Self(0);

    /// All.
    pub const ALL: Self = Self::NONE
        .with(Hook::CorruptHistory)
        .with(Hook::CountAttempts)
        .with(Hook::CorruptQueues)
        .with(Hook::MoveTime);

    /// The same, with one more.
    #[must_use]
    pub const fn with(self, hook: Hook) -> Self {
        Self(self.0 | hook.bit())
    }

    /// Whether this one is among them.
    #[must_use]
    pub const fn has(self, hook: Hook) -> bool {
        self.0 & hook.bit() != 0
    }
}

/// An optional method of a factory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hook {
    /// [`ProviderFactory::corrupt_instance_history`].
    CorruptHistory,
    /// [`ProviderFactory::get_max_attempt_count`].
    CountAttempts,
    /// [`ProviderFactory::corrupt_queued_messages`] and [`ProviderFactory::corrupt_queued_work`].
    CorruptQueues,
    /// [`ProviderFactory::pass_time`] moves a clock, so that hours pass in a moment.
    MoveTime,
}

impl Hook {
    const fn bit(self) -> u8 {
        match self {
            Self::CorruptHistory => 1 << 0,
            Self::CountAttempts => 1 << 1,
            Self::CorruptQueues => 1 << 2,
            Self::MoveTime => 1 << 3,
        }
    }
}

/// How a provider answers a fetch that finds nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Polling {
    /// At once, whatever the poll timeout says.
    Short,
    /// When there is something, or when the poll timeout is over.
    Long,
}

#[expect(
    clippy::disallowed_methods,
    reason = "a store of somebody else has a clock of its own, and it is the real one"
)]
pub(crate) async fn real_time(duration: Duration) {
    tokio::time::sleep(duration).await;
}
