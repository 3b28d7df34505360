//! Opens a store by its name. The one file that the reference has of its own.

use std::sync::Arc;

use durable::providers::Provider;
use durable::providers::memory::InMemoryProvider;
use durable::providers::postgres::PostgresProvider;
use durable::providers::sqlite::{Durability, SqliteProvider};

use crate::counted_store::CountedStore;
use crate::counting::{self, Counters};
use crate::program::Fallible;

pub(crate) const SIDE: &str = "abide";

/// A store, and what it counts.
pub(crate) struct Opened {
    store: Store,
    /// Around it, if calls are counted.
    counted: Option<Arc<CountedStore>>,
}

enum Store {
    Memory(Arc<InMemoryProvider>),
    Sqlite(Arc<SqliteProvider>),
    Postgres(Arc<PostgresProvider>),
}

impl Opened {
    pub(crate) async fn open(name: &str, at: &str) -> Fallible<Self> {
        let store = Store::open(name, at).await?;
        let is_counted = counting::allocations().is_some();
        let counted = is_counted.then(|| Arc::new(CountedStore::around(store.provider())));
        Ok(Self { store, counted })
    }

    pub(crate) fn provider(&self) -> Arc<dyn Provider> {
        match &self.counted {
            Some(counted) => counted.clone(),
            None => self.store.provider(),
        }
    }

    /// How often it did what costs, as far as it counts that.
    pub(crate) async fn counters(&self) -> Counters {
        let mut counters = self.store.counters().await;
        let counted = self.counted.iter().flat_map(|counted| counted.counts());
        counters.extend(counted.map(|(name, count)| (name.to_owned(), count)));
        counters
    }
}

impl Store {
    async fn open(name: &str, at: &str) -> Fallible<Self> {
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

    fn provider(&self) -> Arc<dyn Provider> {
        match self {
            Self::Memory(store) => store.clone(),
            Self::Sqlite(store) => store.clone(),
            Self::Postgres(store) => store.clone(),
        }
    }

    async fn counters(&self) -> Counters {
        match self {
            Self::Memory(_) => Counters::new(),
            Self::Sqlite(store) => {
                let mut counters =
                    by_name(store.costs().await.into_iter().map(|(name, runs, _)| (name, runs)));
                counters.extend([
                    ("transactions".to_owned(), store.transactions()),
                    ("fsyncs".to_owned(), store.synced_commits()),
                    ("log_copies".to_owned(), store.log_copies()),
                ]);
                counters
            }
            Self::Postgres(store) => by_name(store.statements_sent().into_iter()),
        }
    }
}

/// Statements, each by its name, and all of them.
fn by_name(statements: impl Iterator<Item = (&'static str, u64)>) -> Counters {
    let mut counters: Counters = statements.map(|(name, count)| (name.to_owned(), count)).collect();
    counters.insert("statements".to_owned(), counters.values().sum());
    counters
}
