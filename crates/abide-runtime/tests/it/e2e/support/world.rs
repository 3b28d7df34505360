//! Where a scenario runs.
//!
//! Each is written once and runs over four stores: the one in memory, the same with the required methods of a provider
//! only, both in virtual time and on one thread; a SQLite file, and PostgreSQL where there is a server, in real time, on several
//! threads, put together as a user's program does it. What takes long runs on these in virtual time instead.
//!
//! Nothing sleeps in order to wait: scenarios wait for what they are about, and fail if it does not come.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use abide_client::Client;
use abide_host::SystemClock;
use abide_memory::InMemoryProvider;
use abide_model::{Clock, ErrorDetails, OrchestrationStatus};
use abide_provider::{Ability, Provider};
use abide_runtime::registry::{ActivityRegistry, OrchestrationRegistry};
use abide_runtime::{Runtime, RuntimeOptions};
use abide_sim::{LocalTasks, RequiredOnly, SeededEntropy, VirtualClock, simulate};
use abide_sqlite::SqliteProvider;
use futures::future::{Either, select};

use super::file::{Folder, open_at};
use super::postgres::{self, Guest, Room};
use super::{LONG, Node, millis, seconds};

/// Which store a scenario runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// In memory, in virtual time.
    Memory,
    /// The same, seen through the required methods only: it neither wakes nor pushes, and every turn is a replay.
    RequiredOnly,
    /// A SQLite file, in real time.
    File,
    /// A SQLite file, in virtual time, seen through the required methods only.
    FileInVirtualTime,
    /// PostgreSQL, in real time.
    Postgres,
    /// PostgreSQL, in virtual time, seen through the required methods only.
    PostgresInVirtualTime,
}

/// How long a scenario may take in real time. It is over long before, unless it hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a scenario may take in virtual time.
const A_DAY: Duration = Duration::from_secs(24 * 3_600);

/// Between the first two looks for something that nobody tells of; then twice as long each time.
const FIRST_LOOK: Duration = Duration::from_millis(1);

/// Runs a scenario over all stores.
pub(crate) fn on_every_store(scenario: impl AsyncFn(World)) {
    in_virtual_time(Place::RequiredOnly, &scenario);
    on_own_stores(scenario);
}

/// Runs a scenario over a store that has only the required methods.
pub(crate) fn on_required_only(scenario: impl AsyncFn(World)) {
    in_virtual_time(Place::RequiredOnly, &scenario);
}

/// Runs a scenario over our stores: what it shows needs more than the required methods.
pub(crate) fn on_own_stores(scenario: impl AsyncFn(World)) {
    in_virtual_time(Place::Memory, &scenario);
    in_real_time(scenario);
}

/// Runs a scenario over the stores that are for more than tests: what it shows needs real time.
pub(crate) fn in_real_time(scenario: impl AsyncFn(World)) {
    on_a_file(&scenario);
    on_postgres(scenario);
}

/// Runs a scenario in virtual time, over all stores that can be had there: what it shows takes long.
pub(crate) fn virtually(scenario: impl AsyncFn(World)) {
    in_virtual_time(Place::Memory, &scenario);
    in_virtual_time(Place::RequiredOnly, &scenario);
    in_virtual_time(Place::FileInVirtualTime, &scenario);
    if let Some(guest) = Guest::enter(postgres::Time::Set) {
        println!("{:?}:", Place::PostgresInVirtualTime);
        simulate(A_DAY, async { scenario(World::on_virtual_postgres(guest.room().clone())).await });
    }
}

fn in_virtual_time(place: Place, scenario: &impl AsyncFn(World)) {
    println!("{place:?}:");
    simulate(A_DAY, async { scenario(World::virtual_at(place)).await });
}

fn on_a_file(scenario: &impl AsyncFn(World)) {
    println!("{:?}:", Place::File);
    as_it_is(async { scenario(World::on_file().await).await });
}

/// Runs a scenario on PostgreSQL, in real time.
pub(crate) fn on_postgres(scenario: impl AsyncFn(World)) {
    // Whoever is in a room leaves it when all tasks are gone.
    let Some(guest) = Guest::enter(postgres::Time::Servers) else { return };
    println!("{:?}:", Place::Postgres);
    as_it_is(async { scenario(World::on_postgres(guest.room().clone()).await).await });
}

