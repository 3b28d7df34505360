//! The store that workers and their driver share: a file, or a schema on a server.
//!
//! On a server every connection says by its name whose it is, so that the driver can find it there, and end it.

use std::path::PathBuf;
use std::sync::Arc;

use abide::providers::Provider;
use abide::providers::sqlite::{self, SqliteProvider};
use abide::seams::Clock;
use abide_postgres::PostgresProvider;

/// Where everything is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Store {
    /// A SQLite file, for the processes of one machine.
    File(PathBuf),
    /// A schema of a PostgreSQL database.
    Schema {
        /// Of the database.
        url: String,
        /// The schema, and the name that its connections go by.
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
    Schema(#[from] abide_postgres::OpenError),
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
                Ok(Arc::new(SqliteProvider::builder(&url).open().await?))
            }
            Self::Schema { url, schema } => {
                let opened = PostgresProvider::builder(&called(url, schema))
                    .listen_url(&called(url, &listener_of(schema)))
                    .schema(schema)
                    .clock(clock)
                    .open();
                Ok(Arc::new(opened.await?))
            }
        }
    }
}

/// What the connection is called on which a node hears from the others.
#[must_use]
pub fn listener_of(schema: &str) -> String {
    format!("{schema}_listener")
}

/// A URL whose connections go by this name.
fn called(url: &str, name: &str) -> String {
    let separator = if url.contains('?') { '&' } else { '?' };
    format!("{url}{separator}application_name={name}")
}
