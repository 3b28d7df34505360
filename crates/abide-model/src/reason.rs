//! The reasons that a history records for what was cancelled.

/// The code dropped the future: its own decision, made again on replay.
pub const DROPPED_FUTURE: &str = "dropped_future";
/// The execution ended; the reasons recorded for activities and children say how, and begin with this.
pub const TERMINAL: &str = "orchestration_terminal";
/// It ended by completing.
pub const TERMINAL_COMPLETED: &str = "orchestration_terminal_completed";
/// It ended by failing.
pub const TERMINAL_FAILED: &str = "orchestration_terminal_failed";
/// It ended by being cancelled.
pub const TERMINAL_CANCELLED: &str = "orchestration_terminal_cancelled";
/// It ended by continuing as new.
pub const TERMINAL_CONTINUED_AS_NEW: &str = "orchestration_terminal_continued_as_new";
