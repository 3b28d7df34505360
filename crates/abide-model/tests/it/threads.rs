//! Everything crosses threads, and the seams can be held as trait objects. Checked by compiling.

use std::sync::Arc;

use abide_model::{
    Action, AppErrorKind, BackoffStrategy, Clock, Codec, CompletionResult, ConfigErrorKind, Either2, Either3,
    Entropy, ErrorDetails, Event, EventId, EventKind, ExecutionStatus, KvEntry, LogLevel,
    OrchestrationDescriptor, OrchestrationStatus, PoisonMessageType, PruneOptions, PruneResult, RetryPolicy,
    ScheduleKind, ScheduledActivityIdentifier, SemverRange, Sleep, Spawn, SystemStats, Task, Timestamp,
    UnknownExecutionStatus, WorkItem,
};

const fn crosses_threads<T: Send + Sync + 'static>() {}
const fn moves_between_threads<T: Send + 'static>() {}

const _: () = {
    crosses_threads::<(Event, EventKind, WorkItem, Action, CompletionResult, ScheduleKind)>();
    crosses_threads::<(ErrorDetails, AppErrorKind, ConfigErrorKind, PoisonMessageType)>();
    crosses_threads::<(BackoffStrategy, RetryPolicy, Codec, LogLevel, SemverRange)>();
    crosses_threads::<(ExecutionStatus, OrchestrationStatus, OrchestrationDescriptor, UnknownExecutionStatus)>(
    );
    crosses_threads::<(Either2<u8, u8>, Either3<u8, u8, u8>, EventId, ScheduledActivityIdentifier, Timestamp)>(
    );
    crosses_threads::<(KvEntry, PruneOptions, PruneResult, SystemStats)>();
    crosses_threads::<(Arc<dyn Clock>, Arc<dyn Entropy>, Arc<dyn Spawn>)>();
    moves_between_threads::<(Sleep, Task)>();
};
