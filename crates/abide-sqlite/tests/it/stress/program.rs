//! What an instance does in a turn: a bit of everything that leaves something behind, by chance.

use abide_model::{ErrorDetails, Event, EventKind, ExecutionStatus, PruneOptions, Timestamp, WorkItem};
use abide_provider::{
    Authority, Consumed, ExecutionMetadata, InstanceLease, MessageId, Position, Turn, TurnCommit, WorkLease,
};

use super::crowd::{Dice, child_of};

/// When timers fire: nobody will see it, but they are there to be deleted.
const FAR_AWAY_MS: u64 = 7_000_000_000_000;

/// How deep a family gets.
const DEEPEST: usize = 2;

pub(crate) fn start(instance: &str, mark: &str) -> WorkItem {
    WorkItem::StartOrchestration {
        instance: instance.to_owned(),
        orchestration: "Order".to_owned(),
        input: mark.to_owned(),
        version: Some("1.0.0".to_owned()),
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        execution_id: 1,
    }
}

pub(crate) fn signal(instance: &str, mark: &str) -> WorkItem {
    WorkItem::ExternalRaised { instance: instance.to_owned(), name: "go".to_owned(), data: mark.to_owned() }
}

pub(crate) fn queued(instance: &str, mark: &str) -> WorkItem {
    WorkItem::QueueMessage { instance: instance.to_owned(), name: "inbox".to_owned(), data: mark.to_owned() }
}

/// The next turn of a leased instance.
pub(crate) fn turn_of(dice: &mut Dice, lease: &InstanceLease, mark: &str) -> TurnCommit {
    let Position { execution_id, last_event_id, .. } = lease.position;
    let continues =
        lease.messages.iter().any(|message| matches!(message.item, WorkItem::ContinueAsNew { .. }));
    let (execution_id, last) = match lease.status {
        None => (1, 0),
        Some(ExecutionStatus::ContinuedAsNew) if continues => (execution_id + 1, 0),
        Some(_) => (execution_id, last_event_id),
    };
    let is_over =
        matches!(lease.status, Some(ExecutionStatus::Completed | ExecutionStatus::Failed)) && last > 0;
    let turn = Turn { execution_id, ..Turn::default() };
    let mut maker = Maker { dice, lease, mark, last, turn };
    maker.begin();
    if !is_over {
        for _ in 0..maker.dice.below(4) {
            maker.happen();
        }
        if maker.dice.percent(40) {
            maker.end();
        }
    }
    let turn = maker.turn;
    let consumed = consumed(dice, lease);
    let authority = Authority::Lease { token: lease.token.clone() };
    TurnCommit { instance: lease.instance.clone(), authority, consumed, left: Vec::new(), turn }
}

fn consumed(dice: &mut Dice, lease: &InstanceLease) -> Consumed {
    if dice.percent(85) {
        return Consumed::All;
    }
    let half: Vec<MessageId> =
        lease.messages.iter().map(|message| message.id).filter(|_| dice.percent(70)).collect();
    // Something must go, or the same turn would come for ever.
    Consumed::These(if half.is_empty() { vec![lease.messages[0].id] } else { half })
}

struct Maker<'a> {
    dice: &'a mut Dice,
    lease: &'a InstanceLease,
    mark: &'a str,
    last: u64,
    turn: Turn,
}

