//! Runs orchestrations and activities on a store.
//!
//! Start with [`Runtime::builder`](Runtime::builder). Code is found by name in [registries](registry); what a runtime tells
//! about itself is in [`observability`] and [`Health`].

pub use abide_engine::{FnOrchestration, OrchestrationHandler};
pub use abide_model::{OrchestrationDescriptor, OrchestrationStatus, kind_of};
pub use abide_runtime::observability::{LogFormat, ObservabilityConfig};
pub use abide_runtime::registry::{
    OrchestrationOptions, OrchestrationRegistry, OrchestrationRegistryBuilder, VersionPolicy,
};
pub use abide_runtime::{
    ActivityHandler, AutoPruneConfig, AutoPrunePolicy, FnActivity, Health, InvalidOptions, NeverPrunes,
    PruneTrigger, RetentionConfig, Runtime, RuntimeBuilder, RuntimeOptions, Stalled, StartError,
    UnregisteredBackoffConfig,
};

pub use abide_model::limits;
#[cfg(feature = "test-hooks")]
pub use abide_runtime::test_hooks;
pub use abide_runtime::{observability, registry};
