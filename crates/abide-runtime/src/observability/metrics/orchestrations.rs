//! What is counted about orchestrations.

use std::sync::atomic::Ordering;

use metrics::{counter, gauge, histogram};

use super::{MetricsProvider, UNKNOWN, float, labels, names};

impl MetricsProvider {
    /// An execution was started, by a `"client"` or by `"continueAsNew"`.
    pub fn record_orchestration_start(&self, orchestration_name: &str, version: &str, initiated_by: &str) {
        self.counts.orch_starts.one();
        counter!(
            names::ORCHESTRATION_STARTS,
            "orchestration_name" => self.values.orchestrations.limit(orchestration_name),
            "version" => self.values.versions.limit(version),
            "initiated_by" => self.word(initiated_by),
        )
        .increment(1);
    }

    /// An execution ended: `"success"`, `"failed"` or `"continuedAsNew"`. Duration, turns and events are those of the whole
    /// execution. A failure, or a continuation, is recorded by its own method as well.
    #[expect(clippy::too_many_arguments, reason = "a frozen signature")]
    pub fn record_orchestration_completion(
        &self,
        orchestration_name: &str,
        version: &str,
        status: &str,
        duration_seconds: f64,
        turn_count: u64,
        history_events: u64,
    ) {
        self.count_orchestration_end(orchestration_name, version, status, turn_count);
        self.measure_orchestration_end(
            orchestration_name,
            version,
            status,
            duration_seconds,
            turn_count,
            history_events,
        );
    }

    /// Counts an execution that ended.
    pub(crate) fn count_orchestration_end(
        &self,
        orchestration_name: &str,
        version: &str,
        status: &str,
        turn_count: u64,
    ) {
        if status == "success" {
            self.counts.orch_completions.one();
        }
        counter!(
            names::ORCHESTRATION_COMPLETIONS,
            "orchestration_name" => self.values.orchestrations.limit(orchestration_name),
            "version" => self.values.versions.limit(version),
            "status" => self.word(status),
            "final_turn_count" => labels::turns(turn_count),
        )
        .increment(1);
    }

    /// Measures an execution that ended.
    #[expect(clippy::too_many_arguments, reason = "those of the method above")]
    pub(crate) fn measure_orchestration_end(
        &self,
        orchestration_name: &str,
        version: &str,
        status: &str,
        duration_seconds: f64,
        turn_count: u64,
        history_events: u64,
    ) {
        let name = self.values.orchestrations.limit(orchestration_name);
        histogram!(
            names::ORCHESTRATION_DURATION,
            "orchestration_name" => name.clone(),
            "version" => self.values.versions.limit(version),
            "status" => self.word(status),
        )
        .record(duration_seconds);
        histogram!(names::ORCHESTRATION_TURNS, "orchestration_name" => name.clone())
            .record(float(turn_count));
        histogram!(names::ORCHESTRATION_HISTORY_SIZE, "orchestration_name" => name)
            .record(float(history_events));
    }

    /// An execution failed. The type is `"app_error"`, `"infrastructure_error"`, `"config_error"`, or something else (such as
    /// `"poison"`, see [`record_orchestration_poison`](Self::record_orchestration_poison)), which only counts as a failure.
    pub fn record_orchestration_failure(
        &self,
        orchestration_name: &str,
        version: &str,
        error_type: &str,
        error_category: &str,
    ) {
        let name = self.values.orchestrations.limit(orchestration_name);
        let category = self.word(error_category);
        counter!(
            names::ORCHESTRATION_FAILURES,
            "orchestration_name" => name.clone(),
            "version" => self.values.versions.limit(version),
            "error_type" => self.word(error_type),
            "error_category" => category.clone(),
        )
        .increment(1);
        self.counts.orch_failures.one();
        let counted_apart = match error_type {
            "app_error" => {
                self.counts.orch_application_errors.one();
                return;
            }
            "infrastructure_error" => {
                self.counts.orch_infrastructure_errors.one();
                names::ORCHESTRATION_INFRASTRUCTURE_ERRORS
            }
            "config_error" => {
                self.counts.orch_configuration_errors.one();
                names::ORCHESTRATION_CONFIGURATION_ERRORS
            }
            _ => return,
        };
        counter!(counted_apart, "orchestration_name" => name, "error_category" => category).increment(1);
    }

