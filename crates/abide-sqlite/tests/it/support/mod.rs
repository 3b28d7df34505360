//! What the tests share.

pub(crate) mod dump;
pub(crate) mod folder;
pub(crate) mod items;
#[cfg(unix)]
pub(crate) mod load;
#[cfg(unix)]
pub(crate) mod process;
pub(crate) mod rules;
pub(crate) mod store;

pub(crate) use abide_differential::clock;
