//! Reading without changing anything.

use abide_model::{ErrorDetails, Event, EventKind, ExecutionStatus, OrchestrationStatus, SystemStats};
use abide_provider::InstanceLease;

use crate::refusal::Refusal;
use crate::state::{Instance, State};
use crate::stored::Stored;

/// How an instance stands whose first turn has not been committed yet.
const WAITS_TO_START: OrchestrationStatus =
    OrchestrationStatus::Running { custom_status: None, custom_status_version: 0 };

impl State {
    /// The events of the current execution; none if there is none.
    pub(crate) fn current_history(&self, name: &str) -> Result<Vec<Event>, String> {
        self.instance(name).map_or(Ok(Vec::new()), |instance| self.history(name, instance.current))
    }

    /// The events of one execution; none if there is none.
    pub(crate) fn history(&self, name: &str, execution_id: u64) -> Result<Vec<Event>, String> {
        self.history_after(name, execution_id, 0)
    }

    fn history_after(&self, name: &str, execution_id: u64, after: u64) -> Result<Vec<Event>, String> {
        let execution = self.instance(name).and_then(|instance| instance.executions.get(&execution_id));
        let events = execution.into_iter().flat_map(|execution| &execution.events);
        events
            .filter(|(id, _)| **id > after)
            .map(|(id, event)| {
                event.read().map_err(|error| {
                    format!("event {id} of execution {execution_id} of instance {name}: {error}")
                })
            })
            .collect()
    }

    pub(crate) fn leased_history_after(
        &self,
        lease: &InstanceLease,
        after: u64,
    ) -> Result<Vec<Event>, Refusal> {
        self.check_incarnation(lease)?;
        self.history_after(&lease.instance, lease.position.execution_id, after).map_err(Refusal::corrupt)
    }

    /// Whether what was leased is still what has this name.
    pub(crate) fn check_incarnation(&self, lease: &InstanceLease) -> Result<(), Refusal> {
        match self.mailboxes.get(&lease.instance) {
            Some(mailbox) if mailbox.incarnation == lease.position.incarnation => Ok(()),
            Some(_) | None => Err(Refusal::LeaseLost),
        }
    }

    pub(crate) fn custom_status(&self, name: &str, last_seen_version: u64) -> Option<(Option<String>, u64)> {
        let instance = self.instance(name)?;
        let version = instance.custom_status_version;
        (version > last_seen_version).then(|| (instance.custom_status.clone(), version))
    }

    /// Where an instance stands, from its rows; of its events only the last one is looked at, and only if it failed.
    pub(crate) fn status(&self, name: &str) -> Result<OrchestrationStatus, Refusal> {
        let Some(instance) = self.instance(name) else {
            let waits =
                self.messages.values().any(|message| message.mailbox == name && message.class.starts());
            return Ok(if waits { WAITS_TO_START } else { OrchestrationStatus::NotFound });
        };
        let Instance { custom_status, custom_status_version, .. } = instance;
        let (custom_status, custom_status_version) = (custom_status.clone(), *custom_status_version);
        Ok(match instance.status() {
            ExecutionStatus::Running | ExecutionStatus::ContinuedAsNew => {
                OrchestrationStatus::Running { custom_status, custom_status_version }
            }
            ExecutionStatus::Completed => {
                let output = instance.current_execution().and_then(|execution| execution.output.clone());
                let output = output.unwrap_or_default();
                OrchestrationStatus::Completed { output, custom_status, custom_status_version }
            }
            ExecutionStatus::Failed => {
                let details = instance.failure().map_err(Refusal::corrupt)?;
                OrchestrationStatus::Failed { details, custom_status, custom_status_version }
            }
        })
    }

    pub(crate) fn stats(&self, name: &str) -> Result<Option<SystemStats>, Refusal> {
        let Some(instance) = self.instance(name) else {
            return Ok(None);
        };
        let history = self.current_history(name).map_err(Refusal::corrupt)?;
        let events = instance.current_execution().into_iter().flat_map(|execution| execution.events.values());
        let kv = self.kv_view(name);
        Ok(Some(SystemStats {
            history_event_count: number(history.len()),
            history_size_bytes: events.map(|event| number(event.size())).sum(),
            queue_pending_count: number(carried(&history)),
            kv_user_key_count: number(kv.len()),
            kv_total_value_bytes: kv.values().map(|entry| number(entry.value.len())).sum(),
        }))
    }
}

impl Instance {
    /// What the last event of an execution that failed says about it.
    fn failure(&self) -> Result<ErrorDetails, String> {
        let last = self.current_execution().and_then(|execution| execution.events.values().next_back());
        match last.map(Stored::read).transpose()? {
            Some(Event { kind: EventKind::OrchestrationFailed { details }, .. }) => Ok(details),
            Some(_) | None => Err(format!("execution {} failed, and does not end with why", self.current)),
        }
    }
}

/// How many unread queue messages the start event brought along.
fn carried(history: &[Event]) -> usize {
    let carried = history.iter().find_map(|event| {
        if let EventKind::OrchestrationStarted { carry_forward_events, .. } = &event.kind {
            carry_forward_events.as_ref().map(Vec::len)
        } else {
            None
        }
    });
    carried.unwrap_or_default()
}

fn number(size: usize) -> u64 {
    u64::try_from(size).unwrap_or(u64::MAX)
}
