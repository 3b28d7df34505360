//! Batch invariance: a batch of k messages gives exactly the history of k batches of one.

use abide_engine::model::{Event, WorkItem};
use abide_engine::{Outcome, TurnOutput};

use super::{Code, Given, Turn, history_of, take_turn};

/// Runs the script again with every message in a turn of its own, at the time of its batch.
#[track_caller]
pub(super) fn assert_invariant(given: &Given, code: &Code, turns: &[Turn], batched: &[TurnOutput]) {
    if !begins_with_its_start(given, turns) {
        return;
    }
    let (events, outcome) = one_by_one(given, code, turns);
    assert_eq!(events, history_of(batched), "a batch gives the history of its messages taken one by one");
    assert_eq!(Some(&outcome), batched.last().map(|turn| &turn.outcome));
}

/// A start is taken first wherever it stands in its batch, so only scripts that put it first can be split.
fn begins_with_its_start(given: &Given, turns: &[Turn]) -> bool {
    let first = turns.first().and_then(|turn| turn.first());
    match first {
        _ if !given.history.is_empty() => true,
        Some(WorkItem::ContinueAsNew { .. }) => true,
        Some(WorkItem::StartOrchestration { .. }) => given.who().execution_id == 1,
        _ => false,
    }
}

fn one_by_one(given: &Given, code: &Code, turns: &[Turn]) -> (Vec<Event>, Outcome) {
    let mut execution = given.cold(code, Vec::new());
    let mut events = Vec::new();
    for (number, turn) in turns.iter().enumerate() {
        let singles = turn.iter().map(|item| vec![item.clone()]);
        let nothing = turn.is_empty().then(Vec::new);
        for single in nothing.into_iter().chain(singles) {
            events.extend(take_turn(&mut execution, number, &single).events);
        }
    }
    (events, execution.outcome())
}
