//! How long a store call may take, by the bytes it carries.

use std::time::Duration;

/// How many bytes a store takes in per second at least: a slow disk, or a slow connection to a server.
const BYTES_PER_SECOND: u64 = 1024 * 1024;

/// No answer of a store carries more: a gibibyte.
pub const LARGEST_ANSWER: usize = 1024 * 1024 * 1024;

/// Returns how much longer a call may take that carries so many bytes.
///
/// Callers add it to their deadline. Without it a call with a large payload would be late every time, and be
/// repeated for ever. A call of ordinary size gets nothing noticeable: one second per mebibyte.
#[must_use]
pub fn transfer_time(bytes: usize) -> Duration {
    let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
    let rest = Duration::from_secs(bytes % BYTES_PER_SECOND) / 1024 / 1024;
    Duration::from_secs(bytes / BYTES_PER_SECOND) + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_may_take_a_second_longer_per_mebibyte() {
        assert_eq!(transfer_time(0), Duration::ZERO);
        assert_eq!(transfer_time(1024), Duration::from_nanos(976_562));
        assert_eq!(transfer_time(64 * 1024 * 1024), Duration::from_secs(64));
        assert!(transfer_time(usize::MAX) > Duration::from_secs(1 << 40));
    }
}
