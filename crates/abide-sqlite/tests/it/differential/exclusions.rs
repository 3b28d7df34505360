//! Differences that are known and reported, so that others can be found. Empty is the aim.

/// Work of a name that is no instance is leased by SQLite with the version "unknown" instead of none.
pub(crate) const VERSION_OF_NO_INSTANCE: bool = true;
