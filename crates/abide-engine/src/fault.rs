//! Why an execution fails by the engine's decision, in words for the person who reads them.
//!
//! The first line of each message is the documented text that programs may look for; what follows says
//! where it happened, what history holds, what the code did, and what to do about it.

use abide_model::limits::MAX_SELF_WAKES_PER_ARRIVAL;
use abide_model::{AppErrorKind, ConfigErrorKind, ErrorDetails, Event, EventId, EventKind};

use crate::ask::compare::printed;
use crate::ask::{Ask, Family};
use crate::role::{Role, role};
use crate::turn::{Identity, Outcome};
use crate::window::Foreign;

/// The execution cannot go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault(pub(crate) ErrorDetails);

const REDEPLOY: &str = "The code was changed in a way its running executions cannot follow: restore it, or \
                        register the change as a new version.";

/// The code asks something else than history records.
pub(crate) fn asks_differ(ask: &Ask, event: &Event) -> Fault {
    let action = printed(ask, event);
    let what = mismatch_of(&event.kind);
    mismatch(
        &format!("{what}: action={action:?} vs event={:?}", event.kind),
        event,
        &format!("the code asks for {action:?} instead"),
    )
}

/// History records an ask that the code does not make.
pub(crate) fn not_asked(event: &Event, code: &str) -> Fault {
    let text = if matches!(event.kind, EventKind::OrchestrationChained { .. }) {
        "history OrchestrationChained but no emitted action"
    } else {
        "history schedule but no emitted action"
    };
    mismatch(text, event, code)
}

/// The code asks something where history goes on with something else.
pub(crate) fn additional_ask(ask: &Ask, event: &Event) -> Fault {
    let action = printed(ask, event);
    mismatch(
        &format!("schedule mismatch: action={action:?} vs event={:?}", event.kind),
        event,
        &format!("the code first asks for {action:?}, which is not recorded here"),
    )
}

/// History records that the code dropped a future, and the code does not.
pub(crate) fn not_dropped(event: &Event, dropped: impl Iterator<Item = EventId>) -> Fault {
    let recorded = event.source_event_id.map_or_else(String::new, |source| source.to_string());
    let made = list(dropped);
    let family = match role(event) {
        Role::Drop { family, .. } => drop_family(family),
        Role::Ask(_) | Role::Arrival(_) | Role::Cleanup { .. } | Role::Terminal => "activities",
    };
    mismatch(
        &cancellation_text(family, &recorded, &made),
        event,
        &if made.is_empty() {
            "the code drops no future here".to_owned()
        } else {
            format!("the code drops the future of event {made}")
        },
    )
}

/// The code drops futures that no event says were dropped.
pub(crate) fn additional_drop(dropped: &[(EventId, Family)], event: &Event) -> Fault {
    let family = dropped.first().map_or("activities", |(_, family)| drop_family(*family));
    let made = list(dropped.iter().map(|(id, _)| *id));
    mismatch(
        &cancellation_text(family, "", &made),
        event,
        &format!("the code first drops the future of event {made}, which is not recorded here"),
    )
}

/// The code is done although history goes on, or ended in another way than history says.
pub(crate) fn ended_differently(outcome: &Outcome, event: &Event) -> Fault {
    let code = match outcome {
        Outcome::Completed { output } => format!("the code returns Ok({output:?})"),
        Outcome::Failed { details } => format!("the code fails with \"{details}\""),
        Outcome::ContinuedAsNew { input, .. } => format!("the code continues as new with {input:?}"),
        Outcome::Running => "the code is still waiting".to_owned(),
    };
    not_asked(event, &code)
}

/// An answer for something that is not open.
pub(crate) fn not_open(event: &Event) -> Fault {
    mismatch(
        "completion without open schedule",
        event,
        "nothing in the history before it asks for this answer, or it was answered already",
    )
}

/// An answer of the wrong kind.
pub(crate) fn wrong_kind(event: &Event, expected: Family) -> Fault {
    let text = format!("completion kind mismatch: expected {}", expected.name());
    mismatch(&text, event, "the event it refers to asks for another kind of answer")
}

/// A message answers something that was never asked.
pub(crate) fn no_schedule(family: Family, id: EventId) -> Fault {
    let what = match family {
        Family::Timer => "timer",
        Family::Child => "sub-orchestration",
        Family::Activity | Family::Wait | Family::Dequeue | Family::Prune => "completion",
    };
    nondeterminism(format!(
        "no matching schedule for {what} id={id}\n  A message answers event {id}, but this execution \
         recorded no such request. Was its history edited, or the instance deleted and created again?"
    ))
}

/// A message answers an ask with the wrong kind of answer.
pub(crate) fn wrong_kind_of_message(id: EventId, expected: Family, got: Family) -> Fault {
    nondeterminism(format!(
        "completion kind mismatch for id={id}, expected '{}', got '{}'\n  A message answers event {id}, \
         which asks for another kind of answer.",
        expected.name(),
        got.name()
    ))
}

