//! Outcomes that were counted and then did not come about.
//!
//! A client that waits sees an outcome as soon as the store has it, which may be before the runtime hears of it. So that the counters
//! never lag behind what a client has seen, an outcome is counted when it is handed to the store. If the store does not take
//! it, because the lease is lost for instance, it is withdrawn: the [snapshot](super::MetricsSnapshot) is corrected, and for recorders,
//! whose counters only grow, the correction is a counter of its own. That is rare, and what is withdrawn is mostly counted again
//! by whoever does the work next. Durations and sizes are measured once the outcome is durable: a histogram cannot be corrected.

use metrics::counter;

use super::{MetricsProvider, names};

impl MetricsProvider {
    /// The end of an execution, by its status and its error, was counted and did not come about.
    pub(crate) fn withdraw_orchestration_end(&self, status: &str, error_type: Option<&str>) {
        counter!(names::OUTCOMES_WITHDRAWN, "kind" => "orchestration").increment(1);
        let counts = &self.counts;
        match status {
            "success" => counts.orch_completions.less(),
            "continuedAsNew" => counts.orch_continue_as_new.less(),
            _ => {}
        }
        let Some(error_type) = error_type else { return };
        counts.orch_failures.less();
        match error_type {
            "app_error" => counts.orch_application_errors.less(),
            "infrastructure_error" => counts.orch_infrastructure_errors.less(),
            "config_error" => counts.orch_configuration_errors.less(),
            "poison" => counts.orch_poison.less(),
            _ => {}
        }
    }

    /// The start of an execution was counted and did not come about.
    pub(crate) fn withdraw_orchestration_start(&self) {
        counter!(names::OUTCOMES_WITHDRAWN, "kind" => "start").increment(1);
        self.counts.orch_starts.less();
    }

    /// The answer of a child was counted, and its parent did not take it in.
    pub(crate) fn withdraw_suborchestration_call(&self) {
        counter!(names::OUTCOMES_WITHDRAWN, "kind" => "suborchestration").increment(1);
        self.counts.suborchestration_calls.less();
    }

    /// The outcome of an activity was counted and did not come about.
    pub(crate) fn withdraw_activity(&self, outcome: &str) {
        counter!(names::OUTCOMES_WITHDRAWN, "kind" => "activity").increment(1);
        match outcome {
            "success" => self.counts.activity_success.less(),
            "app_error" => self.counts.activity_app_errors.less(),
            _ => {}
        }
    }
}
