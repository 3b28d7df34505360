//! What went wrong elsewhere.

mod orphans;
pub(crate) mod scene;
