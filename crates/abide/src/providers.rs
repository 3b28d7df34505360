//! Stores, and what it takes to write one.
//!
//! [`sqlite`] is the embedded store, for one machine; `postgres` (a feature) is for many; [`memory`] forgets everything with the
//! process, and is for tests. [`open`] takes the one that a text names.
//!
//! A store of one's own implements [`Provider`]: nineteen methods, and more if it wants to be fast. Whether it keeps the
//! contract is shown by the validations behind the feature `provider-test`.

#[doc(inline)]
pub use abide_provider::*;

pub use crate::address::{Address, OpenError, open};

/// What became of a call that failed.
pub mod error {
    pub use abide_provider::{AdminRefusal, ErrorKind, Operation, ProviderError, Rejection, StoreError};
}

/// A provider that measures another.
pub mod instrumented {
    pub use abide_runtime::observability::InstrumentedProvider;
}

/// A store in memory, for tests.
pub mod memory {
    pub use abide_memory::InMemoryProvider;
}

/// A store on PostgreSQL, version 14 or newer: any number of nodes share one schema of one database.
///
/// ```no_run
/// use std::sync::Arc;
///
/// use abide::prelude::*;
/// use abide::providers::postgres::PostgresProvider;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // The schema `abide` is created if it is missing, and nothing outside it is touched.
/// let store = Arc::new(PostgresProvider::new("postgres://app:secret@db.internal/shop?sslmode=verify-full").await?);
/// let runtime = Runtime::builder().with_provider(store.clone()).build().await?;
/// let client = Client::new(store);
/// # drop(client);
/// # runtime.shutdown(None).await;
/// # Ok(())
/// # }
/// ```
///
/// What to know before it runs in production is a page of the guide, `docs/guide/postgresql.md`.
#[cfg(feature = "postgres")]
pub mod postgres {
    pub use abide_postgres::{InvalidSchema, OpenError, PostgresBuilder, PostgresProvider};
}

/// A store on an embedded SQLite file.
#[cfg(feature = "sqlite")]
pub mod sqlite {
    pub use abide_sqlite::{
        Durability, ImportCounts, ImportError, ImportOutcome, ImportProblem, ImportReport, OpenError,
        SqliteBuilder, SqliteOptions, SqliteProvider, discard_duroxide_import, import_duroxide,
        import_duroxide_dry_run,
    };
}
