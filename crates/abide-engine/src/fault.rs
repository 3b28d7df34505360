//! Why an execution fails by the engine's decision, in words for the person who reads them.
//!
//! The first line of each message is the documented text that programs may look for; what follows says
//! where it happened, what history holds, what the code did, and what to do about it.

use abide_model::limits::MAX_SELF_WAKES_PER_ARRIVAL;
use abide_model::{ConfigErrorKind, ErrorDetails, Event, EventId, EventKind};

use crate::ask::compare::printed;
use crate::ask::{Ask, Family};
use crate::ledger::Standing;
use crate::redacted::Payloads;
use crate::role::{Role, role};
use crate::turn::{Identity, Outcome};
use crate::window::Foreign;

/// The execution cannot go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) details: ErrorDetails,
    /// Where history and code differ, if the fault is about that.
    pub(crate) difference: Option<Box<Difference>>,
}

/// Where history and code differ, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) event_id: Option<u64>,
    /// The message of the fault without payloads.
    pub(crate) summary: String,
}

impl Fault {
    /// A fault that is not about an event.
    pub(crate) const fn of(details: ErrorDetails) -> Self {
        Self { details, difference: None }
    }

    fn at(mut self, event_id: u64, summary: String) -> Self {
        self.difference = Some(Box::new(Difference { event_id: Some(event_id), summary }));
        self
    }
}

/// What to do when the code is not what it was.
const REDEPLOY: &str = "The code was changed in a way its running executions cannot follow: restore it, or \
                        register the change as a new version.";
/// What to do when the history is not what it was.
const RESTORE: &str = "Rows of this history were lost, repeated, reordered or edited: restore them from a \
                       backup, or cancel the instance and start it again.";

/// The code asks something else than history records.
pub(crate) fn asks_differ(ask: &Ask, event: &Event, differences: &[&str]) -> Fault {
    let what = mismatch_of(&event.kind);
    let differs = format!("what the code asks for differs in its {}", differences.join(", "));
    mismatch(event, REDEPLOY, |payloads| (both_sides(what, ask, event, payloads), differs.clone()))
}

/// History records an ask that the code does not make.
pub(crate) fn not_asked(event: &Event) -> Fault {
    not_asked_because(event, |_| "the code asks for nothing here".to_owned())
}

fn not_asked_because(event: &Event, code: impl Fn(Payloads) -> String) -> Fault {
    let text = if matches!(event.kind, EventKind::OrchestrationChained { .. }) {
        "history OrchestrationChained but no emitted action"
    } else {
        "history schedule but no emitted action"
    };
    contradiction(text, event, REDEPLOY, code)
}

/// The code asks something where history goes on with something else.
pub(crate) fn additional_ask(ask: &Ask, event: &Event) -> Fault {
    let what = "what the code asks for is not recorded before this event";
    mismatch(event, REDEPLOY, |payloads| {
        (both_sides("schedule mismatch", ask, event, payloads), what.to_owned())
    })
}

/// History records that the code dropped a future, and the code does not.
pub(crate) fn not_dropped(event: &Event, dropped: &[(EventId, Family)]) -> Fault {
    let (family, recorded) = match (role(event), event.source_event_id) {
        (Role::Drop { family, .. }, Some(source)) => (family, source.to_string()),
        _ => return no_source(event),
    };
    let made = of_family(dropped, family);
    let code = if made.is_empty() {
        format!("the code does not drop the future of event {recorded}")
    } else {
        format!("the code drops {} instead", futures(&made))
    };
    contradiction(&cancellation_text(family, &recorded, &list(&made)), event, REDEPLOY, |_| code.clone())
}

/// The code drops futures that no event says were dropped.
pub(crate) fn additional_drop(dropped: &[(EventId, Family)], event: &Event) -> Fault {
    let family = dropped.first().map_or(Family::Activity, |(_, family)| *family);
    let made = of_family(dropped, family);
    let code = format!("the code first drops {}, which is not recorded before this event", futures(&made));
    contradiction(&cancellation_text(family, "", &list(&made)), event, REDEPLOY, |_| code.clone())
}

/// The code is done although history goes on, or ended in another way than history says.
pub(crate) fn ended_differently(outcome: &Outcome, event: &Event) -> Fault {
    let code = |payloads: Payloads| match outcome {
        Outcome::Completed { output } => format!("the code returns Ok({})", payloads.text(output)),
        Outcome::Failed { details } => {
            format!("the code fails with {}", payloads.text(&details.display_message()))
        }
        Outcome::ContinuedAsNew { input, .. } => {
            format!("the code continues as new with {}", payloads.text(input))
        }
        Outcome::Running => "the code is still waiting".to_owned(),
    };
    let text = match role(event) {
        Role::Ask(_) | Role::Drop { .. } => return not_asked_because(event, code),
        Role::Arrival(_) | Role::Cleanup { .. } => {
            "outcome mismatch: history goes on, but the code has ended"
        }
        Role::Terminal => "outcome mismatch: history ends in another way than the code",
    };
    contradiction(text, event, REDEPLOY, code)
}

/// An answer for something that is not open.
pub(crate) fn not_open(event: &Event, standing: Standing) -> Fault {
    let source = event.source_event_id.unwrap_or_default();
    let why = match standing {
        Standing::Closed => format!("it answers event {source}, which was answered before"),
        Standing::Open | Standing::Cancelled | Standing::Other(_) | Standing::Unknown => {
            format!("it answers event {source}, which asks for nothing")
        }
    };
    contradiction("completion without open schedule", event, RESTORE, |_| why.clone())
}

