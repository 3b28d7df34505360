//! How important a line of an orchestration's log is.
//!
//! Deliberately absent: debug and trace. A line that survives replay is written for an operator.

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
