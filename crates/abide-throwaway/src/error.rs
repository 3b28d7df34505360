//! What can go wrong with a server.

use std::error::Error;
use std::{fmt, io};

use crate::installed::OLDEST;

/// Why there is no server.
#[derive(Debug)]
pub enum StartError {
    /// `pg_virtualenv` is not installed.
    NoTool,
    /// No PostgreSQL server is installed.
    NoServer,
    /// A PostgreSQL server is installed, and not supported.
    TooOld {
        /// The newest major version there is.
        newest: u32,
    },
    /// Every port that could be used is taken.
    NoPort,
    /// The process that keeps the server could not be started, or not be talked to.
    Keeper(io::Error),
    /// The server was created or started in vain.
    Refused {
        /// What was printed meanwhile.
        output: String,
    },
}

impl StartError {
    /// Nothing is broken: it is not installed.
    #[must_use]
    pub const fn is_absence(&self) -> bool {
        match self {
            Self::NoTool | Self::NoServer | Self::TooOld { .. } => true,
            Self::NoPort | Self::Keeper(_) | Self::Refused { .. } => false,
        }
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTool => {
                write!(formatter, "`pg_virtualenv` is not installed (Debian: the package postgresql-common)")
            }
            Self::NoServer => {
                write!(formatter, "no PostgreSQL server is installed (Debian: the package postgresql)")
            }
            Self::TooOld { newest } => {
                write!(
                    formatter,
                    "PostgreSQL {OLDEST} or newer is needed, and the newest installed is {newest}"
                )
            }
            Self::NoPort => write!(formatter, "no port is free for a PostgreSQL server"),
            Self::Keeper(_) => write!(formatter, "the process that keeps a PostgreSQL server does not run"),
            Self::Refused { output } => write!(formatter, "PostgreSQL did not start:\n{output}"),
        }
    }
}

impl Error for StartError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Keeper(cause) => Some(cause),
            Self::NoTool | Self::NoServer | Self::TooOld { .. } | Self::NoPort | Self::Refused { .. } => None,
        }
    }
}

/// Why a server did not do what it was told.
#[derive(Debug)]
pub enum ControlError {
    /// The process that keeps the server cannot be talked to any more.
    Keeper(io::Error),
    /// It was done in vain.
    Refused {
        /// What was printed meanwhile.
        output: String,
    },
}

impl fmt::Display for ControlError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Keeper(_) => {
                write!(formatter, "the process that keeps the PostgreSQL server does not answer")
            }
            Self::Refused { output } => write!(formatter, "PostgreSQL did not do it:\n{output}"),
        }
    }
}

impl Error for ControlError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Keeper(cause) => Some(cause),
            Self::Refused { .. } => None,
        }
    }
}