/// The history does not begin with the start.
pub(crate) fn starts_wrongly(event: &Event) -> Fault {
    mismatch(
        "corrupted history: first event must be OrchestrationStarted",
        event,
        "an execution begins with OrchestrationStarted, once",
    )
}

/// Event ids do not ascend.
pub(crate) fn out_of_order(event: &Event, last: Option<EventId>) -> Fault {
    let last = last.map_or_else(String::new, |last| last.to_string());
    mismatch(
        "corrupted history: event ids must ascend",
        event,
        &format!("it follows event {last}; rows were lost, repeated or reordered"),
    )
}

/// An event belongs to somebody else.
pub(crate) fn of_another_execution(event: &Event, who: &Identity) -> Fault {
    mismatch(
        "corrupted history: event of another execution",
        event,
        &format!("this is execution {} of instance '{}'", who.execution_id, who.instance),
    )
}

/// An answer names nothing that it answers.
pub(crate) fn no_source(event: &Event) -> Fault {
    mismatch("corrupted history: completion without a source", event, "an answer names the event it answers")
}

/// An ask exceeds a limit.
pub(crate) fn limit(message: String) -> Fault {
    Fault(ErrorDetails::Application { kind: AppErrorKind::OrchestrationFailed, message, retryable: false })
}

/// No further event id fits a store.
pub(crate) fn history_full() -> Fault {
    limit("the history is full: no further event id fits; continue as new in time".to_owned())
}

/// Something that is not durable reached into the execution.
pub(crate) fn foreign(what: Foreign) -> Fault {
    nondeterminism(format!(
        "foreign asynchrony in an orchestration: {what}\n  Something inside it is not durable: a tokio sleep, \
         a channel, a spawned task, an I/O call. Replay cannot repeat what such things do. Use the context \
         instead (schedule_timer, schedule_activity, dequeue_event), or move the work into an activity."
    ))
}

/// The code waits, but for nothing that could ever arrive.
pub(crate) fn waits_for_nothing() -> Fault {
    nondeterminism(
        "the orchestration waits, but nothing durable is open\n  It can never go on: it awaits something that \
         is not durable (a tokio sleep, a channel, a spawned task, a future that is never ready), or only \
         futures whose answer it has already taken. Await a timer, an activity, a child, an event or a queue \
         of the context."
            .to_owned(),
    )
}

/// The code wakes itself for ever.
pub(crate) fn spinning() -> Fault {
    Fault(ErrorDetails::Infrastructure {
        operation: "quiescence_loop".to_owned(),
        message: format!(
            "quiescence loop exceeded {MAX_SELF_WAKES_PER_ARRIVAL} iterations\n  The orchestration keeps \
             waking itself without waiting for anything durable."
        ),
        retryable: false,
    })
}

/// Writes a mismatch: the documented text, then where, and both sides in full.
fn mismatch(text: &str, event: &Event, code: &str) -> Fault {
    let Event { event_id, execution_id, instance_id, duroxide_version, kind, .. } = event;
    nondeterminism(format!(
        "{text}\n  at event {event_id} of execution {execution_id} of instance '{instance_id}', recorded by \
         version {duroxide_version}\n  history holds: {kind:?}\n  but: {code}\n  {REDEPLOY}"
    ))
}

fn nondeterminism(message: String) -> Fault {
    Fault(ErrorDetails::Configuration {
        kind: ConfigErrorKind::Nondeterminism,
        resource: String::new(),
        message: Some(message),
    })
}

#[expect(clippy::wildcard_enum_match_arm, reason = "what is not state is a schedule, as the texts have it")]
const fn mismatch_of(kind: &EventKind) -> &'static str {
    match kind {
        EventKind::CustomStatusUpdated { .. } => "custom status mismatch",
        EventKind::KeyValueSet { .. } => "kv set mismatch",
        EventKind::KeyValueCleared { .. } => "kv clear mismatch",
        EventKind::KeyValuesCleared => "kv clear_all mismatch",
        _ => "schedule mismatch",
    }
}

fn cancellation_text(family: &str, recorded: &str, made: &str) -> String {
    format!(
        "cancellation mismatch ({family}): baseline_dropped_future_cancel_requests={{{recorded}}} \
         ctx_cancelled_in_replayed_segment={{{made}}}"
    )
}

const fn drop_family(family: Family) -> &'static str {
    match family {
        Family::Child => "sub-orchestrations",
        Family::Wait => "external waits",
        Family::Dequeue => "persistent waits",
        Family::Activity | Family::Timer | Family::Prune => "activities",
    }
}

fn list(ids: impl Iterator<Item = EventId>) -> String {
    ids.map(|id| id.to_string()).collect::<Vec<_>>().join(", ")
}
