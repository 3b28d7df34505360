//! Every metric there is: its name, its kind, and what it counts.
//!
//! Names are part of what users build dashboards on. A metric is in this table or it does not exist.

use metrics::{describe_counter, describe_gauge, describe_histogram};

/// Defines each metric once: a constant with its name, and a row of the table.
macro_rules! names {
    ($($constant:ident = $kind:ident $name:literal: $help:literal;)*) => {
        $(pub(super) const $constant: &str = $name;)*

        /// Tells the recorder, if there is one, what each metric means.
        pub(super) fn describe() {
            $(names!(@$kind $name, $help);)*
        }

        #[cfg(test)]
        pub(super) const ALL: &[&str] = &[$($name),*];
    };
    (@counter $name:literal, $help:literal) => { describe_counter!($name, $help) };
    (@gauge $name:literal, $help:literal) => { describe_gauge!($name, $help) };
    (@histogram $name:literal, $help:literal) => { describe_histogram!($name, $help) };
}

names! {
    ORCHESTRATION_STARTS = counter "abide_orchestration_starts_total": "Executions that were started";
    ORCHESTRATION_COMPLETIONS = counter "abide_orchestration_completions_total": "Executions that ended, one way or another";
    ORCHESTRATION_DURATION = histogram "abide_orchestration_duration_seconds": "From the start of an execution to its end";
    ORCHESTRATION_TURNS = histogram "abide_orchestration_turns": "Turns of an execution";
    ORCHESTRATION_HISTORY_SIZE = histogram "abide_orchestration_history_size": "Events of an execution";
    ORCHESTRATION_FAILURES = counter "abide_orchestration_failures_total": "Executions that failed";
    ORCHESTRATION_INFRASTRUCTURE_ERRORS = counter "abide_orchestration_infrastructure_errors_total": "Executions that failed because of the store";
    ORCHESTRATION_CONFIGURATION_ERRORS = counter "abide_orchestration_configuration_errors_total": "Executions that failed because code and history do not fit";
    ORCHESTRATION_CONTINUE_AS_NEW = counter "abide_orchestration_continue_as_new_total": "Executions that continued as new";
    ORCHESTRATION_POISON = counter "abide_orchestration_poison_total": "Executions given up after too many attempts";

    ACTIVITY_EXECUTIONS = counter "abide_activity_executions_total": "Runs of activities, by outcome";
    ACTIVITY_DURATION = histogram "abide_activity_duration_seconds": "How long activities ran";
    ACTIVITY_INFRASTRUCTURE_ERRORS = counter "abide_activity_infrastructure_errors_total": "Runs whose outcome could not be recorded";
    ACTIVITY_CONFIGURATION_ERRORS = counter "abide_activity_configuration_errors_total": "Runs that failed for lack of a handler";
    ACTIVITY_POISON = counter "abide_activity_poison_total": "Activities given up after too many attempts";

    SUBORCHESTRATION_CALLS = counter "abide_suborchestration_calls_total": "Children that answered, by outcome";
    SUBORCHESTRATION_DURATION = histogram "abide_suborchestration_duration_seconds": "How long parents waited for children";

    OUTCOMES_WITHDRAWN = counter "abide_outcomes_withdrawn_total": "Outcomes that were counted when they were handed to the store, which then did not take them";

    PROVIDER_OPERATION_DURATION = histogram "abide_provider_operation_duration_seconds": "How long calls of the store took";
    PROVIDER_ERRORS = counter "abide_provider_errors_total": "Calls of the store that failed";
    STORAGE_ERRORS = counter "abide_storage_errors_total": "Calls of the store that failed, by what became of them";
    LEASE_RENEWALS = counter "abide_lease_renewals_total": "Renewals of leases, by outcome";

    ORCHESTRATION_ITEMS_FETCHED = counter "abide_orchestration_dispatcher_items_fetched": "Turns that were leased";
    WORKER_ITEMS_FETCHED = counter "abide_worker_dispatcher_items_fetched": "Activities that were leased";
    ORCHESTRATION_PROCESSING_DURATION = histogram "abide_orchestration_dispatcher_processing_duration_ms": "From the lease of a turn to its commit";
    WORKER_EXECUTION_DURATION = histogram "abide_worker_dispatcher_execution_duration_ms": "From the lease of an activity to its answer";

    EXECUTIONS_PRUNED = counter "abide_executions_pruned_total": "Ended executions whose history was removed by this runtime";
    AUTO_PRUNES_REFUSED = counter "abide_prunes_refused_total": "Commits that went without the pruning that a policy or the code had asked for";
    INSTANCES_REMOVED = counter "abide_instances_removed_total": "Finished instances that were removed because of their age";
    ACTIVE_ORCHESTRATIONS = gauge "abide_active_orchestrations": "Instances that run";
    INSTANCES_RESIDENT = gauge "abide_instances_resident": "Instances kept in memory between turns";
    INSTANCES_BLOCKED = gauge "abide_instances_blocked": "Instances and activities that are blocked, by kind";
    ORCHESTRATOR_QUEUE_DEPTH = gauge "abide_orchestrator_queue_depth": "Messages that wait for a turn";
    WORKER_QUEUE_DEPTH = gauge "abide_worker_queue_depth": "Activities that wait for a worker";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_distinct_and_documented() {
        let distinct: BTreeSet<_> = ALL.iter().collect();
        assert_eq!(distinct.len(), ALL.len());
        let page = include_str!("../mod.rs");
        for name in ALL {
            assert!(page.contains(&format!("`{name}`")), "{name} is not in the table of the module");
        }
    }
}
