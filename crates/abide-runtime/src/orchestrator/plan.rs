//! What to do with a leased instance, decided from the lease alone. Pure.

use std::sync::Arc;

use abide_engine::{Identity, Mail, MailId, Outcome};
use abide_model::{ErrorDetails, Event, EventKind, ExecutionStatus, INITIAL_EXECUTION_ID, WorkItem};
use abide_provider::rows::Starter;
use abide_provider::{InstanceLease, Message};
use semver::Version;

use crate::OrchestrationHandler;
use crate::registry::OrchestrationRegistry;

/// Stands in columns for a version that the registry is to choose.
const NO_VERSION: [&str; 3] = ["unknown", "0.0.0", ""];

/// What a lease is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stage {
    /// An execution begins, with its starting message.
    Begins { who: Identity },
    /// An execution goes on.
    GoesOn { who: Identity },
    /// The instance continued as new, and its successor's start is not here.
    Gap { who: Identity },
    /// The instance has ended.
    Over { who: Identity, outcome: Outcome },
    /// There is nothing to run.
    Nothing { who: Identity },
}

impl Stage {
    /// The execution it is about.
    pub(crate) const fn who(&self) -> &Identity {
        match self {
            Self::Begins { who }
            | Self::GoesOn { who }
            | Self::Gap { who }
            | Self::Over { who, .. }
            | Self::Nothing { who } => who,
        }
    }

    pub(crate) fn of(lease: &InstanceLease) -> Self {
        let who = |execution_id, (orchestration, version): (String, String)| Identity {
            instance: lease.instance.clone(),
            execution_id,
            orchestration,
            version,
        };
        let current = lease.position.execution_id;
        match lease.status {
            None => match starter(&lease.messages, |item| Starter::of(item).is_some()) {
                Some(starter) => Self::Begins { who: who(INITIAL_EXECUTION_ID, named_by(starter)) },
                None => Self::Nothing { who: who(INITIAL_EXECUTION_ID, recorded(lease)) },
            },
            Some(ExecutionStatus::Running) => Self::GoesOn { who: who(current, recorded(lease)) },
            Some(ExecutionStatus::ContinuedAsNew) => {
                let next = current.saturating_add(1);
                match starter(&lease.messages, |item| matches!(item, WorkItem::ContinueAsNew { .. })) {
                    Some(starter) => Self::Begins { who: who(next, named_by(starter)) },
                    None => Self::Gap { who: who(next, recorded(lease)) },
                }
            }
            Some(ExecutionStatus::Completed) => Self::Over {
                who: who(current, recorded(lease)),
                outcome: Outcome::Completed { output: String::new() },
            },
            Some(ExecutionStatus::Failed) => Self::Over {
                who: who(current, recorded(lease)),
                outcome: Outcome::Failed { details: ErrorDetails::orchestration_failed("") },
            },
        }
    }
}

fn starter(messages: &[Message], starts: impl Fn(&WorkItem) -> bool) -> Option<Starter> {
    messages.iter().find(|message| starts(&message.item)).and_then(|message| Starter::of(&message.item))
}

fn named_by(starter: Starter) -> (String, String) {
    (starter.orchestration_name, starter.orchestration_version)
}

/// Name and version of the current execution. A history that is at hand knows better than columns that others wrote.
fn recorded(lease: &InstanceLease) -> (String, String) {
    let history = lease.preloaded.as_ref().and_then(|preloaded| preloaded.history.as_ref().ok());
    let started = history.and_then(|history| history.iter().rev().find_map(started_as));
    started.unwrap_or_else(|| (lease.orchestration_name.clone(), lease.orchestration_version.clone()))
}

fn started_as(event: &Event) -> Option<(String, String)> {
    if let EventKind::OrchestrationStarted { name, version, .. } = &event.kind {
        Some((name.clone(), version.clone()))
    } else {
        None
    }
}

/// Finds the code of an execution: exactly the recorded version, or the one the registry's policy names. The identity gets
/// the version that was found.
pub(crate) fn resolve(
    registry: &OrchestrationRegistry,
    who: &mut Identity,
) -> Option<Arc<dyn OrchestrationHandler>> {
    let exact = Version::parse(&who.version).ok();
    let exact = exact.and_then(|version| registry.resolve_handler_exact(&who.orchestration, &version));
    if exact.is_some() || !NO_VERSION.contains(&who.version.as_str()) {
        return exact;
    }
    let (version, handler) = registry.resolve_handler(&who.orchestration)?;
    who.version = version.to_string();
    Some(handler)
}

/// A lease's mail as the engine wants it: in the order of enqueueing.
pub(crate) fn mail_of(messages: &[Message]) -> Vec<Mail> {
    let mut mail: Vec<_> = messages
        .iter()
        .map(|message| Mail { id: MailId(message.id.0), item: message.item.clone() })
        .collect();
    mail.sort_by_key(|mail| mail.id);
    mail
}
