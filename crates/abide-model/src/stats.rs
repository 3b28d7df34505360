//! The size of one instance, for people who watch it grow.
//!
//! Deliberately absent: rates and times. Those are metrics, and belong to the runtime.

use serde::{Deserialize, Serialize};

/// How much one instance holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemStats {
    /// How many events its current history has.
    pub history_event_count: u64,
    /// How many bytes these events take as stored.
    pub history_size_bytes: u64,
    /// How many queue messages are unread.
    pub queue_pending_count: u64,
    /// How many keys it keeps.
    pub kv_user_key_count: u64,
    /// How many bytes the values take.
    pub kv_total_value_bytes: u64,
}
