//! abide's store on PostgreSQL: any number of nodes share one schema of one database.
//!
//! [`PostgresProvider`] is the contract of `abide-provider` on a server: every operation is one call of one function in the database, fenced
//! under the row's lock and judged by the server's clock; many callers share a call; notices wake the other nodes within milliseconds, and
//! nothing depends on them.
//!
//! ```no_run
//! # async fn open() -> Result<(), abide_postgres::OpenError> {
//! use abide_postgres::PostgresProvider;
//!
//! // The schema `abide` is created if it is missing, and nothing outside it is touched.
//! let store = PostgresProvider::new("postgres://app:secret@localhost/shop").await?;
//! # drop(store);
//! # Ok(())
//! # }
//! ```
//!
//! To read the code, start with `provider.rs` and `admin.rs`, which map every method to something on a desk, a search or a read; then
//! `node/`, the one thread that talks to the server; then `functions/`, what happens there. `docs/adr/0004` says why.
//!
//! Deliberately absent: decisions. What a turn writes is computed by `abide_provider::CommitRows`; here it is written.

mod admin;
mod blocked;
mod bulk;
mod connect;
mod deletion;
mod encode;
mod error;
mod hatch;
mod horizon;
mod hosts;
mod lease;
mod lease_instances;
mod lease_work;
mod listing;
mod migrate;
mod news;
mod node;
mod nodes;
mod options;
mod overview;
mod pooler;
mod postgres_provider;
mod prepare;
mod provider;
mod read;
mod revoke;
mod routes;
mod rows;
mod schema;
mod search;
mod server_time;
mod shared;
mod statements;
mod status;
mod stolen;
mod terms;
mod text;
mod tls;
mod token;
mod waiters;

pub use error::OpenError;
pub use options::PostgresBuilder;
pub use postgres_provider::PostgresProvider;
pub use schema::InvalidSchema;
