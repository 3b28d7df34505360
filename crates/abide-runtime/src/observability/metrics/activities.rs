//! What is counted about activities.

use metrics::{counter, histogram};

use super::{MetricsProvider, UNKNOWN, labels, names};

/// The tag of activities without one.
const NO_TAG: &str = "default";

impl MetricsProvider {
    /// An activity ran: `"success"`, `"app_error"`, `"infra_error"`, `"config_error"` or `"cancelled"`. `retry_attempt` is
    /// how often it had been tried before.
    #[expect(clippy::too_many_arguments, reason = "a frozen signature")]
    pub fn record_activity_execution(
        &self,
        activity_name: &str,
        outcome: &str,
        duration_seconds: f64,
        retry_attempt: u32,
        tag: Option<&str>,
    ) {
        self.count_activity(activity_name, outcome, retry_attempt, tag);
        self.measure_activity(activity_name, outcome, duration_seconds, tag);
    }

    /// Measures an activity that ran.
    pub(crate) fn measure_activity(
        &self,
        activity_name: &str,
        outcome: &str,
        duration_seconds: f64,
        tag: Option<&str>,
    ) {
        histogram!(
            names::ACTIVITY_DURATION,
            "activity_name" => self.values.activities.limit(activity_name),
            "outcome" => self.word(outcome),
            "tag" => self.values.tags.limit(tag.unwrap_or(NO_TAG)),
        )
        .record(duration_seconds);
    }

    /// An activity gave a result; nothing else is known.
    pub fn record_activity_success(&self) {
        self.count_activity(UNKNOWN, "success", 0, None);
    }

    /// An activity gave an error; nothing else is known.
    pub fn record_activity_app_error(&self) {
        self.count_activity(UNKNOWN, "app_error", 0, None);
    }

    /// The outcome of an activity could not be recorded; nothing else is known.
    pub fn record_activity_infra_error(&self) {
        self.count_activity(UNKNOWN, "infra_error", 0, None);
    }

    /// An activity had no handler; nothing else is known.
    pub fn record_activity_config_error(&self) {
        self.count_activity(UNKNOWN, "config_error", 0, None);
    }

    /// An activity was given up after too many attempts.
    pub fn record_activity_poison(&self) {
        self.counts.activity_poison.one();
        counter!(names::ACTIVITY_POISON).increment(1);
    }

    /// Counts an activity that ran.
    pub(crate) fn count_activity(
        &self,
        activity_name: &str,
        outcome: &str,
        retry_attempt: u32,
        tag: Option<&str>,
    ) {
        let name = self.values.activities.limit(activity_name);
        counter!(
            names::ACTIVITY_EXECUTIONS,
            "activity_name" => name.clone(),
            "outcome" => self.word(outcome),
            "retry_attempt" => labels::attempts(retry_attempt),
            "tag" => self.values.tags.limit(tag.unwrap_or(NO_TAG)),
        )
        .increment(1);
        match outcome {
            "success" => self.counts.activity_success.one(),
            "app_error" => self.counts.activity_app_errors.one(),
            "infra_error" => {
                self.counts.activity_infra_errors.one();
                counter!(names::ACTIVITY_INFRASTRUCTURE_ERRORS, "activity_name" => name).increment(1);
            }
            "config_error" => {
                self.counts.activity_config_errors.one();
                counter!(names::ACTIVITY_CONFIGURATION_ERRORS, "activity_name" => name).increment(1);
            }
            _ => {}
        }
    }
}
