//! Opens a store by its name. The one file that the reference has of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use durable::providers::Provider;
use durable::providers::memory::InMemoryProvider;
use durable::providers::postgres::PostgresProvider;
use durable::providers::sqlite::{Durability, SqliteProvider};
use serde_json::{Value, json};

use crate::program::Fallible;

pub(crate) const SIDE: &str = "abide";

/// A store, and what it counts.
pub(crate) enum Opened {
    Memory(Arc<InMemoryProvider>),
    Sqlite(Arc<SqliteProvider>),
    Postgres(Arc<PostgresProvider>),
}

impl Opened {
    pub(crate) async fn open(name: &str, at: &str) -> Fallible<Self> {
        let file = format!("sqlite:{at}");
        Ok(match name {
            "memory" => Self::Memory(Arc::new(InMemoryProvider::new())),
            "sqlite-memory" => Self::Sqlite(Arc::new(SqliteProvider::new_in_memory().await?)),
            "sqlite-full" => Self::Sqlite(Arc::new(SqliteProvider::new(&file, None).await?)),
            "sqlite-normal" => {
                let builder = SqliteProvider::builder(&file).durability(Durability::Normal);
                Self::Sqlite(Arc::new(builder.open().await?))
            }
            "postgres" => Self::Postgres(Arc::new(PostgresProvider::new(at).await?)),
            unknown => return Err(format!("there is no store '{unknown}'").into()),
        })
    }

    pub(crate) fn provider(&self) -> Arc<dyn Provider> {
        match self {
            Self::Memory(store) => store.clone(),
            Self::Sqlite(store) => store.clone(),
            Self::Postgres(store) => store.clone(),
        }
    }

    /// How often it did what costs. `null` if it does not count.
    pub(crate) fn counters(&self) -> Value {
        match self {
            Self::Memory(_) => Value::Null,
            Self::Sqlite(store) => json!({ "transactions": store.transactions() }),
            Self::Postgres(store) => {
                let mut sent: BTreeMap<&str, u64> = store.statements_sent().into_iter().collect();
                sent.insert("statements", sent.values().sum());
                json!(sent)
            }
        }
    }
}
