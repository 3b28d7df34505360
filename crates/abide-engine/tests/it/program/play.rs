//! A program in a world that answers it.
//!
//! The world delivers one message per turn, chosen by a list of numbers, so that a failing play can be made
//! smaller. It is also a small model: it keeps the key-value state between executions.

use std::collections::BTreeMap;

use abide_engine::model::{
    AppErrorKind, ErrorDetails, Event, EventKind, KvEntry, PruneResult, Timestamp, WorkItem,
};
use abide_engine::{Execution, Outcome, TurnOutput};

use super::Program;
use super::interpret::interpret;
use crate::support::drive::through;
use crate::support::{Code, Given, INSTANCE, history_of, mail, time_of};

/// When the turns of a play happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Time {
    /// Each a second after the one before.
    Passing,
    /// All at once: what is compared across different numbers of turns must not depend on their times.
    Standing,
}

impl Time {
    pub(crate) fn of(self, turn: usize) -> Timestamp {
        match self {
            Self::Passing => time_of(turn),
            Self::Standing => Timestamp::from_millis(7_000),
        }
    }
}

/// One execution of a program: what it was given, message by message, and what it decided each time.
#[derive(Debug, Clone)]
pub(crate) struct Episode {
    pub(crate) execution_id: u64,
    pub(crate) kv: BTreeMap<String, KvEntry>,
    pub(crate) script: Vec<WorkItem>,
    pub(crate) turns: Vec<TurnOutput>,
}

impl Episode {
    pub(crate) fn history(&self) -> Vec<Event> {
        history_of(&self.turns)
    }

    pub(crate) fn outcome(&self) -> &Outcome {
        self.turns.last().map_or(&Outcome::Running, |turn| &turn.outcome)
    }

    /// A new execution of the same program that has not begun.
    pub(crate) fn fresh(&self, code: &Code) -> Execution {
        let (kv, execution_id) = (self.kv.clone(), Some(self.execution_id));
        Given { kv, execution_id, ..Given::default() }.fresh(code)
    }
}

/// Plays a program: every number is one move of the world.
pub(crate) fn play(program: &Program, moves: &[u16], time: Time) -> Vec<Episode> {
    let code = interpret(program);
    let mut world = World::default();
    let mut moves = moves.iter().copied();
    let mut episodes = Vec::new();
    let mut opener = mail::start("0");
    let mut kv = BTreeMap::new();
    for execution_id in 1..=3 {
        let mut episode = Episode { execution_id, kv: kv.clone(), script: Vec::new(), turns: Vec::new() };
        let mut execution = episode.fresh(&code);
        let mut next = Some(opener.clone());
        while let Some(item) = next {
            let output = feed(&mut execution, vec![item.clone()], time.of(episode.turns.len()));
            world.see(&output);
            episode.script.push(item);
            let is_over = output.outcome.is_terminal();
            episode.turns.push(output);
            next = if is_over {
                None
            } else {
                moves.next().and_then(|number| world.choose(number, execution_id))
            };
        }
        kv = fold_kv(kv, &episode.history());
        let successor = episode.turns.last().and_then(successor_of);
        episodes.push(episode);
        let Some(item) = successor else { break };
        opener = item;
    }
    episodes
}

/// Feeds messages to an execution; the host of plays prunes one execution of five events, or cannot.
pub(crate) fn feed(execution: &mut Execution, items: Vec<WorkItem>, now: Timestamp) -> TurnOutput {
    through(execution, items, now, |options| match options.keep_last {
        Some(3) => Err("cannot prune".to_owned()),
        _ => Ok(PruneResult { instances_processed: 1, executions_deleted: 1, events_deleted: 5 }),
    })
}

fn successor_of(turn: &TurnOutput) -> Option<WorkItem> {
    turn.orchestrator_items.iter().find(|item| matches!(item, WorkItem::ContinueAsNew { .. })).cloned()
}

