//! Turns that break a rule.

use abide_model::{EventKind, WorkItem};
use abide_provider::Turn;

use super::items;
use crate::alphabet;
use crate::op::Commit;
use crate::rng::Rng;
use crate::world::World;

/// Makes a commit wrong in one way, now and then.
pub(super) fn sometimes(rng: &mut Rng, world: &World, commit: &mut Commit) {
    if rng.percent(2) {
        commit.instance = alphabet::instance(rng);
    }
    turn(rng, world, &commit.instance, &mut commit.turn);
}

/// Makes a turn wrong in one way, now and then.
pub(super) fn turn(rng: &mut Rng, world: &World, instance: &str, turn: &mut Turn) {
    if !rng.percent(12) {
        return;
    }
    match rng.below(12) {
        0 => repeat_numbers(turn),
        1 => turn.execution_id = 0,
        2 => turn.execution_id = turn.execution_id.saturating_sub(1),
        3 => turn.execution_id = items::execution_id(rng),
        4 => renumber(turn, |id| id.saturating_sub(3)),
        5 => renumber(turn, |_| 0),
        6 => repeat_last(turn),
        10 => turn.execution_id = u64::MAX,
        11 => renumber(turn, |id| id + (1 << 63)),
        7 => turn.metadata.status = Some("Paused".to_owned()),
        8 => turn.worker_items.push(items::message(rng, instance, world.now)),
        _ => turn.orchestrator_items.push(WorkItem::ActivityExecute {
            instance: instance.to_owned(),
            execution_id: 1,
            id: 1,
            name: String::new(),
            input: String::new(),
            session_id: None,
            tag: None,
        }),
    }
}

/// Gives the first event a number that is taken, if the execution has any.
pub(super) fn repeat_numbers(turn: &mut Turn) {
    renumber(turn, |id| id.saturating_sub(1));
}

fn renumber(turn: &mut Turn, number: impl Fn(u64) -> u64) {
    for event in &mut turn.events {
        event.event_id = number(event.event_id);
    }
}

fn repeat_last(turn: &mut Turn) {
    let id = turn.events.last().map_or(1, |event| event.event_id);
    let kind = EventKind::KeyValuesCleared;
    turn.events.push(items::event("", turn.execution_id, id, kind));
}
