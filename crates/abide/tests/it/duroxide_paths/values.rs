//! 7.1: what a store takes and returns.

use std::collections::{HashMap, HashSet};
use std::fmt::{Debug, Display};
use std::time::Duration;

use duroxide::providers::{
    DispatcherCapabilityFilter, ExecutionMetadata, KvEntry, MAX_WORKER_TAGS, OrchestrationItem,
    ProviderError, ScheduledActivityIdentifier, SemverRange, SessionFetchConfig, SystemStats, TagFilter,
    WorkItem, current_build_version,
};
use duroxide::{ErrorDetails, Event};
use semver::Version;

const fn is_plain<T: Debug + Clone + Send + Sync + 'static>() {}
const fn is_comparable<T: Debug + Clone + PartialEq + Send + Sync + 'static>() {}
const fn is_equal<T: Debug + Clone + PartialEq + Eq + Send + Sync + 'static>() {}
const fn is_default<T: Default>() {}
const fn is_error<T: std::error::Error + Display + From<String> + From<&'static str>>() {}

// 7.1, errors

const _: () = {
    is_equal::<ProviderError>();
    is_error::<ProviderError>();
};
const _: fn(&ProviderError) -> bool = ProviderError::is_retryable;
const _: fn(&ProviderError) -> ErrorDetails = ProviderError::to_infrastructure_error;
const _: fn(String, &'static str) -> ProviderError = ProviderError::retryable;
const _: fn(&'static str, String) -> ProviderError = ProviderError::permanent;

fn provider_error(operation: String, message: String) -> ProviderError {
    ProviderError { operation, message, retryable: true }
}

// 7.1, filters

const _: usize = MAX_WORKER_TAGS;
const _: () = {
    is_equal::<TagFilter>();
    is_default::<TagFilter>();
};
const _: fn() -> TagFilter = TagFilter::default_only;
const _: fn() -> TagFilter = TagFilter::none;
const _: fn() -> TagFilter = TagFilter::any;
const _: fn(&TagFilter, Option<&str>) -> bool = TagFilter::matches;

fn tags<I: IntoIterator<Item = S>, S: Into<String>>(tags: I) -> TagFilter {
    TagFilter::tags(tags)
}

fn default_and<I: IntoIterator<Item = S>, S: Into<String>>(tags: I) -> TagFilter {
    TagFilter::default_and(tags)
}

fn tag_filter(filter: TagFilter) -> Option<HashSet<String>> {
    match filter {
        TagFilter::DefaultOnly | TagFilter::Any | TagFilter::None => None,
        TagFilter::Tags(tags) | TagFilter::DefaultAnd(tags) => Some(tags),
    }
}

const _: fn() -> Version = current_build_version;
const _: () = is_equal::<SemverRange>();
const _: fn(Version, Version) -> SemverRange = SemverRange::new;
const _: fn(&SemverRange, &Version) -> bool = SemverRange::contains;
const _: fn() -> SemverRange = SemverRange::default_for_current_build;
const _: () = is_plain::<DispatcherCapabilityFilter>();
const _: fn(&DispatcherCapabilityFilter, &Version) -> bool = DispatcherCapabilityFilter::is_compatible;
const _: fn() -> DispatcherCapabilityFilter = DispatcherCapabilityFilter::default_for_current_build;

fn capabilities(min: Version, max: Version) -> DispatcherCapabilityFilter {
    DispatcherCapabilityFilter { supported_duroxide_versions: vec![SemverRange { min, max }] }
}

// 7.1, what is fetched and acked

const _: () = {
    is_equal::<ScheduledActivityIdentifier>();
    is_plain::<SessionFetchConfig>();
    is_comparable::<KvEntry>();
    is_plain::<OrchestrationItem>();
    is_plain::<ExecutionMetadata>();
    is_default::<ExecutionMetadata>();
    is_equal::<WorkItem>();
    is_plain::<SystemStats>();
};

fn identifier(instance: String, execution_id: u64, activity_id: u64) -> ScheduledActivityIdentifier {
    ScheduledActivityIdentifier { instance, execution_id, activity_id }
}

fn session(owner_id: String, lock_timeout: Duration) -> SessionFetchConfig {
    SessionFetchConfig { owner_id, lock_timeout }
}

fn entry(value: String, last_updated_at_ms: u64) -> KvEntry {
    KvEntry { value, last_updated_at_ms }
}

fn item(text: String, history: Vec<Event>, messages: Vec<WorkItem>) -> OrchestrationItem {
    let kv_snapshot: HashMap<String, KvEntry> = HashMap::new();
    OrchestrationItem {
        instance: text.clone(),
        orchestration_name: text.clone(),
        execution_id: 1_u64,
        version: text,
        history,
        messages,
        history_error: None::<String>,
        kv_snapshot,
    }
}

fn metadata(text: Option<String>) -> ExecutionMetadata {
    ExecutionMetadata {
        status: text.clone(),
        output: text.clone(),
        orchestration_name: text.clone(),
        orchestration_version: text.clone(),
        parent_instance_id: text,
        pinned_duroxide_version: None::<Version>,
    }
}

fn stats(count: u64) -> SystemStats {
    SystemStats {
        history_event_count: count,
        history_size_bytes: count,
        queue_pending_count: count,
        kv_user_key_count: count,
        kv_total_value_bytes: count,
    }
}

// 7.1, work items (their JSON is tested where they are defined)

fn starts(i: String, number: Option<u64>) -> [WorkItem; 2] {
    let start = WorkItem::StartOrchestration {
        instance: i.clone(),
        orchestration: i.clone(),
        input: i.clone(),
        version: Some(i.clone()),
        parent_instance: Some(i.clone()),
        parent_id: number,
        parent_execution_id: number,
        execution_id: 1_u64,
    };
    let next = WorkItem::ContinueAsNew {
        instance: i.clone(),
        orchestration: i.clone(),
        input: i.clone(),
        version: Some(i.clone()),
        parent_instance: Some(i.clone()),
        parent_id: number,
        parent_execution_id: number,
        carry_forward_events: vec![(i.clone(), i.clone())],
        initial_custom_status: Some(i),
    };
    [start, next]
}

fn activities(i: String, details: ErrorDetails) -> [WorkItem; 3] {
    let execute = WorkItem::ActivityExecute {
        instance: i.clone(),
        execution_id: 1_u64,
        id: 2_u64,
        name: i.clone(),
        input: i.clone(),
        session_id: Some(i.clone()),
        tag: Some(i.clone()),
    };
    let completed = WorkItem::ActivityCompleted {
        instance: i.clone(),
        execution_id: 1_u64,
        id: 2_u64,
        result: i.clone(),
    };
    let failed = WorkItem::ActivityFailed { instance: i, execution_id: 1_u64, id: 2_u64, details };
    [execute, completed, failed]
}

fn arrivals(i: String, details: ErrorDetails) -> [WorkItem; 6] {
    let completed = WorkItem::SubOrchCompleted {
        parent_instance: i.clone(),
        parent_execution_id: 1_u64,
        parent_id: 2_u64,
        result: i.clone(),
    };
    let failed = WorkItem::SubOrchFailed {
        parent_instance: i.clone(),
        parent_execution_id: 1_u64,
        parent_id: 2_u64,
        details,
    };
    [
        WorkItem::TimerFired { instance: i.clone(), execution_id: 1_u64, id: 2_u64, fire_at_ms: 3_u64 },
        WorkItem::ExternalRaised { instance: i.clone(), name: i.clone(), data: i.clone() },
        completed,
        failed,
        WorkItem::CancelInstance { instance: i.clone(), reason: i.clone() },
        WorkItem::QueueMessage { instance: i.clone(), name: i.clone(), data: i },
    ]
}

fn every_variant_is_named(item: &WorkItem) -> bool {
    match item {
        WorkItem::StartOrchestration { .. } | WorkItem::ContinueAsNew { .. } => true,
        WorkItem::ActivityExecute { .. }
        | WorkItem::ActivityCompleted { .. }
        | WorkItem::ActivityFailed { .. }
        | WorkItem::TimerFired { .. }
        | WorkItem::ExternalRaised { .. }
        | WorkItem::SubOrchCompleted { .. }
        | WorkItem::SubOrchFailed { .. }
        | WorkItem::CancelInstance { .. }
        | WorkItem::QueueMessage { .. } => false,
    }
}
