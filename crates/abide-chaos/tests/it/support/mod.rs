//! What the tests have in common: a place, workers in it, a client, and the weather.

pub(crate) mod cpu;
pub(crate) mod database;
pub(crate) mod deployment;
pub(crate) mod fleet;
pub(crate) mod load;
pub(crate) mod progress;
pub(crate) mod proxy;
// What the tables must say after every call they must say after every storm.
#[path = "../../../../abide-postgres/tests/it/support/rules.rs"]
pub(crate) mod rules;
pub(crate) mod site;
pub(crate) mod wait;
pub(crate) mod weather;
pub(crate) mod worker;