/// Runs something in real time, and not for ever.
fn as_it_is(program: impl Future<Output = ()>) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
    runtime.block_on(async {
        let clock = SystemClock::new();
        let too_long = clock.sleep_until(clock.monotonic().saturating_add(PATIENCE));
        if let Either::Right(_) = select(pin!(program), too_long).await {
            panic!("the scenario was not done after {PATIENCE:?}");
        }
    });
}

/// A store, and the time that passes for it.
pub(crate) struct World {
    pub(crate) place: Place,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) store: Arc<dyn Provider>,
    time: Time,
    pub(super) ground: Ground,
}

/// What time passes for everybody.
enum Time {
    Real,
    Virtual { clock: Arc<VirtualClock>, entropy: Arc<SeededEntropy> },
}

/// What the store stands on, to look inside.
pub(super) enum Ground {
    Memory(Arc<InMemoryProvider>),
    // The store is closed before its folder is removed.
    File { sqlite: Arc<SqliteProvider>, folder: Folder },
    Postgres(Arc<Room>),
}

/// Making one.
impl World {
    fn virtual_at(place: Place) -> Self {
        let clock = Arc::new(VirtualClock::new());
        let entropy = Arc::new(SeededEntropy::new(1));
        let memory = Arc::new(InMemoryProvider::with_seams(clock.clone(), entropy.clone()));
        let store: Arc<dyn Provider> = match place {
            Place::Memory => memory.clone(),
            Place::RequiredOnly => Arc::new(RequiredOnly::new(memory.clone())),
            Place::FileInVirtualTime => return Self::on_virtual_file(clock, entropy),
            Place::PostgresInVirtualTime => panic!("it needs a room"),
            Place::File | Place::Postgres => panic!("it lives in real time"),
        };
        let time = Time::Virtual { clock: clock.clone(), entropy };
        Self { place, clock, store, time, ground: Ground::Memory(memory) }
    }

    fn on_virtual_file(clock: Arc<VirtualClock>, entropy: Arc<SeededEntropy>) -> Self {
        let folder = Folder::new();
        let (sqlite, store) = open_at(&folder, &clock, &entropy);
        let time = Time::Virtual { clock: clock.clone(), entropy };
        Self { place: Place::FileInVirtualTime, clock, store, time, ground: Ground::File { sqlite, folder } }
    }

    fn on_virtual_postgres(room: Arc<Room>) -> Self {
        let clock = Arc::new(VirtualClock::new());
        let store = room.open_at(&clock);
        let time = Time::Virtual { clock: clock.clone(), entropy: Arc::new(SeededEntropy::new(1)) };
        Self { place: Place::PostgresInVirtualTime, clock, store, time, ground: Ground::Postgres(room) }
    }

    async fn on_file() -> Self {
        let folder = Folder::new();
        let sqlite = Arc::new(SqliteProvider::new(&folder.database(), None).await.unwrap());
        let (clock, store) = (Arc::new(SystemClock::new()), sqlite.clone());
        Self { place: Place::File, clock, store, time: Time::Real, ground: Ground::File { sqlite, folder } }
    }

    async fn on_postgres(room: Arc<Room>) -> Self {
        let store = Arc::new(room.open().await);
        let clock = Arc::new(SystemClock::new());
        Self { place: Place::Postgres, clock, store, time: Time::Real, ground: Ground::Postgres(room) }
    }

    /// The same world after its store was closed and opened again. What is in memory stays as it is.
    pub(crate) async fn reopened(self) -> Self {
        let Self { place, clock, store, time, ground } = self;
        let (store, ground): (Arc<dyn Provider>, _) = match (ground, &time) {
            (Ground::Memory(memory), _) => (store, Ground::Memory(memory)),
            (Ground::File { sqlite, folder }, Time::Real) => {
                drop((sqlite, store));
                let sqlite = Arc::new(SqliteProvider::new(&folder.database(), None).await.unwrap());
                (sqlite.clone(), Ground::File { sqlite, folder })
            }
            (Ground::File { sqlite, folder }, Time::Virtual { clock, entropy }) => {
                drop((sqlite, store));
                let (sqlite, store) = open_at(&folder, clock, entropy);
                (store, Ground::File { sqlite, folder })
            }
            (Ground::Postgres(room), Time::Real) => {
                drop(store);
                (Arc::new(room.open().await), Ground::Postgres(room))
            }
            (Ground::Postgres(room), Time::Virtual { clock, .. }) => {
                drop(store);
                (room.open_at(clock), Ground::Postgres(room))
            }
        };
        Self { place, clock, store, time, ground }
    }

