//! What can be chosen about logs and metrics.

use std::time::Duration;

/// How log lines look.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// One JSON object per line, for machines.
    Json,
    /// One line per event, with everything, for people.
    Pretty,
    /// One short line per event, for people.
    #[default]
    Compact,
}

/// What can be chosen about logs and metrics.
///
/// The library installs no subscriber and no recorder by itself: the log settings count for
/// [`init_logging`](super::init_logging), if a program calls it.
#[derive(Debug, Clone)]
pub struct ObservabilityConfig {
    /// How log lines look.
    pub log_format: LogFormat,
    /// The level of what orchestrations and activities log: `error`, `warn`, `info`, `debug` or `trace`.
    pub log_level: String,
    /// What this service is called when a runtime says that it starts.
    pub service_name: String,
    /// Its version.
    pub service_version: Option<String>,
    /// How often gauges that need a query (queue depths, active orchestrations) are read from the store.
    pub gauge_poll_interval: Duration,
}

impl Default for ObservabilityConfig {
    fn default() -> Self {
        Self {
            log_format: LogFormat::Pretty,
            log_level: "info".to_owned(),
            service_name: "abide".to_owned(),
            service_version: None,
            gauge_poll_interval: Duration::from_secs(60),
        }
    }
}
