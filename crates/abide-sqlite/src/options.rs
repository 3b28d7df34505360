//! What can be chosen about a SQLite store.

use std::fmt;
use std::sync::Arc;

use abide_host::{SystemClock, SystemEntropy};
use abide_model::{Clock, Entropy};

use crate::permissions::FileMode;
use crate::{OpenError, SqliteProvider};

/// Nothing to choose, and frozen that way: programs build it by literal. See [`SqliteProvider::builder`].
#[derive(Debug, Clone, Default)]
pub struct SqliteOptions {}

/// A store to be opened. The defaults are right for almost everybody.
///
/// ```
/// use abide_sqlite::{Durability, SqliteProvider};
///
/// # futures::executor::block_on(async {
/// let store = SqliteProvider::builder("sqlite::memory:").durability(Durability::Normal).open().await?;
/// # drop(store);
/// # Ok::<(), abide_sqlite::OpenError>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
#[must_use]
pub struct SqliteBuilder {
    url: String,
    file_mode: Option<u32>,
    pub(crate) settings: Settings,
}

/// What was chosen.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) durability: Durability,
    pub(crate) file_mode: FileMode,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) removal_rows: i64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            durability: Durability::default(),
            file_mode: FileMode::default(),
            clock: Arc::new(SystemClock::new()),
            entropy: Arc::new(SystemEntropy),
            removal_rows: crate::store::removal::ROWS,
        }
    }
}

impl SqliteBuilder {
    pub(crate) fn new(url: &str) -> Self {
        Self { url: url.to_owned(), file_mode: None, settings: Settings::default() }
    }

    /// What an acknowledged commit survives.
    pub fn durability(mut self, durability: Durability) -> Self {
        self.settings.durability = durability;
        self
    }

    /// Who may read and write the database file, if it is created: a mode as on Unix, whatever the umask. The default is
    /// `0o600`, the user that the process runs as. The files beside the database have the mode of the database. Folders
    /// that are created can be searched by whoever may read the file, `0o700` by default. Elsewhere than on Unix it does
    /// nothing.
    ///
    /// ```
    /// # use abide_sqlite::SqliteProvider;
    /// let shared_with_group = SqliteProvider::builder("sqlite:/var/lib/shop/data.db").file_mode(0o660);
    /// ```
    pub const fn file_mode(mut self, mode: u32) -> Self {
        self.file_mode = Some(mode);
        self
    }

    /// The time that leases and visibility are judged by.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.settings.clock = clock;
        self
    }

    /// Where lease tokens and the names of lock files come from.
    pub fn entropy(mut self, entropy: Arc<dyn Entropy>) -> Self {
        self.settings.entropy = entropy;
        self
    }

    /// How many rows of deleted instances one transaction removes. For tests.
    #[doc(hidden)]
    pub fn removal_rows(mut self, rows: u32) -> Self {
        self.settings.removal_rows = i64::from(rows);
        self
    }

    /// Opens it. The file and its folder are created if they are missing.
    ///
    /// # Errors
    ///
    /// If it cannot be opened, is not an abide database, or was written by a newer version. Nothing is changed then.
    pub async fn open(self) -> Result<SqliteProvider, OpenError> {
        let mut settings = self.settings;
        if let Some(mode) = self.file_mode {
            settings.file_mode = FileMode::new(mode)?;
        }
        SqliteProvider::open(&self.url, settings).await
    }
}

impl fmt::Debug for SqliteBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteBuilder")
            .field("url", &self.url)
            .field("durability", &self.settings.durability)
            .finish_non_exhaustive()
    }
}

/// What an acknowledged commit survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// A power cut: every commit is on the disk before it is acknowledged (`synchronous=FULL`).
    #[default]
    Full,
    /// A crash of the process, but not of the machine (`synchronous=NORMAL`): after a power cut the last commits may
    /// be missing, though what is there is consistent. Activities that were acknowledged may run again.
    Normal,
}

impl Durability {
    pub(crate) const fn pragma(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Normal => "normal",
        }
    }

    /// The number that SQLite reports for it.
    pub(crate) const fn level(self) -> i64 {
        match self {
            Self::Full => 2,
            Self::Normal => 1,
        }
    }
}
