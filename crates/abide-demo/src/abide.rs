//! The paths of the facade crate, until it is there.

pub(crate) use abide_client::{Client, ClientError};
pub(crate) use abide_engine::OrchestrationContext;
pub(crate) use abide_model::{BackoffStrategy, Event, EventKind, OrchestrationStatus, RetryPolicy};
pub(crate) use abide_runtime::ActivityContext;
pub(crate) use abide_runtime::registry::OrchestrationRegistry;

pub(crate) mod runtime {
    pub(crate) use abide_runtime::{Runtime, StartError};

    pub(crate) mod registry {
        pub(crate) use abide_runtime::registry::ActivityRegistry;
    }
}

pub(crate) mod providers {
    pub(crate) mod sqlite {
        pub(crate) use abide_sqlite::{OpenError, SqliteProvider};
    }
}
