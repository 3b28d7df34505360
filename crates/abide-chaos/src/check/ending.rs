//! Whether everything ended as it must, and nothing else is there.

use std::collections::BTreeSet;

use abide::{AppErrorKind, ErrorDetails, EventKind, OrchestrationStatus};

use super::{Evidence, Past, Rule, Violation};
use crate::program::{Ending, Order};

pub(super) fn violations(evidence: &Evidence) -> Vec<Violation> {
    let mut found: Vec<Violation> =
        evidence.orders.iter().flat_map(|order| of_order(evidence, order)).collect();
    let ordered: BTreeSet<&str> = evidence.orders.iter().map(|order| order.instance.as_str()).collect();
    for (instance, past) in &evidence.instances {
        if end_of(past).is_none() {
            found.push(Violation::new(Rule::NothingStuck, instance, format!("it is {:?}", past.status)));
        }
        match parent_of(past) {
            Some(link) => found.extend(of_child(evidence, instance, past, &link)),
            None if ordered.contains(instance.as_str()) => {}
            None => found.push(Violation::new(Rule::NoGhosts, instance, "nobody ordered it")),
        }
    }
    found
}

fn of_order(evidence: &Evidence, order: &Order) -> Vec<Violation> {
    let mut found = Vec::new();
    let Some(past) = evidence.instances.get(&order.instance) else {
        return vec![Violation::new(
            Rule::NothingLost,
            &order.instance,
            "it was acknowledged and is not there",
        )];
    };
    if let (Some(ended), Some(wanted)) = (end_of(past), order.ending())
        && ended != Ok(wanted.clone())
    {
        let detail = format!("it ended with {ended:?} instead of {wanted:?}");
        found.push(Violation::new(Rule::RightEnd, &order.instance, detail));
    }
    if past.kept != order.kept() {
        let detail = format!("it keeps {:?} instead of {:?}", past.kept, order.kept());
        found.push(Violation::new(Rule::RightValues, &order.instance, detail));
    }
    found
}

/// How an instance ended: as orders may end, or in another way. `None` if it has not.
fn end_of(past: &Past) -> Option<Result<Ending, String>> {
    match &past.status {
        OrchestrationStatus::NotFound | OrchestrationStatus::Running { .. } => None,
        OrchestrationStatus::Completed { output, .. } => Some(Ok(Ending::Output(output.clone()))),
        OrchestrationStatus::Failed { details, .. } => Some(match details {
            ErrorDetails::Application { kind: AppErrorKind::Cancelled { reason }, .. } => {
                Ok(Ending::Cancelled(reason.clone()))
            }
            ErrorDetails::Application { .. }
            | ErrorDetails::Infrastructure { .. }
            | ErrorDetails::Configuration { .. }
            | ErrorDetails::Poison { .. } => Err(format!("{details:?}")),
        }),
    }
}

/// Who asked for a child.
struct ParentLink {
    instance: String,
    execution: u64,
    event: u64,
}

fn parent_of(past: &Past) -> Option<ParentLink> {
    past.events().find_map(|event| {
        if let EventKind::OrchestrationStarted {
            parent_instance: Some(instance),
            parent_id,
            parent_execution_id,
            ..
        } = &event.kind
        {
            Some(ParentLink {
                instance: instance.clone(),
                execution: parent_execution_id.unwrap_or(1),
                event: parent_id.unwrap_or_default(),
            })
        } else {
            None
        }
    })
}

/// A child was asked for by its parent, which was told its result or did not want it any more.
fn of_child(evidence: &Evidence, instance: &str, past: &Past, link: &ParentLink) -> Vec<Violation> {
    let parent = evidence.instances.get(&link.instance);
    let history = parent.and_then(|parent| parent.executions.get(&link.execution));
    let asked = history.into_iter().flatten().any(|event| {
        event.event_id == link.event && matches!(event.kind, EventKind::SubOrchestrationScheduled { .. })
    });
    if !asked {
        let detail = format!("its parent {} has no event {} that asks for it", link.instance, link.event);
        return vec![Violation::new(Rule::NoGhosts, instance, detail)];
    }
    let mut answers = history.into_iter().flatten().filter(|event| event.source_event_id == Some(link.event));
    let told = answers.next().map(|event| &event.kind);
    let is_right = match told {
        Some(EventKind::SubOrchestrationCompleted { result }) => {
            end_of(past) == Some(Ok(Ending::Output(result.clone())))
        }
        Some(EventKind::SubOrchestrationFailed { .. }) => {
            matches!(past.status, OrchestrationStatus::Failed { .. })
        }
        other => other.is_some_and(|kind| matches!(kind, EventKind::SubOrchestrationCancelRequested { .. })),
    };
    if is_right {
        return Vec::new();
    }
    let detail = format!("it is {:?}, and its parent was told {told:?}", past.status);
    vec![Violation::new(Rule::ParentTold, instance, detail)]
}
