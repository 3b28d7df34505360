//! What the tests share.

pub(crate) mod database;
pub(crate) mod dump;
pub(crate) mod rules;