/// An answer of one kind to an ask of another.
pub(crate) fn wrong_kind(event: &Event, answered: Family, asked: Family) -> Fault {
    let source = event.source_event_id.unwrap_or_default();
    let why = format!("it answers event {source}, which waits for another kind of answer ({})", asked.name());
    let text = format!("completion kind mismatch: expected {}", answered.name());
    contradiction(&text, event, RESTORE, |_| why.clone())
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
    let fault = nondeterminism(format!(
        "completion kind mismatch for id={id}, expected '{}', got '{}'\n  A message answers event {id}, \
         which asks for another kind of answer.",
        expected.name(),
        got.name()
    ));
    let summary = fault.details.display_message();
    fault.at(id.get(), summary)
}

/// The history does not begin with the start.
pub(crate) fn starts_wrongly(event: &Event) -> Fault {
    let text = "corrupted history: first event must be OrchestrationStarted";
    contradiction(text, event, RESTORE, |_| "an execution begins with OrchestrationStarted".to_owned())
}

/// The history has a second start.
pub(crate) fn starts_again(event: &Event) -> Fault {
    let text = "corrupted history: OrchestrationStarted in the middle";
    contradiction(text, event, RESTORE, |_| "an execution starts once".to_owned())
}

/// Event ids do not ascend.
pub(crate) fn out_of_order(event: &Event, last: Option<EventId>) -> Fault {
    let last = last.map_or_else(String::new, |last| last.to_string());
    let why = format!("it follows event {last}");
    contradiction("corrupted history: event ids must ascend", event, RESTORE, |_| why.clone())
}

/// An event belongs to somebody else.
pub(crate) fn of_another_execution(event: &Event, who: &Identity) -> Fault {
    let why = format!("this is execution {} of instance '{}'", who.execution_id, who.instance);
    contradiction("corrupted history: event of another execution", event, RESTORE, |_| why.clone())
}

/// An answer or a cancellation names nothing that it is about.
pub(crate) fn no_source(event: &Event) -> Fault {
    let why = "an answer or a cancellation names the event it is about";
    contradiction("corrupted history: event without a source", event, RESTORE, |_| why.to_owned())
}

/// An event follows the end.
pub(crate) fn after_the_end(event: &Event) -> Fault {
    let why = "the event before it ended the execution";
    contradiction("corrupted history: event after the end", event, RESTORE, |_| why.to_owned())
}

/// An ask exceeds a limit.
pub(crate) fn limit(message: String) -> Fault {
    Fault::of(ErrorDetails::orchestration_failed(message))
}

/// The engine contradicts itself. Better to say so than to go on and lose something.
pub(crate) fn internal(what: &str) -> Fault {
    Fault::of(ErrorDetails::Infrastructure {
        operation: "replay".to_owned(),
        message: format!("a bug in abide: {what}; please report it with this history"),
        retryable: false,
    })
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

/// The code wakes itself for ever.
pub(crate) fn spinning() -> Fault {
    Fault::of(ErrorDetails::Infrastructure {
        operation: "quiescence_loop".to_owned(),
        message: format!(
            "quiescence loop exceeded {MAX_SELF_WAKES_PER_ARRIVAL} iterations\n  The orchestration was polled \
             that often without anything having arrived: it keeps waking itself, or keeps asking for what it \
             does not take. Await something durable in the loop."
        ),
        retryable: false,
    })
}

/// Writes a mismatch: the documented text, where it is, what is wrong, and what to do.
fn mismatch(event: &Event, advice: &str, words: impl Fn(Payloads) -> (String, String)) -> Fault {
    let Event { event_id, execution_id, instance_id, duroxide_version, .. } = event;
    let message = |payloads| {
        let (text, what) = words(payloads);
        format!(
            "{text}\n  at event {event_id} of execution {execution_id} of instance '{instance_id}', recorded \
             by version {duroxide_version}\n  {what}\n  {advice}"
        )
    };
    let summary = nondeterminism(message(Payloads::Hidden)).details.display_message();
    nondeterminism(message(Payloads::Shown)).at(*event_id, summary)
}

/// A mismatch whose documented text does not name both sides.
fn contradiction(text: &str, event: &Event, advice: &str, code: impl Fn(Payloads) -> String) -> Fault {
    mismatch(event, advice, |payloads| {
        let history = payloads.event(&event.kind);
        (text.to_owned(), format!("history holds: {history}\n  but {}", code(payloads)))
    })
}

fn both_sides(what: &str, ask: &Ask, event: &Event, payloads: Payloads) -> String {
    let (action, event) = (payloads.action(&printed(ask, event)), payloads.event(&event.kind));
    format!("{what}: action={action} vs event={event}")
}

fn nondeterminism(message: String) -> Fault {
    Fault::of(ErrorDetails::Configuration {
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

fn cancellation_text(family: Family, recorded: &str, made: &str) -> String {
    let family = match family {
        Family::Child => "sub-orchestrations",
        Family::Wait => "external waits",
        Family::Dequeue => "persistent waits",
        Family::Activity | Family::Timer | Family::Prune => "activities",
    };
    format!(
        "cancellation mismatch ({family}): baseline_dropped_future_cancel_requests={{{recorded}}} \
         ctx_cancelled_in_replayed_segment={{{made}}}"
    )
}

fn of_family(dropped: &[(EventId, Family)], family: Family) -> Vec<EventId> {
    dropped.iter().filter(|(_, other)| *other == family).map(|(id, _)| *id).collect()
}

fn list(ids: &[EventId]) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn futures(ids: &[EventId]) -> String {
    let noun = if ids.len() == 1 { "the future of event" } else { "the futures of events" };
    format!("{noun} {}", list(ids))
}
