//! Messages, events and a short way to print them.

use abide_model::{Event, EventKind, Timestamp, WorkItem, kind_of};

pub(crate) fn started(name: &str, parent: Option<&str>) -> EventKind {
    EventKind::OrchestrationStarted {
        name: name.to_owned(),
        version: "1.0.0".to_owned(),
        input: String::new(),
        parent_instance: parent.map(ToOwned::to_owned),
        parent_id: parent.map(|_| 5),
        parent_execution_id: parent.map(|_| 2),
        carry_forward_events: None,
        initial_custom_status: None,
    }
}

pub(crate) fn completed() -> EventKind {
    EventKind::OrchestrationCompleted { output: "done".to_owned() }
}

/// A history of instance `i`, numbered from one.
pub(crate) fn history(kinds: impl IntoIterator<Item = EventKind>) -> Vec<Event> {
    (1..).zip(kinds).map(|(id, kind)| Event::recorded(id, "i", 1, Timestamp::EPOCH, kind)).collect()
}

pub(crate) fn start(parent: Option<&str>) -> WorkItem {
    WorkItem::StartOrchestration {
        instance: "i".to_owned(),
        orchestration: "O".to_owned(),
        input: String::new(),
        version: None,
        parent_instance: parent.map(ToOwned::to_owned),
        parent_id: parent.map(|_| 5),
        parent_execution_id: parent.map(|_| 2),
        execution_id: 1,
    }
}

pub(crate) fn continue_as_new(carried: &[&str]) -> WorkItem {
    WorkItem::ContinueAsNew {
        instance: "i".to_owned(),
        orchestration: "O".to_owned(),
        input: String::new(),
        version: None,
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        carry_forward_events: carried.iter().map(|data| ("q".to_owned(), (*data).to_owned())).collect(),
        initial_custom_status: None,
    }
}

pub(crate) fn queued(data: &str) -> WorkItem {
    WorkItem::QueueMessage { instance: "i".to_owned(), name: "q".to_owned(), data: data.to_owned() }
}

pub(crate) fn signal(data: &str) -> WorkItem {
    WorkItem::ExternalRaised { instance: "i".to_owned(), name: "s".to_owned(), data: data.to_owned() }
}

pub(crate) fn cancel() -> WorkItem {
    WorkItem::CancelInstance { instance: "i".to_owned(), reason: "enough".to_owned() }
}

pub(crate) fn activity(id: u64) -> WorkItem {
    WorkItem::ActivityExecute {
        instance: "i".to_owned(),
        execution_id: 1,
        id,
        name: "A".to_owned(),
        input: String::new(),
        session_id: None,
        tag: None,
    }
}

pub(crate) fn result(id: u64) -> WorkItem {
    WorkItem::ActivityCompleted { instance: "i".to_owned(), execution_id: 1, id, result: "r".to_owned() }
}

/// `queue a, continue[b]`: the messages that differ by what they carry, the others by kind.
pub(crate) fn say(items: &[WorkItem]) -> String {
    items.iter().map(say_one).collect::<Vec<_>>().join(", ")
}

fn say_one(item: &WorkItem) -> String {
    match item {
        WorkItem::QueueMessage { data, .. } => format!("queue {data}"),
        WorkItem::ExternalRaised { data, .. } => format!("signal {data}"),
        WorkItem::TimerFired { fire_at_ms, .. } => format!("timer {fire_at_ms}"),
        WorkItem::ContinueAsNew { carry_forward_events, .. } => {
            let carried: Vec<&str> = carry_forward_events.iter().map(|(_, data)| data.as_str()).collect();
            format!("continue[{}]", carried.join(" "))
        }
        _ => kind_of(item).to_owned(),
    }
}