    /// An execution failed because its code said so; nothing else is known.
    pub fn record_orchestration_application_error(&self) {
        self.record_orchestration_failure(UNKNOWN, UNKNOWN, "app_error", UNKNOWN);
    }

    /// An execution failed because of the store; nothing else is known.
    pub fn record_orchestration_infrastructure_error(&self) {
        self.record_orchestration_failure(UNKNOWN, UNKNOWN, "infrastructure_error", UNKNOWN);
    }

    /// An execution failed because code and history do not fit; nothing else is known.
    pub fn record_orchestration_configuration_error(&self) {
        self.record_orchestration_failure(UNKNOWN, UNKNOWN, "config_error", UNKNOWN);
    }

    /// An execution was given up after too many attempts.
    pub fn record_orchestration_poison(&self) {
        self.counts.orch_poison.one();
        counter!(names::ORCHESTRATION_POISON).increment(1);
    }

    /// An execution continued as new. Which one it was is not a label: their number has no bound.
    pub fn record_continue_as_new(&self, orchestration_name: &str, execution_id: u64) {
        let _ = execution_id;
        self.counts.orch_continue_as_new.one();
        let name = self.values.orchestrations.limit(orchestration_name);
        counter!(names::ORCHESTRATION_CONTINUE_AS_NEW, "orchestration_name" => name).increment(1);
    }

    /// A child answered its parent.
    pub fn record_suborchestration_call(
        &self,
        parent_orchestration: &str,
        child_orchestration: &str,
        outcome: &str,
    ) {
        self.counts.suborchestration_calls.one();
        counter!(
            names::SUBORCHESTRATION_CALLS,
            "parent_orchestration" => self.values.orchestrations.limit(parent_orchestration),
            "child_orchestration" => self.values.orchestrations.limit(child_orchestration),
            "outcome" => self.word(outcome),
        )
        .increment(1);
    }

    /// How long the parent waited for that.
    pub fn record_suborchestration_duration(
        &self,
        parent_orchestration: &str,
        child_orchestration: &str,
        duration_seconds: f64,
        outcome: &str,
    ) {
        histogram!(
            names::SUBORCHESTRATION_DURATION,
            "parent_orchestration" => self.values.orchestrations.limit(parent_orchestration),
            "child_orchestration" => self.values.orchestrations.limit(child_orchestration),
            "outcome" => self.word(outcome),
        )
        .record(duration_seconds);
    }

    /// One more instance runs.
    pub fn increment_active_orchestrations(&self) {
        self.active_orchestrations.fetch_add(1, Ordering::Relaxed);
        gauge!(names::ACTIVE_ORCHESTRATIONS).increment(1);
    }

    /// One fewer runs.
    pub fn decrement_active_orchestrations(&self) {
        self.active_orchestrations.fetch_sub(1, Ordering::Relaxed);
        gauge!(names::ACTIVE_ORCHESTRATIONS).decrement(1);
    }

    /// So many run, says the store.
    pub fn set_active_orchestrations(&self, count: i64) {
        self.active_orchestrations.store(count, Ordering::Relaxed);
        let size = float(count.unsigned_abs());
        gauge!(names::ACTIVE_ORCHESTRATIONS).set(if count < 0 { -size } else { size });
    }

    /// How many run.
    #[must_use]
    pub fn get_active_orchestrations(&self) -> i64 {
        self.active_orchestrations.load(Ordering::Relaxed)
    }

    /// So many instances are kept in memory between turns.
    pub fn set_instances_resident(&self, count: usize) {
        gauge!(names::INSTANCES_RESIDENT).set(u64::try_from(count).map_or(f64::INFINITY, float));
    }

    /// So many instances and activities of this kind are blocked in the store.
    pub fn set_instances_blocked(&self, kind: &'static str, count: u64) {
        gauge!(names::INSTANCES_BLOCKED, "kind" => kind).set(float(count));
    }

    /// The histories of so many ended executions were removed.
    pub fn record_executions_pruned(&self, count: u64) {
        counter!(names::EXECUTIONS_PRUNED).increment(count);
    }

    /// A turn was committed without the pruning that a policy or the code had asked for.
    pub fn record_prune_refused(&self) {
        counter!(names::AUTO_PRUNES_REFUSED).increment(1);
    }

    /// So many finished instances were removed because of their age.
    pub fn record_instances_removed(&self, count: u64) {
        counter!(names::INSTANCES_REMOVED).increment(count);
    }
}
