//! PostgreSQL's codes as kinds of error.
//!
//! By SQLSTATE, never by text. What passes by itself (a lost connection, a restart, a deadlock, a full disk, a time-out) is *not applied*,
//! or *unknown* if the answer was lost and not the call: the caller tries again, for as long as it takes. Ending an instance for what a
//! server reports could not be undone, so only what the call itself carries, and no server will ever take, is refused.

use abide_provider::{ErrorKind, Operation, Rejection, StoreError};
use tokio_postgres::error::{Severity, SqlState};

use crate::schema::InvalidSchema;

/// Why a store could not be opened. Nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The URL says something that is not understood.
    #[error(
        "'{url}' does not say where the database is: {reason}; write `postgres://user:password@host:5432/database`"
    )]
    Url {
        /// What was given, without its password.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The name of the schema cannot be used.
    #[error(transparent)]
    Schema(#[from] InvalidSchema),
    /// A setting makes no sense.
    #[error("{setting} cannot be {value}: {reason}")]
    Setting {
        /// Which.
        setting: &'static str,
        /// What was given.
        value: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The connection needs encryption, which cannot be had.
    #[error("cannot encrypt the connection: {reason}")]
    Tls {
        /// Why not, and what to do.
        reason: String,
    },
    /// The server cannot be reached, or does not let us in.
    #[error("cannot connect to PostgreSQL at {place}: {reason}")]
    Connect {
        /// Where it was looked for.
        place: String,
        /// What went wrong, with all its causes.
        reason: String,
    },
    /// A pooler gives every transaction another session. Nothing was set in any of them.
    #[error(
        "PostgreSQL at {place} is behind a pooler that gives every transaction another session, and abide needs sessions of its own; use \
         the pooler in session mode (PgBouncer: `pool_mode = session`), or connect to the server directly"
    )]
    TransactionPooler {
        /// Where it is.
        place: String,
    },
    /// The server is too old.
    #[error("PostgreSQL at {place} is version {found}; abide needs 14 or newer")]
    OldServer {
        /// Where it is.
        place: String,
        /// Its version.
        found: String,
    },
    /// The database cannot hold any text.
    #[error(
        "the database has the encoding {found}, which cannot hold every text; create one with `ENCODING 'UTF8'`"
    )]
    Encoding {
        /// Its encoding.
        found: String,
    },
    /// The schema holds something else.
    #[error(
        "the schema '{schema}' is not abide's: it holds '{found}'; it was left untouched, choose another schema"
    )]
    Foreign {
        /// The schema.
        schema: String,
        /// Something that is in it.
        found: String,
    },
    /// A newer release has migrated the schema, and this one cannot work on what it wrote.
    #[error(
        "the schema '{schema}' is at version {found}, and this version of abide knows up to {known}: a newer release \
         migrated it{}; use that release or a newer one; the schema was left untouched",
        names_oldest(*oldest)
    )]
    NewerSchema {
        /// The schema.
        schema: String,
        /// Its version.
        found: i64,
        /// The oldest version whose release may work on it, if the schema says so.
        oldest: Option<i64>,
        /// The newest this build knows.
        known: i64,
    },
    /// The schema must be migrated, and nodes of an older release that could not work on it then are connected.
    #[error(
        "the schema '{schema}' is at version {found} and cannot be migrated to version {known} while nodes of an older \
         release are connected: stop {}, and open it again; the schema was left untouched",
        if nodes.is_empty() { "them".to_owned() } else { nodes.join(", ") }
    )]
    OlderNodes {
        /// The schema.
        schema: String,
        /// Its version.
        found: i64,
        /// The version that it would be migrated to.
        known: i64,
        /// Their sessions, as the server shows them.
        nodes: Vec<String>,
    },
    /// Bringing the schema up to date failed. Nothing of it was applied.
    #[error("bringing the schema '{schema}' up to date failed and was undone: {reason}")]
    Migration {
        /// The schema.
        schema: String,
        /// What went wrong, with all its causes.
        reason: String,
    },
    /// A thread could not be started.
    #[error("cannot start a thread for the database: {0}")]
    Thread(#[source] std::io::Error),
}

