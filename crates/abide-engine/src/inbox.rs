//! Which message becomes an event.
//!
//! Messages are delivered at least once and outlive what they were meant for. A completion for another
//! execution is stale, one that was recorded before is a duplicate; both are used up without a trace in
//! history. A start for an instance that exists already is ignored, unless a parent waits for it: then the
//! parent is told that the id is taken.

use std::collections::VecDeque;

use abide_model::{ErrorDetails, EventId, EventKind, INITIAL_EXECUTION_ID, WorkItem, kind_of};

use crate::ask::Family;
use crate::ending::ParentLink;
use crate::execution::{Execution, Progress};
use crate::fault::{self, Fault};
use crate::journal::Entry;
use crate::ledger::Standing;
use crate::notice::Notice;
use crate::turn::{Mail, Outcome};

/// What becomes of a message.
enum Fate {
    /// It is recorded.
    Recorded(Entry),
    /// It is used up; somebody may want to know why.
    Dropped(Notice),
}

/// An answer that came as a message.
struct Reply {
    kind: &'static str,
    execution_id: u64,
    source: EventId,
    family: Family,
    event: EventKind,
}

impl Execution {
    /// Where the message is that begins this execution.
    ///
    /// A successor begins with a continue-as-new message only: a start that comes between two executions is
    /// a start for an instance that exists.
    pub(crate) fn find_start(&self, mail: &[Mail]) -> Option<usize> {
        mail.iter().position(|mail| starts(&mail.item, self.who.execution_id))
    }

    /// Takes one message from the inbox.
    pub(crate) fn take_mail(&mut self) -> Result<Progress, Fault> {
        if self.program.is_none() {
            return self.take_start();
        }
        let Some(live) = &mut self.live else { return Ok(Progress::Rest) };
        let Some(Mail { id, item }) = live.inbox.pop_front() else { return Ok(Progress::Rest) };
        live.consumed.push(id);
        match self.fate_of(item)? {
            Fate::Recorded(entry) => self.record_arrival(entry)?,
            Fate::Dropped(notice) => self.notices.push(notice),
        }
        Ok(Progress::Again)
    }

    /// Takes the message that begins the execution, and a cancel that is older than it: then the code never
    /// runs.
    pub(crate) fn take_start(&mut self) -> Result<Progress, Fault> {
        let Some(live) = &mut self.live else { return Ok(Progress::Rest) };
        let place = live.inbox.iter().position(|mail| starts(&mail.item, self.who.execution_id));
        let Some(place) = place else { return Ok(Progress::Rest) };
        let Some(start) = live.inbox.remove(place) else { return Ok(Progress::Rest) };
        let older_cancel = live
            .inbox
            .iter()
            .take(place)
            .position(|mail| matches!(mail.item, WorkItem::CancelInstance { .. }));
        let cancel = older_cancel.and_then(|place| live.inbox.remove(place));
        live.consumed.push(start.id);
        live.consumed.extend(cancel.as_ref().map(|cancel| cancel.id));
        self.begin(start.item)?;
        if let Some(Mail { item: WorkItem::CancelInstance { reason, .. }, .. }) = cancel {
            self.record_arrival(Entry::new(EventKind::OrchestrationCancelRequested { reason }))?;
        }
        Ok(Progress::Again)
    }

    /// Records the start; messages carried over are taken before all others.
    #[expect(clippy::wildcard_enum_match_arm, reason = "`starts` chose the message")]
    fn begin(&mut self, start: WorkItem) -> Result<(), Fault> {
        let mut carried = Vec::new();
        let mut initial_custom_status = None;
        let (input, parent_instance, parent_id, parent_execution_id) = match start {
            WorkItem::StartOrchestration {
                input, parent_instance, parent_id, parent_execution_id, ..
            } => (input, parent_instance, parent_id, parent_execution_id),
            WorkItem::ContinueAsNew {
                input,
                parent_instance,
                parent_id,
                parent_execution_id,
                carry_forward_events,
                initial_custom_status: status,
                ..
            } => {
                carried = carry_forward_events;
                initial_custom_status = status;
                (input, parent_instance, parent_id, parent_execution_id)
            }
            _ => return Err(fault::internal("a message that starts nothing was taken for a start")),
        };
        self.carried = carried.iter().cloned().collect();
        self.record_arrival(Entry::new(EventKind::OrchestrationStarted {
            name: self.who.orchestration.clone(),
            version: self.who.version.clone(),
            input,
            parent_instance,
            parent_id,
            parent_execution_id,
            carry_forward_events: (!carried.is_empty()).then_some(carried),
            initial_custom_status,
        }))
    }

