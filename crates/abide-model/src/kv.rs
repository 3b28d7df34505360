//! One stored value of an instance.
//!
//! Deliberately absent: the key, which is the map's, and changes, which are events.

/// A value that an instance keeps under a key, and when it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KvEntry {
    /// The value.
    pub value: String,
    /// When it was written, in milliseconds since the Unix epoch.
    pub last_updated_at_ms: u64,
}
