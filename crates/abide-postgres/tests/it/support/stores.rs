//! Stores for the suite, all under one clock that it moves. A schema is emptied and used again when nobody uses it any more.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use abide_broken::{Healthy, HealthyStores, Inside};
use abide_conformance::{Hooks, Polling, ProviderFactory};
use abide_host::SystemClock;
use abide_memory::Dump;
use abide_model::{Clock, Sleep, Timestamp};
use abide_postgres::PostgresProvider;
use abide_provider::{Lane, Provider};
use async_trait::async_trait;
use futures::executor::block_on;

use super::database::Database;
use super::dump::read_dump;

/// Where the time of the suite begins.
const BEGIN: u64 = 1_700_000_000_000;

/// Makes stores, and keeps them.
pub(crate) struct Stores {
    now: Arc<Mutex<u64>>,
    schemas: Mutex<Vec<Arc<Schema>>>,
    real: Mutex<Vec<Arc<Schema>>>,
}

/// A store, and the schema it is in.
struct Schema {
    provider: Arc<PostgresProvider>,
    database: Database,
    time: Time,
}

/// By what a store goes.
enum Time {
    Suite(SuiteClock),
    Real(SystemClock),
}

/// Time stands still until the suite moves it, or a bug bends it.
struct SuiteClock {
    now: Arc<Mutex<u64>>,
    bent: Mutex<Option<Timestamp>>,
}

impl Clock for SuiteClock {
    fn wall(&self) -> Timestamp {
        let bent = *self.bent.lock().unwrap();
        bent.unwrap_or_else(|| Timestamp::from_millis(*self.now.lock().unwrap()))
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(*self.now.lock().unwrap())
    }

    fn sleep_until(&self, _monotonic: Duration) -> Sleep {
        Box::pin(std::future::pending())
    }
}

impl Inside for Schema {
    fn dump(&self) -> Dump {
        let now = self.database.number("SELECT abide.now()");
        read_dump(&self.database, u64::try_from(now).unwrap())
    }

    fn clock(&self) -> &dyn Clock {
        match &self.time {
            Time::Suite(clock) => clock,
            Time::Real(clock) => clock,
        }
    }

    fn bend(&self, time: Option<Timestamp>) {
        match &self.time {
            Time::Suite(clock) => {
                *clock.bent.lock().unwrap() = time;
                self.database.set_clock(clock.wall().as_millis());
            }
            Time::Real(_) => panic!("time that passes cannot be bent"),
        }
    }
}

impl Schema {
    fn new(time: Time) -> Self {
        let database = Database::new().expect("there is a server");
        let provider = Arc::new(database.open());
        Self { provider, database, time }
    }

    fn healthy(self: &Arc<Self>) -> Healthy {
        let (store, inside) = (Arc::clone(&self.provider), Arc::clone(self));
        Healthy { store, inside }
    }

    fn is_free(&self) -> bool {
        Arc::strong_count(&self.provider) == 1
    }

    /// As if it were new.
    fn clean(&self, now: u64) {
        // What a forgotten caller asked for comes before this, and the server has begun it when this is answered.
        block_on(self.provider.next_due(Lane::Work)).expect("a healthy store answers");
        self.database.come_to_rest();
        self.database.empty();
        self.database.set_clock(now);
    }
}

impl Stores {
    pub(crate) fn new() -> Self {
        let now = Arc::new(Mutex::new(BEGIN));
        Self { now, schemas: Mutex::default(), real: Mutex::default() }
    }

    /// The schema that was created last.
    fn last(&self) -> Arc<Schema> {
        Arc::clone(self.schemas.lock().unwrap().last().expect("a provider was created"))
    }

    fn now(&self) -> u64 {
        *self.now.lock().unwrap()
    }

    fn new_schema(&self) -> Arc<Schema> {
        let clock = SuiteClock { now: Arc::clone(&self.now), bent: Mutex::default() };
        let schema = Schema::new(Time::Suite(clock));
        schema.database.stop_clock(self.now());
        Arc::new(schema)
    }

    fn damage(&self, statement: &'static str, instance: &str) {
        self.last().database.damage(statement, &[&instance]);
    }
}

#[async_trait]
impl HealthyStores for Stores {
    async fn create(&self) -> Healthy {
        let mut schemas = self.schemas.lock().unwrap();
        let free = schemas.iter().position(|schema| schema.is_free());
        let schema = free.map_or_else(|| self.new_schema(), |place| schemas.remove(place));
        schema.clean(self.now());
        schemas.push(Arc::clone(&schema));
        schema.healthy()
    }

    async fn create_in_real_time(&self) -> Healthy {
        let schema = Arc::new(Schema::new(Time::Real(SystemClock::new())));
        self.real.lock().unwrap().push(Arc::clone(&schema));
        schema.healthy()
    }
}

#[async_trait]
impl ProviderFactory for Stores {
    async fn create_provider(&self) -> Arc<dyn Provider> {
        self.create().await.store
    }

    async fn create_provider_in_real_time(&self) -> Arc<dyn Provider> {
        self.create_in_real_time().await.store
    }

    async fn corrupt_instance_history(&self, instance: &str) {
        let damage = "UPDATE abide.turn AS t SET events = '{' FROM abide.mailbox AS b
                      WHERE b.id = $1 AND t.mailbox = b.no AND t.execution = b.execution";
        self.damage(damage, instance);
    }

    async fn get_max_attempt_count(&self, instance: &str) -> u32 {
        let query = "SELECT coalesce(max(m.attempts + EXISTS (
                         SELECT FROM abide.batch(b.no, b.batch_to, b.batch_first, b.batch_cancel) AS h (no) WHERE h.no = m.no)::int), 0)
                     FROM abide.message AS m JOIN abide.mailbox AS b ON b.no = m.mailbox WHERE b.id = $1";
        let attempts: i32 = self.last().database.rows(query, &[&instance])[0].get(0);
        u32::try_from(attempts).unwrap()
    }

    async fn corrupt_queued_messages(&self, instance: &str) {
        let damage = "UPDATE abide.message SET item = '{' WHERE mailbox = (SELECT no FROM abide.mailbox WHERE id = $1)";
        self.damage(damage, instance);
    }

    async fn corrupt_queued_work(&self, instance: &str) {
        let damage =
            "UPDATE abide.work SET item = '{' WHERE mailbox = (SELECT no FROM abide.mailbox WHERE id = $1)";
        self.damage(damage, instance);
    }

    fn hooks(&self) -> Hooks {
        Hooks::ALL
    }

    fn polling(&self) -> Polling {
        Polling::Long
    }

    async fn pass_time(&self, duration: Duration) {
        let mut now = self.now.lock().unwrap();
        *now += u64::try_from(duration.as_millis()).unwrap();
        for schema in self.schemas.lock().unwrap().iter() {
            schema.database.set_clock(*now);
        }
    }

    fn store_time(&self) -> Timestamp {
        Timestamp::from_millis(self.now())
    }
}
