//! What the tests share.

pub(crate) mod database;
pub(crate) mod dump;
pub(crate) mod fake_pooler;
pub(crate) mod items;
pub(crate) mod process;
pub(crate) mod rules;
pub(crate) mod silent_proxy;
pub(crate) mod slow_proxy;
pub(crate) mod stores;