/// Which releases may work on a newer schema, as part of a sentence.
fn names_oldest(oldest: Option<i64>) -> String {
    oldest.map(|oldest| format!(", for releases that know version {oldest}")).unwrap_or_default()
}

/// What became of a call to the server that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallError {
    pub(crate) kind: CallErrorKind,
    pub(crate) message: String,
}

/// What it means, for whoever made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallErrorKind {
    /// It was rolled back because of what others did at the same time: the same call again may succeed at once.
    Collided,
    /// It was not applied, perhaps because of one of those it was made for: somebody holds its row, or it is too much.
    Suspect,
    /// It was not applied, and may succeed later.
    NotApplied,
    /// The answer was lost.
    Unknown,
    /// No server will ever take it.
    Refused,
}

impl CallError {
    pub(crate) fn unknown(message: impl Into<String>) -> Self {
        Self { kind: CallErrorKind::Unknown, message: message.into() }
    }

    pub(crate) fn of(self, operation: Operation) -> StoreError {
        let kind = match self.kind {
            CallErrorKind::Collided | CallErrorKind::Suspect | CallErrorKind::NotApplied => {
                ErrorKind::NotApplied
            }
            CallErrorKind::Unknown => ErrorKind::Unknown,
            CallErrorKind::Refused => ErrorKind::Rejected(Rejection::Invalid),
        };
        StoreError { operation, kind, message: self.message }
    }
}

impl From<tokio_postgres::Error> for CallError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self { kind: kind_of(&error), message: describe(&error) }
    }
}

fn kind_of(error: &tokio_postgres::Error) -> CallErrorKind {
    let Some(server) = error.as_db_error() else {
        // The driver: the connection is gone, or its answer made no sense. What was sent may have been done. What it could not encode was
        // never sent, and never will be.
        return if is_encoding(error) { CallErrorKind::Refused } else { CallErrorKind::Unknown };
    };
    let code = server.code();
    if matches!(*code, SqlState::T_R_SERIALIZATION_FAILURE | SqlState::T_R_DEADLOCK_DETECTED) {
        return CallErrorKind::Collided;
    }
    // The server ends the session: it may do so after the commit, and before it has said so.
    if matches!(server.parsed_severity(), Some(Severity::Fatal | Severity::Panic))
        || code.code().starts_with("57P")
        || matches!(
            *code,
            SqlState::TRANSACTION_RESOLUTION_UNKNOWN | SqlState::T_R_STATEMENT_COMPLETION_UNKNOWN
        )
    {
        return CallErrorKind::Unknown;
    }
    // Of what the call carries: a text or a number that no column holds, or that is too long for an index or a row.
    if code.code().starts_with("22") || *code == SqlState::PROGRAM_LIMIT_EXCEEDED {
        return CallErrorKind::Refused;
    }
    // Of the server: its disk or its connections are used up, it is in standby or in a transaction that failed, it is being stopped, or
    // something is missing in it. All others may be about one row.
    let is_of_server =
        ["08", "25", "42", "53", "57", "58"].iter().any(|class| code.code().starts_with(class));
    let is_of_call = matches!(*code, SqlState::OUT_OF_MEMORY | SqlState::QUERY_CANCELED);
    if is_of_server && !is_of_call { CallErrorKind::NotApplied } else { CallErrorKind::Suspect }
}

fn is_encoding(error: &tokio_postgres::Error) -> bool {
    use std::error::Error as _;
    error.source().and_then(|source| source.downcast_ref::<postgres_types::WrongType>()).is_some()
}

/// What happened, by all that said something about it. Not the detail of a server's error, which may quote what was stored.
pub(crate) fn describe(error: &tokio_postgres::Error) -> String {
    use std::error::Error as _;
    if let Some(server) = error.as_db_error() {
        return format!("{} (SQLSTATE {})", server.message(), server.code().code());
    }
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