    /// A handle of its own on the same store: what another process has. Only in real time.
    pub(crate) async fn another(&self) -> Arc<dyn Provider> {
        match &self.ground {
            Ground::Memory(_) => panic!("no other process sees this memory"),
            Ground::File { folder, .. } => {
                Arc::new(SqliteProvider::new(&folder.database(), None).await.unwrap())
            }
            Ground::Postgres(room) => Arc::new(room.open().await),
        }
    }

    /// Starts a runtime.
    pub(crate) async fn run(&self, node: Node) -> Arc<Runtime> {
        self.run_on(self.store.clone(), node).await
    }

    /// Starts a runtime on a store that stands before the one of this world.
    pub(crate) async fn run_on(&self, store: Arc<dyn Provider>, node: Node) -> Arc<Runtime> {
        self.build(store, node.into_parts()).await
    }

    /// Starts a runtime with registries of its own.
    pub(crate) async fn run_with(
        &self,
        activities: ActivityRegistry,
        orchestrations: OrchestrationRegistry,
        options: RuntimeOptions,
    ) -> Arc<Runtime> {
        self.build(self.store.clone(), (activities, orchestrations, options)).await
    }

    async fn build(
        &self,
        store: Arc<dyn Provider>,
        (activities, orchestrations, options): (ActivityRegistry, OrchestrationRegistry, RuntimeOptions),
    ) -> Arc<Runtime> {
        let builder = Runtime::builder()
            .with_reference_policies()
            .with_provider(store)
            .with_activities(activities)
            .with_orchestrations(orchestrations)
            .with_options(self.paced(options));
        let builder = match &self.time {
            Time::Virtual { clock, entropy } => builder
                .with_clock(clock.clone())
                .with_entropy(entropy.clone())
                .with_spawn(Arc::new(LocalTasks::new())),
            Time::Real => builder,
        };
        builder.build().await.unwrap()
    }

    /// Starts a runtime whose tasks can be ended as a crash would.
    pub(crate) async fn run_mortal(&self, node: Node) -> Arc<LocalTasks> {
        self.run_mortal_on(self.store.clone(), node).await
    }

    /// The same on a store that stands before the one of this world.
    pub(crate) async fn run_mortal_on(&self, store: Arc<dyn Provider>, node: Node) -> Arc<LocalTasks> {
        let (activities, orchestrations, options) = node.into_parts();
        let tasks = Arc::new(LocalTasks::new());
        let builder = Runtime::builder()
            .with_reference_policies()
            .with_provider(store)
            .with_activities(activities)
            .with_orchestrations(orchestrations)
            .with_options(self.paced(options))
            .with_spawn(tasks.clone())
            .with_clock(self.clock.clone());
        let _running = builder.build().await.unwrap();
        tasks
    }

    pub(crate) fn client(&self) -> Client {
        let builder = Client::builder(self.store.clone());
        match &self.time {
            Time::Virtual { clock, entropy } => builder.clock(clock.clone()).entropy(entropy.clone()).build(),
            Time::Real => builder.build(),
        }
    }

    /// How often a runtime looks for work in a store that cannot wake it. A server is asked more rarely: every look takes its time.
    pub(crate) fn looks_every(&self) -> Duration {
        match self.place {
            Place::PostgresInVirtualTime => seconds(1),
            Place::Memory
            | Place::RequiredOnly
            | Place::File
            | Place::FileInVirtualTime
            | Place::Postgres => RuntimeOptions::default().dispatcher_min_poll_interval,
        }
    }

    fn paced(&self, mut options: RuntimeOptions) -> RuntimeOptions {
        if options.dispatcher_min_poll_interval == RuntimeOptions::default().dispatcher_min_poll_interval {
            options.dispatcher_min_poll_interval = self.looks_every();
        }
        options
    }

    /// Whether the runtime sees nothing but the required methods of the store.
    pub(crate) fn has_required_only(&self) -> bool {
        match self.place {
            Place::RequiredOnly | Place::FileInVirtualTime | Place::PostgresInVirtualTime => true,
            Place::Memory | Place::File | Place::Postgres => false,
        }
    }