    /// What becomes of a message to a running execution.
    fn fate_of(&mut self, item: WorkItem) -> Result<Fate, Fault> {
        let kind = kind_of(&item);
        let reply = |execution_id, id, family, event| Reply {
            kind,
            execution_id,
            source: EventId::new(id),
            family,
            event,
        };
        match item {
            WorkItem::ActivityCompleted { execution_id, id, result, .. } => self.fate_of_reply(reply(
                execution_id,
                id,
                Family::Activity,
                EventKind::ActivityCompleted { result },
            )),
            WorkItem::ActivityFailed { execution_id, id, details, .. } => self.fate_of_reply(reply(
                execution_id,
                id,
                Family::Activity,
                EventKind::ActivityFailed { details },
            )),
            WorkItem::TimerFired { execution_id, id, fire_at_ms, .. } => self.fate_of_reply(reply(
                execution_id,
                id,
                Family::Timer,
                EventKind::TimerFired { fire_at_ms },
            )),
            WorkItem::SubOrchCompleted { parent_execution_id, parent_id, result, .. } => {
                self.fate_of_reply(reply(
                    parent_execution_id,
                    parent_id,
                    Family::Child,
                    EventKind::SubOrchestrationCompleted { result },
                ))
            }
            WorkItem::SubOrchFailed { parent_execution_id, parent_id, details, .. } => {
                self.fate_of_reply(reply(
                    parent_execution_id,
                    parent_id,
                    Family::Child,
                    EventKind::SubOrchestrationFailed { details },
                ))
            }
            WorkItem::ExternalRaised { name, data, .. } => {
                Ok(recorded(EventKind::ExternalEvent { name, data }))
            }
            WorkItem::QueueMessage { name, data, .. } => {
                Ok(recorded(EventKind::QueueEventDelivered { name, data }))
            }
            WorkItem::CancelInstance { reason, .. } => {
                Ok(recorded(EventKind::OrchestrationCancelRequested { reason }))
            }
            start @ WorkItem::StartOrchestration { .. } => Ok(Fate::Dropped(self.refuse_start(start))),
            WorkItem::ContinueAsNew { .. } => Ok(Fate::Dropped(Notice::DuplicateStart { kind })),
            WorkItem::ActivityExecute { .. } => Ok(Fate::Dropped(Notice::Misrouted { kind })),
        }
    }

    fn fate_of_reply(&self, reply: Reply) -> Result<Fate, Fault> {
        let Reply { kind, execution_id, source, family, event } = reply;
        if execution_id != self.who.execution_id {
            return Ok(Fate::Dropped(Notice::StaleMessage { kind, execution_id }));
        }
        match self.ledger.standing(source, family) {
            Standing::Cancelled if family == Family::Timer => {
                Ok(Fate::Dropped(Notice::DroppedTimerFired { source_event_id: source.get() }))
            }
            Standing::Open | Standing::Cancelled => Ok(Fate::Recorded(Entry::about(source, event))),
            Standing::Closed => {
                Ok(Fate::Dropped(Notice::DuplicateMessage { kind, source_event_id: source.get() }))
            }
            Standing::Other(expected) => Err(fault::wrong_kind_of_message(source, expected, family)),
            Standing::Unknown => Err(fault::no_schedule(family, source)),
        }
    }

    /// The execution has ended: what is left of the inbox is used up, except that the messages behind a
    /// continue-as-new belong to the successor and stay queued.
    pub(crate) fn after_the_end(&mut self) -> Progress {
        if matches!(self.ended, Some(Outcome::ContinuedAsNew { .. })) {
            self.use_up_repeated_starts();
            return Progress::Rest;
        }
        while let Some(Mail { id, item }) = self.live.as_mut().and_then(|live| live.inbox.pop_front()) {
            if let Some(live) = &mut self.live {
                live.consumed.push(id);
            }
            let notice = if matches!(item, WorkItem::StartOrchestration { .. }) {
                self.refuse_start(item)
            } else {
                Notice::MessageAfterEnd { kind: kind_of(&item) }
            };
            self.notices.push(notice);
        }
        Progress::Rest
    }

    /// The successor's start does not exist before this turn is committed: a continue-as-new message that is
    /// here repeats the one that began this execution, and must not begin the next.
    fn use_up_repeated_starts(&mut self) {
        let Some(live) = &mut self.live else { return };
        let (repeated, others) = std::mem::take(&mut live.inbox)
            .into_iter()
            .partition::<VecDeque<Mail>, _>(|mail| matches!(mail.item, WorkItem::ContinueAsNew { .. }));
        live.inbox = others;
        for Mail { id, item } in repeated {
            live.consumed.push(id);
            self.notices.push(Notice::DuplicateStart { kind: kind_of(&item) });
        }
    }

    /// A start reached an instance that exists. Nobody waits for the answer to a root start; a parent does,
    /// and hears that the id is taken, unless this very execution is the child it asked for.
    fn refuse_start(&mut self, start: WorkItem) -> Notice {
        let kind = kind_of(&start);
        let WorkItem::StartOrchestration {
            instance,
            parent_instance: Some(parent_instance),
            parent_id: Some(parent_id),
            parent_execution_id,
            ..
        } = start
        else {
            return Notice::DuplicateStart { kind };
        };
        let asker =
            ParentLink { instance: parent_instance, id: parent_id, execution_id: parent_execution_id };
        let is_same_call = asker.execution_id.is_some() && self.parent.as_ref() == Some(&asker);
        if is_same_call {
            return Notice::DuplicateStart { kind };
        }
        let suffix = if self.ended.is_some() { " and is terminal" } else { "" };
        let notice = Notice::ChildIdTaken { parent_instance: asker.instance.clone() };
        let refusal = ErrorDetails::orchestration_failed(format!(
            "sub-orchestration instance id '{instance}' already exists{suffix}"
        ));
        if let Some(live) = &mut self.live {
            live.effects.answer(asker, Err(refusal));
        }
        notice
    }
}

/// Whether a message begins the execution with this id.
fn starts(item: &WorkItem, execution_id: u64) -> bool {
    match item {
        WorkItem::ContinueAsNew { .. } => true,
        WorkItem::StartOrchestration { .. } => execution_id == INITIAL_EXECUTION_ID,
        WorkItem::ActivityExecute { .. }
        | WorkItem::ActivityCompleted { .. }
        | WorkItem::ActivityFailed { .. }
        | WorkItem::TimerFired { .. }
        | WorkItem::ExternalRaised { .. }
        | WorkItem::SubOrchCompleted { .. }
        | WorkItem::SubOrchFailed { .. }
        | WorkItem::CancelInstance { .. }
        | WorkItem::QueueMessage { .. } => false,
    }
}

const fn recorded(kind: EventKind) -> Fate {
    Fate::Recorded(Entry::new(kind))
}
