//! The turns of a chain of activities, as an engine would decide them.

use abide_model::{BUILD_VERSION, Event, EventKind, ExecutionStatus, Timestamp, WorkItem};
use abide_provider::{
    Authority, Consumed, ExecutionMetadata, InstanceLease, Position, Turn, TurnCommit, WorkLease,
};

/// How far an instance runs before it ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chain {
    pub(crate) activities: u64,
}

pub(crate) fn start(instance: &str) -> WorkItem {
    WorkItem::StartOrchestration {
        instance: instance.to_owned(),
        orchestration: "chain".to_owned(),
        input: "{\"order\":42}".to_owned(),
        version: Some("1.0.0".to_owned()),
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        execution_id: 1,
    }
}

pub(crate) fn completion(work: &WorkLease) -> Option<WorkItem> {
    let WorkItem::ActivityExecute { instance, execution_id, id, .. } = &work.item else { return None };
    Some(WorkItem::ActivityCompleted {
        instance: instance.clone(),
        execution_id: *execution_id,
        id: *id,
        result: "\"done, and a little more\"".to_owned(),
    })
}

impl Chain {
    /// The turn for a leased instance.
    pub(crate) fn turn(self, lease: InstanceLease) -> TurnCommit {
        let InstanceLease { instance, token, position, .. } = lease;
        let turn = self.next(&instance, position.last_event_id);
        TurnCommit {
            instance,
            authority: Authority::Lease { token },
            consumed: Consumed::All,
            left: Vec::new(),
            turn,
        }
    }

    /// The turn for an instance whose activity has just finished here.
    pub(crate) fn fused_turn(self, work: WorkLease, incarnation: u64) -> Option<TurnCommit> {
        let WorkItem::ActivityExecute { instance, id, .. } = &work.item else { return None };
        let expected = Position { incarnation, execution_id: 1, last_event_id: *id };
        Some(TurnCommit {
            instance: instance.clone(),
            authority: Authority::FinishedWork { token: work.token, expected },
            consumed: Consumed::All,
            left: Vec::new(),
            turn: self.next(instance, *id),
        })
    }

    /// Takes the completion in, and schedules the next activity or ends.
    fn next(self, instance: &str, last_event: u64) -> Turn {
        let mut turn = Turn { execution_id: 1, ..Turn::default() };
        let mut record = |id, kind| turn.events.push(event(instance, id, kind));
        let mut id = last_event + 1;
        if last_event == 0 {
            record(id, started());
            turn.metadata = ExecutionMetadata {
                orchestration_name: Some("chain".to_owned()),
                orchestration_version: Some("1.0.0".to_owned()),
                pinned_duroxide_version: BUILD_VERSION.parse().ok(),
                ..ExecutionMetadata::default()
            };
        } else {
            let completed = EventKind::ActivityCompleted { result: "\"done, and a little more\"".to_owned() };
            turn.events.push(event(instance, id, completed).with_source(last_event));
        }
        id += 1;
        if id / 2 > self.activities {
            let output = "\"all done\"".to_owned();
            turn.events.push(event(
                instance,
                id,
                EventKind::OrchestrationCompleted { output: output.clone() },
            ));
            turn.metadata.status = Some(ExecutionStatus::Completed.as_str().to_owned());
            turn.metadata.output = Some(output);
            return turn;
        }
        let (name, input) = ("step".to_owned(), "{\"order\":42,\"lines\":[1,2,3]}".to_owned());
        let scheduled = EventKind::ActivityScheduled {
            name: name.clone(),
            input: input.clone(),
            session_id: None,
            tag: None,
        };
        turn.events.push(event(instance, id, scheduled));
        turn.worker_items.push(WorkItem::ActivityExecute {
            instance: instance.to_owned(),
            execution_id: 1,
            id,
            name,
            input,
            session_id: None,
            tag: None,
        });
        turn
    }
}

fn event(instance: &str, id: u64, kind: EventKind) -> Event {
    Event::recorded(id, instance, 1, Timestamp::from_millis(1_700_000_000_000), kind)
}

fn started() -> EventKind {
    EventKind::OrchestrationStarted {
        name: "chain".to_owned(),
        version: "1.0.0".to_owned(),
        input: "{\"order\":42}".to_owned(),
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        carry_forward_events: None,
        initial_custom_status: None,
    }
}
