//! The suite for anyone's store, on this one.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use abide_conformance::{Hooks, Polling, ProviderFactory, report};
use abide_model::Timestamp;
use abide_postgres::PostgresProvider;
use abide_provider::Provider;
use async_trait::async_trait;

use crate::support::database::Database;

/// Where the time of the suite begins.
const BEGIN: u64 = 1_700_000_000_000;

/// Makes stores, all under one clock. A schema is emptied and used again when nobody uses it any more.
#[derive(Clone)]
struct Factory(Arc<Stores>);

struct Stores {
    now: Mutex<u64>,
    schemas: Mutex<Vec<Arc<Schema>>>,
    real: Mutex<Vec<(Arc<PostgresProvider>, Database)>>,
}

struct Schema {
    provider: Arc<PostgresProvider>,
    database: Database,
}

impl Stores {
    fn new() -> Self {
        Self { now: Mutex::new(BEGIN), schemas: Mutex::default(), real: Mutex::default() }
    }

    /// The schema that was created last.
    fn last(&self) -> Arc<Schema> {
        Arc::clone(self.schemas.lock().unwrap().last().expect("a provider was created"))
    }

    fn create(&self) -> Arc<dyn Provider> {
        let now = *self.now.lock().unwrap();
        let mut schemas = self.schemas.lock().unwrap();
        let free = schemas.iter().position(|schema| Arc::strong_count(&schema.provider) == 1);
        let schema = if let Some(place) = free {
            schemas.remove(place)
        } else {
            let database = Database::new().expect("there is a server");
            let provider = Arc::new(database.open());
            database.stop_clock(now);
            Arc::new(Schema { provider, database })
        };
        schema.database.empty();
        schema.database.set_clock(now);
        let provider = Arc::clone(&schema.provider);
        schemas.push(schema);
        provider
    }
}

impl Factory {
    async fn damage(&self, statement: &'static str, instance: &str) {
        let (schema, instance) = (self.0.last(), instance.to_owned());
        blocking(move || schema.database.damage(statement, &[&instance])).await;
    }
}

/// The connection of a test blocks: not on a thread of the suite's executor.
async fn blocking<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(run).await.unwrap()
}

#[async_trait]
impl ProviderFactory for Factory {
    async fn create_provider(&self) -> Arc<dyn Provider> {
        let factory = Arc::clone(&self.0);
        blocking(move || factory.create()).await
    }

    async fn corrupt_instance_history(&self, instance: &str) {
        let damage = "UPDATE abide.turn AS t SET events = '{' FROM abide.mailbox AS b
                      WHERE b.id = $1 AND t.mailbox = b.no AND t.execution = b.execution";
        self.damage(damage, instance).await;
    }

    async fn get_max_attempt_count(&self, instance: &str) -> u32 {
        let query = "SELECT coalesce(max(m.attempts + EXISTS (
                         SELECT FROM abide.batch(b.no, b.batch_to, b.batch_first) AS h (no) WHERE h.no = m.no)::int), 0)
                     FROM abide.message AS m JOIN abide.mailbox AS b ON b.no = m.mailbox WHERE b.id = $1";
        let (schema, instance) = (self.0.last(), instance.to_owned());
        let attempts: i32 = blocking(move || schema.database.rows(query, &[&instance])[0].get(0)).await;
        u32::try_from(attempts).unwrap()
    }

    async fn corrupt_queued_messages(&self, instance: &str) {
        let damage = "UPDATE abide.message SET item = '{' WHERE mailbox = (SELECT no FROM abide.mailbox WHERE id = $1)";
        self.damage(damage, instance).await;
    }

    async fn corrupt_queued_work(&self, instance: &str) {
        let damage =
            "UPDATE abide.work SET item = '{' WHERE mailbox = (SELECT no FROM abide.mailbox WHERE id = $1)";
        self.damage(damage, instance).await;
    }

    fn hooks(&self) -> Hooks {
        Hooks::ALL
    }

    fn polling(&self) -> Polling {
        Polling::Long
    }

    async fn pass_time(&self, duration: Duration) {
        let factory = Arc::clone(&self.0);
        blocking(move || {
            let mut now = factory.now.lock().unwrap();
            *now += u64::try_from(duration.as_millis()).unwrap();
            for schema in factory.schemas.lock().unwrap().iter() {
                schema.database.set_clock(*now);
            }
        })
        .await;
    }

    fn store_time(&self) -> Timestamp {
        Timestamp::from_millis(*self.0.now.lock().unwrap())
    }

    async fn create_provider_in_real_time(&self) -> Arc<dyn Provider> {
        let factory = Arc::clone(&self.0);
        blocking(move || {
            let database = Database::new().expect("there is a server");
            let provider = Arc::new(database.open());
            factory.real.lock().unwrap().push((Arc::clone(&provider), database));
            let provider: Arc<dyn Provider> = provider;
            provider
        })
        .await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_passes_every_validation_that_applies() {
    if abide_throwaway::shared().is_none() {
        return;
    }
    let factory = Factory(Arc::new(Stores::new()));
    let report = report(&factory).await;
    let failures: Vec<_> = report.failures().collect();
    assert!(failures.is_empty(), "{failures:#?}");
    // Only what is for stores that answer at once is left out.
    for (path, need) in report.not_applicable() {
        assert_eq!(need, abide_conformance::Need::Polling(Polling::Short), "{path} was left out");
    }
    blocking(move || drop(factory)).await;
}
