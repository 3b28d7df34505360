//! What the system itself provides: ids and the time, as built-in activities, so that they are recorded.

use std::future::Future;
use std::time::{Duration, SystemTime};

use abide_model::SystemStats;

use super::OrchestrationContext;

/// The built-in activity that makes a random id. The prefix is part of the recorded format.
const NEW_GUID: &str = "__duroxide_syscall:new_guid";
/// The built-in activity that reads the clock.
const UTC_NOW_MS: &str = "__duroxide_syscall:utc_now_ms";
/// The built-in activity that reads a key of another instance.
pub(super) const GET_KV_VALUE: &str = "__duroxide_syscall:get_kv_value";

impl OrchestrationContext {
    /// A random id (UUID v4, as text), the same on every replay.
    pub fn new_guid(&self) -> impl Future<Output = Result<String, String>> {
        self.schedule_activity(NEW_GUID, "")
    }

    /// The time, in milliseconds, the same on every replay.
    pub fn utc_now(&self) -> impl Future<Output = Result<SystemTime, String>> {
        self.schedule_activity(UTC_NOW_MS, "").map(|result| {
            let text = result?;
            let millis: u64 =
                text.parse().map_err(|error| format!("utc_now: '{text}' is no time: {error}"))?;
            SystemTime::UNIX_EPOCH
                .checked_add(Duration::from_millis(millis))
                .ok_or_else(|| format!("utc_now: {millis} ms is out of range"))
        })
    }

    /// Statistics of this instance; not available inside an orchestration, so always `None`.
    #[must_use]
    pub const fn get_system_stats(&self) -> Option<SystemStats> {
        None
    }
}
