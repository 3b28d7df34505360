//! abide's store on an embedded SQLite file.
//!
//! [`SqliteProvider`] is the contract of `abide-provider` on one file: acknowledged means durable, many callers
//! share an fsync, nothing polls, and several processes may work on the same file.
//!
//! Where to start: [`provider`] maps every method to a job; [`writer`] is the one thread that runs jobs in groups;
//! [`store`] is what a job does, over the statements in `sql/`.
//!
//! Deliberately absent: decisions. What a turn writes is computed by `abide_provider::CommitRows`; here it is
//! written.

mod checkpoint;
mod connect;
mod encode;
mod error;
mod identity;
mod job;
mod location;
mod migrate;
mod options;
mod owner;
mod provider;
mod readers;
mod shared;
mod sqlite_provider;
mod statements;
mod stolen;
mod store;
mod token;
mod writer;

pub use error::OpenError;
pub use options::{Durability, SqliteOptions};
pub use sqlite_provider::SqliteProvider;
