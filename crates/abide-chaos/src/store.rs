//! The store that workers and their driver share: a file, or a schema on a server.

use std::path::PathBuf;
use std::sync::Arc;

use abide::providers::Provider;
use abide::providers::postgres::{self, PostgresProvider};
use abide::providers::sqlite::{self, SqliteProvider};
use abide::seams::Clock;

/// Where everything is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Store {
    /// A SQLite file, for the processes of one machine.
    File(PathBuf),
    /// A schema of a PostgreSQL database.
    Schema {
        /// Of the database.
        url: String,
        /// The schema.
        schema: String,
    },
}

/// Why it cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreOpenError {
    /// The file.
    #[error(transparent)]
    File(#[from] sqlite::OpenError),
    /// The schema.
    #[error(transparent)]
    Schema(#[from] postgres::OpenError),
}

impl Store {
    /// The one that is meant: a URL is that of a database, anything else is a path.
    #[must_use]
    pub fn named(place: String, schema: Option<String>) -> Self {
        if place.contains("://") {
            Self::Schema { url: place, schema: schema.unwrap_or_else(|| "abide".to_owned()) }
        } else {
            Self::File(place.into())
        }
    }

    /// What [`named`](Self::named) is told to mean this one.
    #[must_use]
    pub fn names(&self) -> (String, Option<String>) {
        match self {
            Self::File(path) => (path.display().to_string(), None),
            Self::Schema { url, schema } => (url.clone(), Some(schema.clone())),
        }
    }

    /// Opens it.
    ///
    /// # Errors
    ///
    /// If it cannot be had.
    pub async fn open(&self, clock: Arc<dyn Clock>) -> Result<Arc<dyn Provider>, StoreOpenError> {
        match self {
            Self::File(path) => {
                let url = format!("sqlite:{}", path.display());
                Ok(Arc::new(SqliteProvider::builder(&url).clock(clock).open().await?))
            }
            Self::Schema { url, schema } => {
                let store = PostgresProvider::builder(url).schema(schema).clock(clock).open().await?;
                Ok(Arc::new(store))
            }
        }
    }
}