impl Maker<'_> {
    fn event(&mut self, kind: EventKind) -> u64 {
        self.last += 1;
        let (instance, execution) = (&self.lease.instance, self.turn.execution_id);
        self.turn.events.push(Event::recorded(self.last, instance, execution, Timestamp::EPOCH, kind));
        self.last
    }

    fn text(&self) -> String {
        format!("{} {}", self.mark, self.last)
    }

    fn begin(&mut self) {
        if self.last > 0 {
            self.event(EventKind::ExternalEvent { name: "mail".to_owned(), data: self.mark.to_owned() });
            return;
        }
        let parent = self.lease.parent.as_ref();
        self.event(EventKind::OrchestrationStarted {
            name: "Order".to_owned(),
            version: "1.0.0".to_owned(),
            input: self.mark.to_owned(),
            parent_instance: parent.map(|parent| parent.instance.clone()),
            parent_id: parent.and_then(|parent| parent.event_id),
            parent_execution_id: parent.and_then(|parent| parent.execution_id),
            carry_forward_events: None,
            initial_custom_status: None,
        });
        self.turn.metadata = ExecutionMetadata {
            orchestration_name: Some("Order".to_owned()),
            orchestration_version: Some("1.0.0".to_owned()),
            ..ExecutionMetadata::default()
        };
        if self.turn.execution_id > 1 && self.dice.percent(25) {
            let keep_last = Some(1 + u32::try_from(self.dice.below(3)).unwrap());
            self.turn.prune = Some(PruneOptions { keep_last, completed_before: None });
        }
    }

    fn happen(&mut self) {
        match self.dice.below(12) {
            0..=3 => self.schedule_activity(),
            4..=6 => self.start_child(),
            7 => self.create_timer(),
            8..=9 => {
                let (to, text) = (self.dice.name(), self.text());
                self.event(EventKind::KeyValuesCleared);
                let is_queued = self.dice.percent(50);
                let message = if is_queued { queued(&to, &text) } else { signal(&to, &text) };
                self.turn.orchestrator_items.push(message);
            }
            10 => {
                let value = self.text();
                self.event(EventKind::KeyValueSet { key: "k".to_owned(), value, last_updated_at_ms: 1 });
            }
            _ => {
                let status = Some(self.text());
                self.event(EventKind::CustomStatusUpdated { status });
            }
        }
    }

    /// The input tells which instance of that name has asked, for fused steps.
    fn schedule_activity(&mut self) {
        let (name, input) = ("charge".to_owned(), self.lease.position.incarnation.to_string());
        let (session_id, tag) = (None, None);
        let id = self.event(EventKind::ActivityScheduled {
            name: name.clone(),
            input: input.clone(),
            session_id: session_id.clone(),
            tag: tag.clone(),
        });
        let (instance, execution_id) = (self.lease.instance.clone(), self.turn.execution_id);
        let work = WorkItem::ActivityExecute { instance, execution_id, id, name, input, session_id, tag };
        self.turn.worker_items.push(work);
    }

    fn start_child(&mut self) {
        if self.lease.instance.matches('.').count() >= DEEPEST {
            return;
        }
        let (name, input) = ("Order".to_owned(), self.text());
        let instance = child_of(&self.lease.instance, self.dice.below(2));
        let scheduled =
            EventKind::SubOrchestrationScheduled { name, instance: instance.clone(), input: input.clone() };
        let id = self.event(scheduled);
        self.turn.orchestrator_items.push(WorkItem::StartOrchestration {
            instance,
            orchestration: "Order".to_owned(),
            input,
            version: None,
            parent_instance: Some(self.lease.instance.clone()),
            parent_id: Some(id),
            parent_execution_id: Some(self.turn.execution_id),
            execution_id: 1,
        });
    }

    fn create_timer(&mut self) {
        let id = self.event(EventKind::TimerCreated { fire_at_ms: FAR_AWAY_MS });
        self.turn.orchestrator_items.push(WorkItem::TimerFired {
            instance: self.lease.instance.clone(),
            execution_id: self.turn.execution_id,
            id,
            fire_at_ms: FAR_AWAY_MS,
        });
    }

    fn end(&mut self) {
        let text = self.text();
        let (kind, status) = match self.dice.below(10) {
            0..=4 => (EventKind::OrchestrationCompleted { output: text.clone() }, ExecutionStatus::Completed),
            5..=6 => (EventKind::OrchestrationFailed { details: details(&text) }, ExecutionStatus::Failed),
            _ => (
                EventKind::OrchestrationContinuedAsNew { input: text.clone() },
                ExecutionStatus::ContinuedAsNew,
            ),
        };
        self.event(kind);
        self.turn.metadata.status = Some(status.as_str().to_owned());
        self.turn.metadata.output = Some(text.clone());
        if status == ExecutionStatus::ContinuedAsNew && self.dice.percent(85) {
            self.turn.orchestrator_items.push(WorkItem::ContinueAsNew {
                instance: self.lease.instance.clone(),
                orchestration: "Order".to_owned(),
                input: text,
                version: None,
                parent_instance: None,
                parent_id: None,
                parent_execution_id: None,
                carry_forward_events: Vec::new(),
                initial_custom_status: None,
            });
        }
    }
}

fn details(text: &str) -> ErrorDetails {
    let (operation, message) = ("order".to_owned(), text.to_owned());
    ErrorDetails::Infrastructure { operation, message, retryable: false }
}

/// What an activity tells its instance, and whose it is.
pub(crate) fn completion_of(work: &WorkLease, mark: &str) -> Option<WorkItem> {
    let WorkItem::ActivityExecute { instance, execution_id, id, .. } = &work.item else { return None };
    let result = mark.to_owned();
    Some(WorkItem::ActivityCompleted {
        instance: instance.clone(),
        execution_id: *execution_id,
        id: *id,
        result,
    })
}

/// The turn that takes an activity in as it finishes, if nothing has happened since it was scheduled.
pub(crate) fn fused_turn_of(work: &WorkLease, mark: &str) -> Option<TurnCommit> {
    let WorkItem::ActivityExecute { instance, execution_id, id, input, .. } = &work.item else { return None };
    let expected =
        Position { incarnation: input.parse().unwrap(), execution_id: *execution_id, last_event_id: *id };
    let completed = EventKind::ActivityCompleted { result: mark.to_owned() };
    let event =
        Event::recorded(id + 1, instance, *execution_id, Timestamp::EPOCH, completed).with_source(*id);
    let turn = Turn { execution_id: *execution_id, events: vec![event], ..Turn::default() };
    let authority = Authority::FinishedWork { token: work.token.clone(), expected };
    Some(TurnCommit {
        instance: instance.clone(),
        authority,
        consumed: Consumed::All,
        left: Vec::new(),
        turn,
    })
}
