//! How important a log line is, in three steps.
//!
//! Part of the offered API, and used by nothing here: what orchestrations say has finer levels, which the
//! engine defines.

/// The importance of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    /// Progress.
    Info,
    /// Something that may need attention.
    Warn,
    /// Something that went wrong.
    Error,
}
