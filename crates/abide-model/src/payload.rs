//! The size of one payload, and the error about one that is too large.

/// A payload that is larger than `max_payload_bytes`. It is not stored.
///
/// The text names the payload, its size and the limit, but does not show the payload.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{what} has {bytes} bytes; the limit is {limit} (max_payload_bytes). Store large data elsewhere and pass a \
     reference to it, or raise the limit on every node and client"
)]
pub struct PayloadTooLarge {
    /// What is too large, such as `result of activity 'Charge'`.
    pub what: String,
    /// Its size.
    pub bytes: usize,
    /// The largest size that is allowed.
    pub limit: usize,
}

impl PayloadTooLarge {
    /// Checks a payload of so many bytes. `what` is called if it is too large.
    ///
    /// # Errors
    ///
    /// If `bytes` is more than `limit`.
    pub fn check(bytes: usize, limit: usize, what: impl FnOnce() -> String) -> Result<(), Self> {
        if bytes > limit { Err(Self { what: what(), bytes, limit }) } else { Ok(()) }
    }
}
