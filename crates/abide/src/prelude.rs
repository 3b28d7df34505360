//! What a first program needs: `use abide::prelude::*`.

#[cfg(feature = "sqlite")]
pub use crate::providers::sqlite::SqliteProvider;
pub use crate::providers::{Provider, TagFilter};
pub use crate::runtime::Runtime;
pub use crate::runtime::registry::{ActivityRegistry, OrchestrationRegistry};
pub use crate::{
    ActivityContext, BackoffStrategy, Client, ClientError, DurableFuture, Either2, Either3,
    OrchestrationContext, OrchestrationStatus, RetryPolicy, RuntimeOptions,
};
