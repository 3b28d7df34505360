//! What the tests have in common: a place, workers in it, and a client.

pub(crate) mod fleet;
pub(crate) mod load;
pub(crate) mod site;
pub(crate) mod wait;
pub(crate) mod worker;
