//! A store, chosen by a text: what a command line or a configuration says.
//!
//! Start with [`open`]. [`Address`] is the text understood, for programs that look at it first.
//!
//! Deliberately absent: settings of a store. Whoever needs them knows which store it is, and uses its builder.

use std::fmt;
use std::str::FromStr;

use crate::ProviderRef;

/// Opens the store that a text names: a path, `sqlite:…`, or `postgres://…`. For programs whose store is a matter of configuration.
///
/// | text | store |
/// |---|---|
/// | `./data/shop.db`, `sqlite:./data/shop.db`, `file:shop.db` | SQLite in this file, which is created if it is missing |
/// | `:memory:`, `sqlite::memory:` | SQLite in memory, gone with the last handle |
/// | `postgres://user:password@host:5432/database`, `postgresql://…` | PostgreSQL, in the schema `abide`, which is created if it is missing |
///
/// ```no_run
/// use abide::prelude::*;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let database = std::env::var("DATABASE_URL").unwrap_or("./shop.db".to_owned());
/// let store = abide::providers::open(&database).await?;
/// let runtime = Runtime::builder().with_provider(store.clone()).build().await?;
/// let client = Client::new(store);
/// # drop(client);
/// # runtime.shutdown(None).await;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// If the text is none of these, if this program was built without the store, or if the store cannot be opened. Errors show no password.
pub async fn open(address: &str) -> Result<ProviderRef, OpenError> {
    address.parse::<Address>()?.open().await
}

/// Where a store is; see [`open`] for what is understood. What is shown of it, also by `Debug`, has no password.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    place: Place,
    schema: Option<String>,
}

#[derive(Clone, PartialEq, Eq)]
enum Place {
    Sqlite(String),
    Postgres(String),
}

/// Why there is no store at an address.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// The text is no address of a store.
    Address {
        /// What is wrong with it. Without the text, which may hold a password.
        reason: String,
    },
    /// The store was left out when this program was built.
    Feature {
        /// The feature of `abide` that it needs.
        feature: &'static str,
    },
    /// The SQLite file cannot be opened.
    #[cfg(feature = "sqlite")]
    Sqlite(abide_sqlite::OpenError),
    /// The PostgreSQL database cannot be opened.
    #[cfg(feature = "postgres")]
    Postgres(abide_postgres::OpenError),
}

impl Address {
    /// The schema to use where stores have one; `abide` if not set. A file has none.
    #[must_use]
    pub fn schema(mut self, name: &str) -> Self {
        self.schema = Some(name.to_owned());
        self
    }

    /// Whether the store is part of this process: a file or memory, for programs on one machine.
    #[must_use]
    pub fn is_embedded(&self) -> bool {
        match self.place {
            Place::Sqlite(_) => true,
            Place::Postgres(_) => false,
        }
    }

    /// Opens the store.
    ///
    /// # Errors
    ///
    /// If this program was built without the store, or if it cannot be opened.
    pub async fn open(self) -> Result<ProviderRef, OpenError> {
        match &self.place {
            Place::Sqlite(location) => open_sqlite(location).await,
            Place::Postgres(url) => open_postgres(url, self.schema.as_deref()).await,
        }
    }
}

#[cfg(feature = "sqlite")]
async fn open_sqlite(location: &str) -> Result<ProviderRef, OpenError> {
    let store = abide_sqlite::SqliteProvider::new(location, None).await.map_err(OpenError::Sqlite)?;
    Ok(std::sync::Arc::new(store))
}

#[cfg(not(feature = "sqlite"))]
async fn open_sqlite(_: &str) -> Result<ProviderRef, OpenError> {
    Err(OpenError::Feature { feature: "sqlite" })
}

#[cfg(feature = "postgres")]
async fn open_postgres(url: &str, schema: Option<&str>) -> Result<ProviderRef, OpenError> {
    let opened = abide_postgres::PostgresProvider::new_with_schema(url, schema).await;
    Ok(std::sync::Arc::new(opened.map_err(OpenError::Postgres)?))
}

#[cfg(not(feature = "postgres"))]
async fn open_postgres(_: &str, _: Option<&str>) -> Result<ProviderRef, OpenError> {
    Err(OpenError::Feature { feature: "postgres" })
}

impl FromStr for Address {
    type Err = OpenError;

    fn from_str(text: &str) -> Result<Self, OpenError> {
        let refused = |reason: String| Err(OpenError::Address { reason });
        let place = match scheme(text) {
            Some("postgres" | "postgresql") if text.contains("://") => Place::Postgres(text.to_owned()),
            Some("sqlite" | "file") => Place::Sqlite(text.to_owned()),
            Some(scheme) => return refused(format!("what begins with '{scheme}:' is none")),
            None if text.is_empty() => return refused("an empty text is none".to_owned()),
            None if is_list_of_settings(text) => return refused("a list of settings is none".to_owned()),
            None => Place::Sqlite(text.to_owned()),
        };
        Ok(Self { place, schema: None })
    }
}

