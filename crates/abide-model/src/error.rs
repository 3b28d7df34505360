//! How an activity or an execution failed, in the form that is stored and sent.
//!
//! The category decides who may react. An *application* error belongs to the code: a parent or a caller
//! can catch it. *Infrastructure*, *configuration* and *poison* errors are the system's: code cannot
//! have caused or foreseen them, so they pass through every parent up to the root.
//!
//! The texts of [`ErrorDetails::display_message`] are part of the contract: programs compare them.
//!
//! Deliberately absent: source errors and backtraces. These values cross processes and outlive them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why an activity or an execution failed.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub enum ErrorDetails {
    /// The store or the runtime failed.
    Infrastructure {
        /// What was being done.
        operation: String,
        /// What went wrong.
        message: String,
        /// Whether doing it again may succeed.
        retryable: bool,
    },
    /// The deployed code does not fit what is recorded.
    Configuration {
        /// In which way it does not fit.
        kind: ConfigErrorKind,
        /// What does not fit; may be empty.
        resource: String,
        /// What exactly was found.
        message: Option<String>,
    },
    /// The user's code failed.
    Application {
        /// Which code, and how.
        kind: AppErrorKind,
        /// What it said.
        message: String,
        /// Whether doing it again may succeed.
        retryable: bool,
    },
    /// A message was tried too often and given up.
    Poison {
        /// How often it was tried.
        attempt_count: u32,
        /// How often it may be tried.
        max_attempts: u32,
        /// What kind of message it was.
        message_type: PoisonMessageType,
        /// The message itself, as text.
        message: String,
    },
}

/// What kind of message was given up.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub enum PoisonMessageType {
    /// The messages of an instance, whose turns never came to an end.
    Orchestration {
        /// The instance.
        instance: String,
        /// The execution whose turns failed.
        execution_id: u64,
    },
    /// An activity, whose runs never came to an end.
    Activity {
        /// The instance that asked for it.
        instance: String,
        /// The execution that asked for it.
        execution_id: u64,
        /// The registered name of the activity.
        activity_name: String,
        /// The event that asked for it.
        activity_id: u64,
    },
    /// The messages of an instance, whose history could not be read.
    FailedDeserialization {
        /// The instance.
        instance: String,
        /// The execution whose history could not be read.
        execution_id: u64,
        /// Why it could not be read.
        error: String,
    },
}

/// In which way deployed code does not fit what is recorded.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub enum ConfigErrorKind {
    /// On replay the code asked for something else than history says.
    Nondeterminism,
}

/// Which code failed, and how.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub enum AppErrorKind {
    /// An activity returned an error.
    ActivityFailed,
    /// An orchestration returned an error or violated a limit.
    OrchestrationFailed,
    /// The code panicked.
    Panicked,
    /// Somebody asked for its end.
    Cancelled {
        /// The reason they gave.
        reason: String,
    },
}

impl ErrorDetails {
    /// An orchestration failed with this message, by its own decision or for breaking a rule.
    #[must_use]
    pub fn orchestration_failed(message: impl Into<String>) -> Self {
        let kind = AppErrorKind::OrchestrationFailed;
        Self::Application { kind, message: message.into(), retryable: false }
    }

    /// An orchestration panicked with this message.
    #[must_use]
    pub fn panicked(message: impl Into<String>) -> Self {
        Self::Application { kind: AppErrorKind::Panicked, message: message.into(), retryable: false }
    }

    /// An orchestration was cancelled for this reason.
    #[must_use]
    pub fn cancelled(reason: impl Into<String>) -> Self {
        let kind = AppErrorKind::Cancelled { reason: reason.into() };
        Self::Application { kind, message: String::new(), retryable: false }
    }

    /// The category's name, for metrics and logs.
    #[must_use]
    pub fn category(&self) -> &'static str {
        match self {
            Self::Infrastructure { .. } => "infrastructure",
            Self::Configuration { .. } => "configuration",
            Self::Application { .. } => "application",
            Self::Poison { .. } => "poison",
        }
    }

    /// Whether doing it again may succeed.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Infrastructure { retryable, .. } | Self::Application { retryable, .. } => *retryable,
            Self::Configuration { .. } | Self::Poison { .. } => false,
        }
    }

    /// Whether this is the system's failure, which no parent can catch.
    #[must_use]
    pub fn is_system(&self) -> bool {
        match self {
            Self::Infrastructure { .. } | Self::Configuration { .. } | Self::Poison { .. } => true,
            Self::Application { .. } => false,
        }
    }

    /// The text that a caller sees.
    #[must_use]
    pub fn display_message(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for ErrorDetails {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Infrastructure { operation, message, .. } => {
                write!(f, "infrastructure:{operation}: {message}")
            }
            Self::Configuration { kind: ConfigErrorKind::Nondeterminism, resource, message } => match message
            {
                Some(message) => write!(f, "nondeterministic: {message}"),
                None => write!(f, "nondeterministic in {resource}"),
            },
            Self::Application { kind, message, .. } => match kind {
                AppErrorKind::Cancelled { reason } => write!(f, "canceled: {reason}"),
                AppErrorKind::Panicked => write!(f, "orchestration panicked: {message}"),
                AppErrorKind::ActivityFailed | AppErrorKind::OrchestrationFailed => f.write_str(message),
            },
            Self::Poison { attempt_count, max_attempts, message_type, .. } => {
                write_poison(f, *attempt_count, *max_attempts, message_type)
            }
        }
    }
}

fn write_poison(
    f: &mut fmt::Formatter<'_>,
    attempts: u32,
    max: u32,
    message_type: &PoisonMessageType,
) -> fmt::Result {
    match message_type {
        PoisonMessageType::Orchestration { instance, .. } => {
            write!(f, "poison: orchestration {instance} exceeded {attempts} attempts (max {max})")
        }
        PoisonMessageType::Activity { activity_name, activity_id, .. } => {
            write!(
                f,
                "poison: activity {activity_name}#{activity_id} exceeded {attempts} attempts (max {max})"
            )
        }
        PoisonMessageType::FailedDeserialization { instance, error, .. } => write!(
            f,
            "poison: orchestration {instance} history deserialization failed after {attempts} attempts (max {max}): {error}"
        ),
    }
}

impl std::error::Error for ErrorDetails {}
