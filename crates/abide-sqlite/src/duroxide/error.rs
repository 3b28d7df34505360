//! Why an import was refused, or stopped.

use std::error::Error;
use std::fmt;
use std::path::PathBuf;

use abide_provider::StoreError;

use super::report::{ImportProblem, list};
use crate::error::OpenError;

/// Why a database file of duroxide was not imported.
#[derive(Debug)]
#[non_exhaustive]
pub enum ImportError {
    /// The name of the file is not understood.
    Url(OpenError),
    /// The file cannot be opened, locked or read.
    Source {
        /// The file.
        path: PathBuf,
        /// Why not, and what to do.
        reason: String,
        /// What SQLite said.
        source: Option<rusqlite::Error>,
    },
    /// Another process has the file open.
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// The file is something else.
    NotDuroxide {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        found: String,
    },
    /// Another version of duroxide wrote the file.
    Version {
        /// The file.
        path: PathBuf,
        /// What was found, and what to do.
        found: String,
    },
    /// SQLite finds the file damaged.
    Damaged {
        /// The file.
        path: PathBuf,
        /// What SQLite says about it.
        found: String,
    },
    /// The file holds rows that cannot be imported. Nothing was written.
    Problems {
        /// The file.
        path: PathBuf,
        /// What is wrong with which instance, at most 1,000 of them.
        problems: Vec<ImportProblem>,
    },
    /// The store has instances with the same ids. Nothing was written.
    Collisions {
        /// The ids.
        instances: Vec<String>,
    },
    /// The store holds part of another import, which was interrupted.
    Unfinished {
        /// The file of that import, where it was then.
        path: PathBuf,
    },
    /// The store failed. What was imported so far stays, and does not run: import again to continue.
    Store(StoreError),
    /// The thread that reads the file could not be started, or stopped.
    Thread(std::io::Error),
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(error) => error.fmt(f),
            Self::Source { path, reason, .. } => write!(f, "cannot import '{}': {reason}", path.display()),
            Self::InUse { path } => write!(
                f,
                "cannot import '{}': another process has it open; stop every program that uses it and try again",
                path.display()
            ),
            Self::NotDuroxide { path, found } => {
                write!(f, "'{}' is not a database of duroxide: {found}; nothing was imported", path.display())
            }
            Self::Version { path, found } => write!(f, "cannot import '{}': {found}", path.display()),
            Self::Damaged { path, found } => write!(
                f,
                "cannot import '{}': the file is damaged ({found}); restore it from a backup",
                path.display()
            ),
            Self::Problems { path, problems } => {
                write!(
                    f,
                    "cannot import '{}': {}; repair or delete these with duroxide and import again; nothing was imported",
                    path.display(),
                    list(problems)
                )
            }
            Self::Collisions { instances } => write!(
                f,
                "the store already has instances with the ids {}: import into another store; nothing was imported",
                list(instances)
            ),
            Self::Unfinished { path } => write!(
                f,
                "the store holds part of an import of '{}' that was interrupted, and this file is another one or has \
                 changed since: finish that import with the file as it was; if that file is lost, delete what was \
                 imported with `discard_duroxide_import`",
                path.display()
            ),
            Self::Store(error) => write!(f, "the import stopped, repeat it to continue: {error}"),
            Self::Thread(error) => write!(f, "the thread that reads the file failed: {error}"),
        }
    }
}

impl Error for ImportError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Url(error) => Some(error),
            Self::Source { source, .. } => source.as_ref().map(|source| -> &(dyn Error + 'static) { source }),
            Self::Store(error) => Some(error),
            Self::Thread(error) => Some(error),
            Self::InUse { .. }
            | Self::NotDuroxide { .. }
            | Self::Version { .. }
            | Self::Damaged { .. }
            | Self::Problems { .. }
            | Self::Collisions { .. }
            | Self::Unfinished { .. } => None,
        }
    }
}
