//! Every path, type, signature, constant, variant and field that programs for `duroxide` 0.1.32 may name.
//!
//! Checked by compiling: nothing here runs. Function pointers and generic wrappers with exactly the documented bounds hold
//! signatures; patterns and literals that name every field, and matches without a wildcard, hold shapes. Modules follow
//! the documentation: this one has the module tree and the root.
//!
//! Left out, on purpose, because it was not carried over: `ReplayEngine`, `TurnResult`, `HistoryManager`,
//! `WorkItemReader`, `run_single_execution_atomic`, the hidden hooks of the context, the feature `replay-version-test`,
//! `sqlx` types.

#![allow(
    dead_code,
    let_underscore_drop,
    clippy::disallowed_types,
    clippy::let_underscore_must_use,
    clippy::many_single_char_names,
    clippy::needless_pass_by_value,
    clippy::too_many_arguments,
    clippy::needless_match,
    clippy::type_complexity,
    clippy::unused_async,
    clippy::wildcard_enum_match_arm,
    reason = "it is compiled and never run"
)]

mod authoring;
mod data;

mod activity;
mod registries;

mod client;
mod runtime;

mod observability;
mod stores;
mod values;

#[cfg(feature = "provider-test")]
mod validations;

use std::sync::Arc;

/// What every text parameter accepts.
trait Text: Into<String> {}
impl<T: Into<String>> Text for T {}

/// Two paths to one type.
macro_rules! same {
    ($($one:ty = $other:ty;)*) => { $(const _: fn($one) -> $other = |value| value;)* };
}

// 0.2: the modules have the same types that the root has

same! {
    duroxide::Client = duroxide::client::Client;
    duroxide::ClientError = duroxide::client::ClientError;
    duroxide::OrchestrationStatus = duroxide::runtime::OrchestrationStatus;
    duroxide::OrchestrationDescriptor = duroxide::runtime::OrchestrationDescriptor;
    duroxide::RuntimeOptions = duroxide::runtime::RuntimeOptions;
    duroxide::OrchestrationRegistry = duroxide::runtime::OrchestrationRegistry;
    duroxide::OrchestrationRegistry = duroxide::runtime::registry::OrchestrationRegistry;
    duroxide::OrchestrationRegistryBuilder = duroxide::runtime::OrchestrationRegistryBuilder;
    duroxide::OrchestrationRegistryBuilder = duroxide::runtime::registry::OrchestrationRegistryBuilder;
    duroxide::runtime::VersionPolicy = duroxide::runtime::registry::VersionPolicy;
    duroxide::runtime::LogFormat = duroxide::runtime::observability::LogFormat;
    duroxide::runtime::ObservabilityConfig = duroxide::runtime::observability::ObservabilityConfig;
    duroxide::ExecutionInfo = duroxide::providers::ExecutionInfo;
    duroxide::ExecutionInfo = duroxide::providers::management::ExecutionInfo;
    duroxide::InstanceInfo = duroxide::providers::InstanceInfo;
    duroxide::InstanceInfo = duroxide::providers::management::InstanceInfo;
    duroxide::InstanceTree = duroxide::providers::InstanceTree;
    duroxide::InstanceTree = duroxide::providers::management::InstanceTree;
    duroxide::InstanceFilter = duroxide::providers::InstanceFilter;
    duroxide::InstanceFilter = duroxide::providers::management::InstanceFilter;
    duroxide::QueueDepths = duroxide::providers::QueueDepths;
    duroxide::QueueDepths = duroxide::providers::management::QueueDepths;
    duroxide::SystemMetrics = duroxide::providers::SystemMetrics;
    duroxide::SystemMetrics = duroxide::providers::management::SystemMetrics;
    duroxide::PruneOptions = duroxide::providers::PruneOptions;
    duroxide::PruneOptions = duroxide::providers::management::PruneOptions;
    duroxide::PruneResult = duroxide::providers::PruneResult;
    duroxide::PruneResult = duroxide::providers::management::PruneResult;
    duroxide::DeleteInstanceResult = duroxide::providers::DeleteInstanceResult;
    duroxide::DeleteInstanceResult = duroxide::providers::management::DeleteInstanceResult;
    duroxide::ScheduledActivityIdentifier = duroxide::providers::ScheduledActivityIdentifier;
    duroxide::SessionFetchConfig = duroxide::providers::SessionFetchConfig;
    duroxide::DispatcherCapabilityFilter = duroxide::providers::DispatcherCapabilityFilter;
    duroxide::SemverRange = duroxide::providers::SemverRange;
    duroxide::SystemStats = duroxide::providers::SystemStats;
    duroxide::TagFilter = duroxide::providers::TagFilter;
    duroxide::providers::ProviderError = duroxide::providers::error::ProviderError;
    duroxide::ProviderRef = Arc<dyn duroxide::providers::Provider>;
    duroxide::OrchestrationHandlerRef = Arc<dyn duroxide::runtime::OrchestrationHandler>;
    Box<dyn duroxide::OrchestrationHandler> = Box<dyn duroxide::runtime::OrchestrationHandler>;
    Box<dyn duroxide::ProviderAdmin> = Box<dyn duroxide::providers::ProviderAdmin>;
    Box<dyn duroxide::providers::ManagementProvider> = Box<dyn duroxide::providers::management::ManagementProvider>;
}

// 0.3: the constants and functions of the root

const _: fn(&str) -> bool = duroxide::is_auto_generated_sub_orch_id;
const _: fn(&str, &str) -> String = duroxide::build_child_instance_id;
const _: fn() -> semver::Version = duroxide::current_build_version;

const _: () = {
    assert!(
        duroxide::INITIAL_EXECUTION_ID == 1_u64 && duroxide::INITIAL_EVENT_ID == 1_u64,
        "they count from 1"
    );
    assert!(matches!(duroxide::SUB_ORCH_AUTO_PREFIX.as_bytes(), b"sub::"), "it is part of instance ids");
};

/// Names that a glob of the root brings, next to globs of the modules: no name means two things.
mod by_glob {
    use duroxide::client::*;
    use duroxide::providers::*;
    use duroxide::runtime::registry::*;
    use duroxide::runtime::*;
    use duroxide::*;

    type Authoring =
        (OrchestrationContext, ActivityContext, DurableFuture<()>, Either2<u8, u8>, Either3<u8, u8, u8>);
    type Retrying = (RetryPolicy, BackoffStrategy, ScheduleKind, LogLevel, SystemStats);
    type Happened = (Event, EventKind, Action, CompletionResult, ErrorDetails, AppErrorKind);
    type Wrong = (ConfigErrorKind, PoisonMessageType, ClientError, ProviderError);
    type Running = (Client, Runtime, RuntimeOptions, OrchestrationStatus, OrchestrationDescriptor);
    type Registered = (OrchestrationRegistry, OrchestrationRegistryBuilder, ActivityRegistry, VersionPolicy);
    type Handlers = (Box<dyn OrchestrationHandler>, OrchestrationHandlerRef, Box<dyn ActivityHandler>);
    type Stored = (ProviderRef, Box<dyn Provider>, Box<dyn ProviderAdmin>, WorkItem, ExecutionMetadata);
    type Asked = (SessionFetchConfig, TagFilter, DispatcherCapabilityFilter, SemverRange);
    type Looked = (InstanceInfo, ExecutionInfo, InstanceTree, QueueDepths, SystemMetrics);
    type Deleted =
        (InstanceFilter, DeleteInstanceResult, PruneOptions, PruneResult, ScheduledActivityIdentifier);

    const NUMBERS: [u64; 2] = [INITIAL_EXECUTION_ID, INITIAL_EVENT_ID];
}
