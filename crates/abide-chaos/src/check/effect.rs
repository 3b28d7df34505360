//! Whether results and runs belong together.

use std::collections::{BTreeMap, BTreeSet};

use abide::{ErrorDetails, Event, EventKind};

use super::{Evidence, Past, Rule, Violation};
use crate::journal::{Activity, Note};
use crate::program::attempt_of;

pub(super) fn violations(evidence: &Evidence) -> Vec<Violation> {
    let mut found = results_without_runs(evidence);
    found.extend(stale_results(evidence));
    found.extend(runs_without_asks(evidence));
    found
}

/// What the names of activities that are part of abide begin with. They leave no trace.
const BUILT_IN: &str = "__duroxide_syscall:";

/// Every recorded result was returned by a run: at least one, and it is that one's.
fn results_without_runs(evidence: &Evidence) -> Vec<Violation> {
    let mut returned: BTreeMap<&Activity, BTreeSet<&Result<String, String>>> = BTreeMap::new();
    for line in evidence.lines() {
        if let Note::Ended { activity, result } = &line.note {
            returned.entry(activity).or_default().insert(result);
        }
    }
    let events = || evidence.instances.values().flat_map(Past::events);
    let built_in: BTreeSet<Activity> =
        events().filter(|event| asks_for_built_in(event)).map(asked_in).collect();
    let recorded = events().filter_map(|event| Some((asked_by(event)?, result_of(event)?)));
    let unfounded = recorded
        .filter(|(activity, _)| !built_in.contains(activity))
        .filter(|(activity, result)| !returned.get(activity).is_some_and(|results| results.contains(result)));
    unfounded
        .map(|(activity, result)| {
            let detail = format!("{result:?} is recorded, and runs returned {:?}", returned.get(&activity));
            Violation::new(Rule::ResultOfRun, subject(&activity), detail)
        })
        .collect()
}

/// Nothing runs again once its result is recorded, and nobody records a result once it runs again.
fn stale_results(evidence: &Evidence) -> Vec<Violation> {
    let mut last_run: BTreeMap<&Activity, u32> = BTreeMap::new();
    for line in evidence.lines() {
        if let Note::Began { activity, attempt } = &line.note {
            let last = last_run.entry(activity).or_default();
            *last = (*last).max(*attempt);
        }
    }
    let events = evidence.instances.values().flat_map(Past::events);
    let recorded = events.filter_map(|event| Some((asked_by(event)?, result_of(event)?.ok()?)));
    let signed = recorded.filter_map(|(activity, result)| Some((attempt_of(&result)?, activity)));
    let stale =
        signed.filter(|(attempt, activity)| last_run.get(activity).is_some_and(|last| last > attempt));
    stale
        .map(|(attempt, activity)| {
            let detail = format!(
                "the result of run {attempt} is recorded, and run {:?} began",
                last_run.get(&activity)
            );
            Violation::new(Rule::ResultOfLastRun, subject(&activity), detail)
        })
        .collect()
}

fn asks_for_built_in(event: &Event) -> bool {
    matches!(&event.kind, EventKind::ActivityScheduled { name, .. } if name.starts_with(BUILT_IN))
}

/// The activity that an event asks for.
fn asked_in(event: &Event) -> Activity {
    Activity { instance: event.instance_id.clone(), execution: event.execution_id, event: event.event_id }
}

/// The activity that an event is about.
fn asked_by(event: &Event) -> Option<Activity> {
    let (instance, execution) = (event.instance_id.clone(), event.execution_id);
    event.source_event_id.map(|event| Activity { instance, execution, event })
}

fn result_of(event: &Event) -> Option<Result<String, String>> {
    if let EventKind::ActivityCompleted { result } = &event.kind {
        return Some(Ok(result.clone()));
    }
    let EventKind::ActivityFailed { details } = &event.kind else { return None };
    Some(Err(match details {
        ErrorDetails::Application { message, .. } => message.clone(),
        ErrorDetails::Infrastructure { .. }
        | ErrorDetails::Configuration { .. }
        | ErrorDetails::Poison { .. } => format!("{details:?}"),
    }))
}

/// Nothing ran that the history does not ask for.
fn runs_without_asks(evidence: &Evidence) -> Vec<Violation> {
    let events = evidence.instances.values().flat_map(Past::events);
    let asked: BTreeSet<Activity> = events
        .filter(|event| matches!(event.kind, EventKind::ActivityScheduled { .. }))
        .map(asked_in)
        .collect();
    let runs = evidence
        .lines()
        .filter_map(|line| if let Note::Began { activity, .. } = &line.note { Some(activity) } else { None });
    let ghosts: BTreeSet<&Activity> = runs.filter(|activity| !asked.contains(activity)).collect();
    ghosts
        .into_iter()
        .map(|activity| {
            Violation::new(Rule::RunAskedFor, subject(activity), "it ran, and nobody asked for it")
        })
        .collect()
}

fn subject(activity: &Activity) -> String {
    format!("{} execution {} activity {}", activity.instance, activity.execution, activity.event)
}
