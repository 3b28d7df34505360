//! The suite for anyone's store, on this one: in memory and on a file.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use abide_conformance::{Hooks, Polling, ProviderFactory, report};
use abide_model::{Clock, Timestamp};
use abide_provider::Provider;
use abide_sqlite::SqliteProvider;
use async_trait::async_trait;
use rusqlite::Connection;

use crate::support::clock::ManualClock;
use crate::support::folder::Folder;

/// Where the time of the suite begins.
const BEGIN: u64 = 1_700_000_000_000;

/// Makes stores, all under one clock.
struct Factory {
    place: Place,
    clock: ManualClock,
    last: Mutex<Option<Arc<SqliteProvider>>>,
}

enum Place {
    Memory,
    Files(Folder, Mutex<usize>),
}

impl Place {
    fn next_url(&self) -> String {
        match self {
            Self::Memory => "sqlite::memory:".to_owned(),
            Self::Files(folder, count) => {
                let mut count = count.lock().unwrap();
                *count += 1;
                folder.file(&format!("{count}.db")).to_str().unwrap().to_owned()
            }
        }
    }
}

impl Factory {
    fn new(place: Place) -> Self {
        Self { place, clock: ManualClock::at(BEGIN), last: Mutex::new(None) }
    }

    /// Does something to the rows of the store that was created last.
    async fn tamper<T: Send + 'static>(
        &self,
        tamper: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> T {
        let last = self.last.lock().unwrap().clone().expect("a provider was created");
        last.inspect(tamper).await.expect("the store is open").unwrap()
    }

    async fn damage(&self, statement: &'static str, instance: &str) {
        let instance = instance.to_owned();
        self.tamper(move |connection| connection.execute(statement, [instance])).await;
    }
}

#[async_trait]
impl ProviderFactory for Factory {
    async fn create_provider(&self) -> Arc<dyn Provider> {
        let clock: Arc<dyn Clock> = Arc::new(self.clock.clone());
        let opened = SqliteProvider::builder(&self.place.next_url()).clock(clock).open().await;
        let store = Arc::new(opened.unwrap());
        *self.last.lock().unwrap() = Some(Arc::clone(&store));
        store
    }

    async fn corrupt_instance_history(&self, instance: &str) {
        let damage = "UPDATE turn SET events = '{' WHERE (mailbox, execution) = \
                      (SELECT no, execution FROM mailbox WHERE id = ?1)";
        self.damage(damage, instance).await;
    }

    async fn get_max_attempt_count(&self, instance: &str) -> u32 {
        let instance = instance.to_owned();
        let query = "SELECT coalesce(max(attempts + (',' || coalesce(batch, '') || ',' LIKE '%,' || message.no || ',%')), 0) \
                     FROM message JOIN mailbox ON mailbox.no = mailbox WHERE id = ?1";
        self.tamper(move |connection| connection.query_row(query, [instance], |row| row.get(0))).await
    }

    async fn corrupt_queued_messages(&self, instance: &str) {
        let damage = "UPDATE message SET item = '{' WHERE mailbox = (SELECT no FROM mailbox WHERE id = ?1)";
        self.damage(damage, instance).await;
    }

    async fn corrupt_queued_work(&self, instance: &str) {
        let damage = "UPDATE work SET item = '{' WHERE mailbox = (SELECT no FROM mailbox WHERE id = ?1)";
        self.damage(damage, instance).await;
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
        Arc::new(SqliteProvider::new(&self.place.next_url(), None).await.unwrap())
    }
}

async fn passes_everything_that_applies(place: Place) {
    let factory = Factory::new(place);
    let report = report(&factory).await;
    let failures: Vec<_> = report.failures().collect();
    assert!(failures.is_empty(), "{failures:#?}");
    // Only what is for stores that answer at once is left out.
    for (path, need) in report.not_applicable() {
        assert_eq!(need, abide_conformance::Need::Polling(Polling::Short), "{path} was left out");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn in_memory_it_passes_every_validation_that_applies() {
    passes_everything_that_applies(Place::Memory).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_file_it_passes_every_validation_that_applies() {
    passes_everything_that_applies(Place::Files(Folder::new("conformance"), Mutex::new(0))).await;
}
