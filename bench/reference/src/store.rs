//! Opens a store of the reference by its name. It has one kind of SQLite file, and none in memory but SQLite's.

use std::fs::File;
use std::sync::Arc;

use durable::providers::Provider;
use durable::providers::sqlite::SqliteProvider;
use durable_pg::PostgresProvider;

use crate::counting::Counters;
use crate::program::Fallible;

pub(crate) const SIDE: &str = "reference";

pub(crate) struct Opened {
    provider: Arc<dyn Provider>,
}

impl Opened {
    pub(crate) async fn open(name: &str, at: &str) -> Fallible<Self> {
        let provider: Arc<dyn Provider> = match name {
            "sqlite-memory" => Arc::new(SqliteProvider::new_in_memory().await?),
            "sqlite-full" => {
                // It opens only what is there.
                File::options().create(true).append(true).open(at)?;
                Arc::new(SqliteProvider::new(&format!("sqlite:{at}"), None).await?)
            }
            "postgres" => Arc::new(PostgresProvider::new(at).await?),
            unknown => return Err(format!("the reference has no store '{unknown}'").into()),
        };
        Ok(Self { provider })
    }

    pub(crate) fn provider(&self) -> Arc<dyn Provider> {
        Arc::clone(&self.provider)
    }

    /// It does not count.
    pub(crate) async fn counters(&self) -> Counters {
        Counters::new()
    }
}
