//! Runs orchestrations and activities on a store.
#![expect(dead_code, reason = "what the dispatchers will use is here before them")]

mod activity_context;
mod handler;
pub mod observability;
mod options;
pub mod registry;
mod settings;

pub use activity_context::ActivityContext;
pub use handler::{ActivityHandler, FnActivity};
pub use options::{RuntimeOptions, UnregisteredBackoffConfig};
pub use settings::InvalidOptions;
