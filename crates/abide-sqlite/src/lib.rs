//! abide's store on an embedded SQLite file.
//!
//! [`SqliteProvider`] is the contract of `abide-provider` on one file: acknowledged means durable, many callers
//! share an fsync, nothing polls, and several processes may work on the same file.
//!
//! ```
//! use std::time::Duration;
//!
//! use abide_model::WorkItem;
//! use abide_provider::{Provider, TagFilter};
//! use abide_sqlite::SqliteProvider;
//!
//! # futures::executor::block_on(async {
//! // A file: `SqliteProvider::new("sqlite:./data/shop.db", None)`. It is created if it is missing.
//! let store = SqliteProvider::new_in_memory().await?;
//! let charge = WorkItem::ActivityExecute {
//!     instance: "order-1".into(),
//!     execution_id: 1,
//!     id: 2,
//!     name: "Charge".into(),
//!     input: "42 EUR".into(),
//!     session_id: None,
//!     tag: None,
//! };
//! store.enqueue_for_worker(charge.clone()).await?;
//!
//! let lease = Duration::from_secs(30);
//! let fetched = store.fetch_work_item(lease, Duration::ZERO, None, &TagFilter::DefaultOnly).await?;
//! let (item, token, attempt) = fetched.expect("there is work");
//! assert_eq!((item, attempt), (charge, 1));
//! store.ack_work_item(&token, None).await?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! To read the code, start with `provider.rs` and `admin.rs`, which map every method to a job; then `writer/`, the one thread that runs
//! jobs in groups; then `store/`, what a job does, over the statements in `sql/`.
//!
//! Deliberately absent: decisions. What a turn writes is computed by `abide_provider::CommitRows`; here it is
//! written.

mod admin;
mod bulk;
mod checkpoint;
mod connect;
mod deletion;
mod duroxide;
mod encode;
mod error;
mod identity;
mod job;
mod location;
mod migrate;
mod options;
mod owner;
mod permissions;
mod provider;
mod readers;
mod shared;
mod sqlite_provider;
mod statements;
mod stolen;
mod store;
mod submit;
mod text;
mod token;
mod writer;

pub use duroxide::{
    ImportCounts, ImportError, ImportOutcome, ImportProblem, ImportReport, discard_duroxide_import,
    import_duroxide, import_duroxide_dry_run,
};
pub use error::OpenError;
pub use options::{Durability, SqliteBuilder, SqliteOptions};
pub use sqlite_provider::SqliteProvider;
