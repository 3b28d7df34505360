//! What the tests share.

pub(crate) mod clock;
pub(crate) mod dump;
pub(crate) mod folder;
pub(crate) mod items;
pub(crate) mod load;
pub(crate) mod process;
pub(crate) mod store;