/// The key-value state after an execution.
fn fold_kv(mut kv: BTreeMap<String, KvEntry>, history: &[Event]) -> BTreeMap<String, KvEntry> {
    for event in history {
        if let EventKind::KeyValueSet { key, value, last_updated_at_ms } = &event.kind {
            let entry = KvEntry { value: value.clone(), last_updated_at_ms: *last_updated_at_ms };
            kv.insert(key.clone(), entry);
        } else if let EventKind::KeyValueCleared { key } = &event.kind {
            kv.remove(key);
        } else if event.kind == EventKind::KeyValuesCleared {
            kv.clear();
        }
    }
    kv
}

/// What could arrive.
#[derive(Debug, Default)]
struct World {
    /// Work that was set in motion and has not been answered.
    open: Vec<WorkItem>,
    said: u32,
}

impl World {
    /// Takes note of what a turn set in motion and took back.
    fn see(&mut self, output: &TurnOutput) {
        self.open.extend(output.worker_items.iter().cloned());
        self.open.extend(
            output
                .orchestrator_items
                .iter()
                .filter(|item| match item {
                    WorkItem::TimerFired { .. } => true,
                    WorkItem::StartOrchestration { parent_instance, .. } => parent_instance.is_some(),
                    _ => false,
                })
                .cloned(),
        );
        // Every second cancelled activity is not cancelled in time: its completion is on its way.
        for cancelled in output.cancelled_activities.iter().filter(|activity| activity.activity_id % 2 == 0) {
            self.open.retain(|item| {
                !matches!(item, WorkItem::ActivityExecute { id, execution_id, .. }
                    if *id == cancelled.activity_id && *execution_id == cancelled.execution_id)
            });
        }
    }

    /// The next message, or `None` if this move has nothing to do.
    fn choose(&mut self, number: u16, execution_id: u64) -> Option<WorkItem> {
        let (kind, which) = (number % 16, usize::from(number / 16));
        self.said += 1;
        let data = format!("m{}", self.said);
        match kind {
            0 | 1 => Some(mail::signal(&format!("w{}", which % 2), &data)),
            2..=4 => Some(mail::message(&format!("q{}", which % 2), &data)),
            5 if which % 6 == 0 => Some(mail::cancel(&data)),
            6 => self.answer(which, Answer::Err, execution_id),
            _ => self.answer(which, Answer::Ok, execution_id),
        }
        .or_else(|| Some(mail::signal("w0", &data)))
    }

    fn answer(&mut self, which: usize, answer: Answer, execution_id: u64) -> Option<WorkItem> {
        let place = which.checked_rem(self.open.len())?;
        let item = match self.open.remove(place) {
            WorkItem::ActivityExecute { execution_id, id, name, .. } => match answer {
                Answer::Ok => mail::done_in(execution_id, id, &format!("{name}#{id}")),
                Answer::Err => WorkItem::ActivityFailed {
                    instance: INSTANCE.to_owned(),
                    execution_id,
                    id,
                    details: failure(id),
                },
            },
            WorkItem::StartOrchestration { parent_id, parent_execution_id, .. } => {
                let (parent_id, parent_execution_id) =
                    (parent_id.unwrap_or(0), parent_execution_id.unwrap_or(execution_id));
                let parent_instance = INSTANCE.to_owned();
                match answer {
                    Answer::Ok => WorkItem::SubOrchCompleted {
                        parent_instance,
                        parent_execution_id,
                        parent_id,
                        result: format!("child#{parent_id}"),
                    },
                    Answer::Err => WorkItem::SubOrchFailed {
                        parent_instance,
                        parent_execution_id,
                        parent_id,
                        details: failure(parent_id),
                    },
                }
            }
            timer => timer,
        };
        Some(item)
    }
}

#[derive(Debug, Clone, Copy)]
enum Answer {
    Ok,
    Err,
}

/// Some failures no code may catch.
fn failure(id: u64) -> ErrorDetails {
    if id.is_multiple_of(7) {
        return ErrorDetails::Infrastructure {
            operation: "op".to_owned(),
            message: format!("broken#{id}"),
            retryable: false,
        };
    }
    ErrorDetails::Application {
        kind: AppErrorKind::ActivityFailed,
        message: format!("err#{id}"),
        retryable: false,
    }
}
