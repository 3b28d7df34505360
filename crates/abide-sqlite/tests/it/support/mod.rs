//! What the tests share.

pub(crate) mod clock;
pub(crate) mod dump;
