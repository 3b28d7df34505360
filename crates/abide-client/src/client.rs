//! The client itself: a store, a clock, a source of keys, and how long to be patient.
//!
//! What it can do is in the other files, one `impl` block a subject.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use abide_host::{SystemClock, SystemEntropy};
use abide_model::limits::DEFAULT_MAX_PAYLOAD_BYTES;
use abide_model::{Clock, Entropy};
use abide_provider::Provider;

/// Starts, signals, waits for, looks at and manages the orchestrations of one store.
///
/// Cheap to clone; clones share everything. Dropping it, or any of its futures, ends nothing: what was sent is sent.
#[derive(Clone)]
pub struct Client {
    shared: Arc<ClientBuilder>,
}

impl Client {
    /// A client of this store.
    pub fn new(store: Arc<dyn Provider>) -> Self {
        Self::builder(store).build()
    }

    /// Returns the same client with another [`call_timeout`](ClientBuilder::call_timeout), for one read of many
    /// mebibytes over a slow connection.
    #[must_use]
    pub fn with_call_timeout(&self, timeout: Duration) -> Self {
        ClientBuilder::clone(&self.shared).call_timeout(timeout).build()
    }

    /// The same with a choice of clock, entropy and patience.
    pub fn builder(store: Arc<dyn Provider>) -> ClientBuilder {
        ClientBuilder {
            store,
            clock: Arc::new(SystemClock::new()),
            entropy: Arc::new(SystemEntropy),
            call_timeout: Duration::from_secs(5),
            bulk_timeout: Duration::from_secs(60),
            retry_for: Duration::from_secs(10),
            safety_net: Duration::from_secs(5),
            blocks_end_waits: false,
            max_payload_bytes: DEFAULT_MAX_PAYLOAD_BYTES,
        }
    }

    pub(crate) fn store(&self) -> &dyn Provider {
        &*self.shared.store
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.shared.clock
    }

    pub(crate) fn entropy(&self) -> &dyn Entropy {
        &*self.shared.entropy
    }

    pub(crate) fn now(&self) -> Duration {
        self.clock().monotonic()
    }

    pub(crate) fn call_timeout(&self) -> Duration {
        self.shared.call_timeout
    }

    pub(crate) fn bulk_timeout(&self) -> Duration {
        self.shared.bulk_timeout
    }

    pub(crate) fn retry_for(&self) -> Duration {
        self.shared.retry_for
    }

    pub(crate) fn safety_net(&self) -> Duration {
        self.shared.safety_net
    }

    pub(crate) fn blocks_end_waits(&self) -> bool {
        self.shared.blocks_end_waits
    }

    pub(crate) fn max_payload_bytes(&self) -> usize {
        self.shared.max_payload_bytes
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("store", &self.store().name()).finish_non_exhaustive()
    }
}

/// A client to be made. The defaults are right for almost everybody.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// use abide_client::Client;
/// use abide_memory::InMemoryProvider;
///
/// let store = Arc::new(InMemoryProvider::new());
/// let client = Client::builder(store).retry_for(Duration::from_secs(60)).build();
/// # let _client = client;
/// ```
#[derive(Clone)]
#[must_use]
pub struct ClientBuilder {
    store: Arc<dyn Provider>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    call_timeout: Duration,
    bulk_timeout: Duration,
    retry_for: Duration,
    safety_net: Duration,
    blocks_end_waits: bool,
    max_payload_bytes: usize,
}

impl ClientBuilder {
    /// By which clock to wait.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Where the keys of messages come from. Two clients of one store must not draw the same ones.
    pub fn entropy(mut self, entropy: Arc<dyn Entropy>) -> Self {
        self.entropy = entropy;
        self
    }

    /// Ends a wait for an orchestration with an error as soon as the instance is blocked, for tests: nobody is going to
    /// repair it there. Otherwise a wait lasts until its timeout.
    pub fn end_waits_at_blocks(mut self) -> Self {
        self.blocks_end_waits = true;
        self
    }

    /// How long one call of the store may take: five seconds unless told, and a second more for each mebibyte
    /// that is sent. A store that is silent for longer counts as one whose answer was lost.
    ///
    /// A wait reads again, and gives the store more time each time, up to a second more for each mebibyte of
    /// [`max_payload_bytes`](Self::max_payload_bytes). A single read has this time only: raise it where outputs
    /// of many mebibytes are read over a slow connection, or use [`Client::with_call_timeout`].
    pub fn call_timeout(mut self, timeout: Duration) -> Self {
        self.call_timeout = timeout;
        self
    }

    /// The same for calls that take the longer the more there is: whole histories, lists without pages, deleting and
    /// pruning. A minute unless told.
    pub fn bulk_timeout(mut self, timeout: Duration) -> Self {
        self.bulk_timeout = timeout;
        self
    }

    /// How long a message is sent again while the store fails: ten seconds unless told, half an hour at most. Zero sends it
    /// once.
    pub fn retry_for(mut self, budget: Duration) -> Self {
        // Stores remember a message for an hour. Sent again later, it would count as another one.
        const LONGEST: Duration = Duration::from_secs(30 * 60);

        self.retry_for = budget.min(LONGEST);
        self
    }

    /// How long a wait trusts a store that says it tells of changes, before it looks for itself: five seconds unless told.
    /// For tests in virtual time, in which a wait of a year would look six million times.
    pub fn safety_net(mut self, pause: Duration) -> Self {
        self.safety_net = pause;
        self
    }

    /// Sets the largest payload that is sent: an input, an event, a message. 64 MiB unless told. A larger one
    /// is refused with [`ClientError::InvalidInput`](crate::ClientError::InvalidInput), and nothing is
    /// stored. Nodes have the same option for what orchestrations and activities store.
    pub fn max_payload_bytes(mut self, limit: usize) -> Self {
        self.max_payload_bytes = limit;
        self
    }

    /// Makes it.
    #[must_use]
    pub fn build(self) -> Client {
        Client { shared: Arc::new(self) }
    }
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder")
            .field("store", &self.store.name())
            .field("call_timeout", &self.call_timeout)
            .field("bulk_timeout", &self.bulk_timeout)
            .field("retry_for", &self.retry_for)
            .field("safety_net", &self.safety_net)
            .field("max_payload_bytes", &self.max_payload_bytes)
            .finish_non_exhaustive()
    }
}