/// What stands before the first colon, if it looks like the scheme of a URL. A single letter is a drive.
fn scheme(text: &str) -> Option<&str> {
    let (scheme, _) = text.split_once(':')?;
    let is_scheme_character = |it: char| it.is_ascii_alphanumeric() || matches!(it, '+' | '-' | '.');
    let begins_with_letter = scheme.starts_with(|it: char| it.is_ascii_alphabetic());
    (scheme.len() > 1 && begins_with_letter && scheme.chars().all(is_scheme_character)).then_some(scheme)
}

/// `host=… password=…`, which PostgreSQL's own clients understand. As a file it would have a password in its name.
fn is_list_of_settings(text: &str) -> bool {
    const SETTINGS: [&str; 6] = ["host=", "hostaddr=", "port=", "user=", "password=", "dbname="];
    text.split_whitespace().any(|word| SETTINGS.iter().any(|setting| word.starts_with(setting)))
}

/// `host:port/database`. An `@` behind the `?` leaves in doubt where the password ends: then nothing is shown.
fn without_password(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    match place.rsplit_once('@') {
        Some((_, place)) if !query.contains('@') => place,
        None if !query.contains('@') => place,
        Some(_) | None => "an address that is not shown",
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.place, &self.schema) {
            (Place::Sqlite(location), _) => write!(f, "SQLite at {location}"),
            (Place::Postgres(url), None) => write!(f, "PostgreSQL at {}", without_password(url)),
            (Place::Postgres(url), Some(schema)) => {
                write!(f, "PostgreSQL at {} (schema {schema})", without_password(url))
            }
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address { reason } => write!(
                f,
                "this is no address of a store: {reason}; write a path, `sqlite:path/to/file.db`, or \
                 `postgres://user:password@host:5432/database`"
            ),
            Self::Feature { feature } => {
                write!(f, "this program was built without that store: add the feature `{feature}` of abide")
            }
            #[cfg(feature = "sqlite")]
            Self::Sqlite(error) => error.fmt(f),
            #[cfg(feature = "postgres")]
            Self::Postgres(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Address { .. } | Self::Feature { .. } => None,
            // They say all there is to say: what is behind them is what is behind this.
            #[cfg(feature = "sqlite")]
            Self::Sqlite(error) => error.source(),
            #[cfg(feature = "postgres")]
            Self::Postgres(error) => error.source(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        match text.parse::<Address>() {
            Ok(address) => address.to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn files_are_named_in_several_ways() {
        for text in
            ["shop.db", "./a:b.db", "/var/lib/shop.db", "C:\\shop.db", ":memory:", "sqlite:x.db", "file:x"]
        {
            assert_eq!(shown(text), format!("SQLite at {text}"));
            assert!(text.parse::<Address>().unwrap().is_embedded());
        }
    }

    #[test]
    fn a_server_is_shown_without_its_password() {
        for (text, expected) in [
            ("postgres://ada:secret@db:5433/shop", "PostgreSQL at db:5433/shop"),
            ("postgresql://db/shop?password=secret", "PostgreSQL at db/shop"),
            ("postgres://ada:sec@ret@db/shop?sslmode=require", "PostgreSQL at db/shop"),
            ("postgres://ada:sec?ret@db/shop", "PostgreSQL at an address that is not shown"),
            ("postgres://db/shop?password=sec@ret", "PostgreSQL at an address that is not shown"),
        ] {
            let address = text.parse::<Address>().unwrap();
            assert_eq!(address.to_string(), expected);
            assert!(!address.is_embedded());
            let named = address.schema("orders");
            assert_eq!(format!("{named:?}"), format!("Address({expected} (schema orders))"));
        }
    }

    #[test]
    fn anything_else_is_refused_with_what_is_understood() {
        for text in
            ["", "mysql://ada:secret@db/shop", "postgres:secret", "redis:secret", "host=db password=secret"]
        {
            let told = shown(text);
            assert!(told.starts_with("this is no address of a store: "), "{text}: {told}");
            assert!(told.contains("`postgres://user:password@host:5432/database`"), "{told}");
            assert!(!told.contains("secret"), "{told}");
        }
    }

    #[cfg(feature = "postgres")]
    #[tokio::test]
    async fn what_a_store_says_about_its_address_is_passed_on() {
        let Err(error) = open("postgres://ada:secret@db/shop?nonsense=1").await else {
            panic!("it was opened")
        };
        assert!(matches!(error, OpenError::Postgres(_)), "{error:?}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }

    #[cfg(not(feature = "postgres"))]
    #[tokio::test]
    async fn a_store_that_was_left_out_is_named() {
        let Err(error) = open("postgres://db/shop").await else { panic!("it was opened") };
        assert!(error.to_string().contains("the feature `postgres` of abide"), "{error}");
    }
}