    pub(crate) fn is_virtual(&self) -> bool {
        match self.time {
            Time::Virtual { .. } => true,
            Time::Real => false,
        }
    }

    /// The store in memory behind everything, if it is in memory.
    pub(crate) fn memory(&self) -> Option<&Arc<InMemoryProvider>> {
        match &self.ground {
            Ground::Memory(memory) => Some(memory),
            Ground::File { .. } | Ground::Postgres(_) => None,
        }
    }

    /// The schema, if it is on PostgreSQL.
    pub(crate) fn room(&self) -> Option<&Arc<Room>> {
        match &self.ground {
            Ground::Postgres(room) => Some(room),
            Ground::Memory(_) | Ground::File { .. } => None,
        }
    }
}

/// Starting, and waiting for the end.
impl World {
    pub(crate) async fn start(&self, instance: &str, orchestration: &str, input: &str) {
        self.client().start_orchestration(instance, orchestration, input).await.unwrap();
    }

    /// How an instance stands whose start nobody has taken up: a store with only the required methods does
    /// not see it.
    pub(crate) fn status_of_a_waiting_start(&self) -> OrchestrationStatus {
        if self.store.abilities().has(Ability::AtomicStarts) {
            OrchestrationStatus::Running { custom_status: None, custom_status_version: 0 }
        } else {
            OrchestrationStatus::NotFound
        }
    }

    /// Waits for the end: the output, or the text of the error.
    pub(crate) async fn end(&self, instance: &str) -> Result<String, String> {
        match self.client().wait_for_orchestration(instance, LONG).await.unwrap() {
            OrchestrationStatus::Completed { output, .. } => Ok(output),
            OrchestrationStatus::Failed { details, .. } => Err(details.display_message()),
            other @ (OrchestrationStatus::NotFound | OrchestrationStatus::Running { .. }) => {
                panic!("not an end: {other:?}")
            }
        }
    }

    pub(crate) async fn start_and_end(
        &self,
        instance: &str,
        orchestration: &str,
        input: &str,
    ) -> Result<String, String> {
        self.start(instance, orchestration, input).await;
        self.end(instance).await
    }

    /// Waits for the end, which must be a failure.
    pub(crate) async fn failure(&self, instance: &str) -> ErrorDetails {
        match self.client().wait_for_orchestration(instance, LONG).await.unwrap() {
            OrchestrationStatus::Failed { details, .. } => details,
            other @ (OrchestrationStatus::NotFound
            | OrchestrationStatus::Running { .. }
            | OrchestrationStatus::Completed { .. }) => panic!("not a failure: {other:?}"),
        }
    }

    pub(crate) async fn raise(&self, instance: &str, name: &str, data: &str) {
        self.client().raise_event(instance, name, data).await.unwrap();
    }

    pub(crate) async fn enqueue(&self, instance: &str, queue: &str, data: &str) {
        self.client().enqueue_event(instance, queue, data).await.unwrap();
    }
}

/// Time.
impl World {
    /// Waits until something is so.
    pub(crate) async fn until(&self, condition: impl AsyncFn() -> bool) {
        let longest = if self.is_virtual() { seconds(1) } else { millis(16) };
        let mut pause = FIRST_LOOK;
        while !condition().await {
            self.clock.sleep_until(self.clock.monotonic().saturating_add(pause)).await;
            pause = longest.min(pause * 2);
        }
    }

    /// How long something took.
    pub(crate) async fn time<T>(&self, something: impl Future<Output = T>) -> (Duration, T) {
        let before = self.clock.monotonic();
        let outcome = something.await;
        (self.clock.monotonic().saturating_sub(before), outcome)
    }

    /// Lets time pass, if it is virtual. Nothing sleeps in real time: there, what must not happen has less time to.
    pub(crate) async fn pass(&self, time: Duration) {
        if !self.is_virtual() {
            return;
        }
        self.clock.sleep_until(self.clock.monotonic().saturating_add(time)).await;
    }

    /// Lets more time pass than anything lasts: hours in memory. Elsewhere every look takes its time, and minutes are enough.
    pub(crate) async fn pass_long(&self) {
        self.pass(match &self.ground {
            Ground::Memory(_) => seconds(10 * 3_600),
            Ground::File { .. } => seconds(10 * 60),
            Ground::Postgres(_) => seconds(60),
        })
        .await;
    }
}
