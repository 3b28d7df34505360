//! What happened, as text for people: one line an event, an effect, a notice.

use std::fmt::Write;

use abide_engine::model::{Event, EventKind, WorkItem};
use abide_engine::{Outcome, TurnOutput};

/// All turns of a script.
pub(crate) fn turns(turns: &[TurnOutput]) -> String {
    let mut text = String::new();
    for (number, turn) in turns.iter().enumerate() {
        writeln!(text, "T{}", number + 1).unwrap();
        text.push_str(&one_turn(turn));
    }
    text
}

/// Events, a line each.
pub(crate) fn lines(events: &[Event]) -> String {
    let mut text = String::new();
    for event in events {
        writeln!(text, "  {}", line(event)).unwrap();
    }
    text
}

fn one_turn(turn: &TurnOutput) -> String {
    let mut text = lines(&turn.events);
    text.push_str(&effects(turn));
    for line in &turn.lines {
        writeln!(text, "  says {:?}: {}", line.level, line.message).unwrap();
    }
    for notice in &turn.notices {
        writeln!(text, "  notice: {notice}").unwrap();
    }
    writeln!(text, "  => {}", outcome(&turn.outcome)).unwrap();
    text
}

/// What a turn sets in motion and takes back.
pub(crate) fn effects(turn: &TurnOutput) -> String {
    let mut text = String::new();
    for item in &turn.worker_items {
        writeln!(text, "  -> worker {}", work(item)).unwrap();
    }
    for retry in &turn.retries {
        let step = retry.step;
        writeln!(
            text,
            "  -> activity {} is try {} of step {}",
            retry.event_id, step.number, step.first_event_id
        )
        .unwrap();
    }
    for item in &turn.orchestrator_items {
        writeln!(text, "  -> {}", work(item)).unwrap();
    }
    for cancelled in &turn.cancelled_activities {
        writeln!(text, "  -> cancel activity {}", cancelled.activity_id).unwrap();
    }
    for timer in &turn.removed_timers {
        writeln!(text, "  -> remove timer {timer}").unwrap();
    }
    if let Some(options) = &turn.prune {
        writeln!(text, "  -> prune {options:?}").unwrap();
    }
    text
}

/// `5 ActivityCompleted[2] { result: "r" }`
pub(crate) fn line(event: &Event) -> String {
    let source = event.source_event_id.map_or_else(String::new, |source| format!("[{source}]"));
    let debug = shortened(&event.kind);
    let (name, fields) = debug.split_once(' ').unwrap_or((debug.as_str(), ""));
    format!("{} {name}{source} {fields}", event.event_id).trim_end().to_owned()
}

/// A start without the fields that are nothing.
fn shortened(kind: &EventKind) -> String {
    let EventKind::OrchestrationStarted {
        input,
        parent_instance,
        parent_id,
        carry_forward_events,
        initial_custom_status,
        ..
    } = kind
    else {
        return format!("{kind:?}").replace(", session_id: None, tag: None", "");
    };
    let mut fields = vec![format!("input: {input:?}")];
    if let (Some(parent), Some(id)) = (parent_instance, parent_id) {
        fields.push(format!("parent: {parent:?}#{id}"));
    }
    fields.extend(carry_forward_events.as_ref().map(|carry| format!("carry: {carry:?}")));
    fields.extend(initial_custom_status.as_ref().map(|status| format!("status: {status:?}")));
    format!("OrchestrationStarted {{ {} }}", fields.join(", "))
}

pub(crate) fn outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Running => "Running".to_owned(),
        Outcome::Completed { output } => format!("Completed {output:?}"),
        Outcome::Failed { details } => {
            format!("Failed {} | {}", details.category(), details.display_message())
        }
        Outcome::ContinuedAsNew { input, version } => format!("ContinuedAsNew {input:?} {version:?}"),
    }
}

fn work(item: &WorkItem) -> String {
    match item {
        WorkItem::ActivityExecute { id, name, input, session_id, tag, .. } => {
            let session =
                session_id.as_ref().map_or_else(String::new, |session| format!(" session={session}"));
            let tag = tag.as_ref().map_or_else(String::new, |tag| format!(" tag={tag}"));
            format!("ActivityExecute {id} {name}({input}){session}{tag}")
        }
        WorkItem::TimerFired { id, fire_at_ms, .. } => format!("TimerFired {id} at {fire_at_ms}"),
        WorkItem::StartOrchestration {
            instance,
            orchestration,
            input,
            version,
            parent_instance,
            parent_id,
            ..
        } => {
            let version = version.as_ref().map_or_else(String::new, |version| format!("@{version}"));
            let parent = parent_instance
                .as_ref()
                .zip(*parent_id)
                .map_or_else(String::new, |(parent, id)| format!(" for {parent}#{id}"));
            format!("Start {instance} {orchestration}{version}({input}){parent}")
        }
        WorkItem::ContinueAsNew {
            instance,
            input,
            version,
            carry_forward_events,
            initial_custom_status,
            parent_instance,
            parent_id,
            parent_execution_id,
            ..
        } => {
            let parent = parent_instance.as_ref().zip(*parent_id).map_or_else(String::new, |(parent, id)| {
                format!(" for {parent}#{id}/{parent_execution_id:?}")
            });
            format!(
                "ContinueAsNew {instance}({input}) version={version:?} carry={carry_forward_events:?} \
                 status={initial_custom_status:?}{parent}"
            )
        }
        WorkItem::CancelInstance { instance, reason } => format!("Cancel {instance} {reason:?}"),
        WorkItem::SubOrchCompleted { parent_instance, parent_execution_id, parent_id, result } => {
            format!("ChildDone to {parent_instance}/{parent_execution_id}#{parent_id} {result:?}")
        }
        WorkItem::SubOrchFailed { parent_instance, parent_execution_id, parent_id, details } => format!(
            "ChildFailed to {parent_instance}/{parent_execution_id}#{parent_id} {}",
            details.display_message()
        ),
        WorkItem::ActivityCompleted { .. }
        | WorkItem::ActivityFailed { .. }
        | WorkItem::ExternalRaised { .. }
        | WorkItem::QueueMessage { .. } => format!("{item:?}"),
    }
}
