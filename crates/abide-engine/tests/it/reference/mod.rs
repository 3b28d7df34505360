//! Histories in the reference's order, made by a small model of it, replay here in silence and go on.
//!
//! A turn of the model records its whole batch, runs the code from the top with a poll per arrival, records
//! what the code asked for behind the batch, polls again while that leads to new asks, and records what was
//! dropped at the end, family by family.
//!
//! The model leaves out cancellation, panics, typed futures, retries, prunes, limits, what code reads of its
//! state, and all but the first execution; `code.rs` skips those steps. A history that the model itself
//! cannot replay, as happens to the reference too, says nothing about us: the play stops there.

mod code;
mod model;
mod turn;

use std::collections::BTreeSet;
use std::sync::Arc;

use abide_engine::model::{ErrorDetails, Event, EventKind, Timestamp, WorkItem};
use abide_engine::{Execution, Outcome};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use self::turn::{Turned, take_turn};
use crate::program::play::feed;
use crate::program::{Step, program};
use crate::support::cases::cases;
use crate::support::drive::cold;
use crate::support::past::{Row, started};
use crate::support::{Code, mail};

/// The same steps as code for the engine.
fn ours(steps: &Arc<Vec<Step>>) -> Code {
    let steps = Arc::clone(steps);
    crate::support::code(move |ctx, _| {
        let steps = Arc::clone(&steps);
        async move { code::run(&ctx, &steps).await.map_or_else(|end| end, Ok) }
    })
}

/// What arrives, as rows: answers to what is open, and what anybody may send.
#[derive(Default)]
struct World {
    said: u32,
}

impl World {
    /// A batch; each number is one arrival.
    fn batch(&mut self, history: &[Event], numbers: &[u16]) -> Vec<Row> {
        let mut batch = Vec::new();
        for number in numbers {
            let row = self.choose(history, &batch, *number);
            batch.push(row);
        }
        batch
    }

    fn choose(&mut self, history: &[Event], batch: &[Row], number: u16) -> Row {
        self.said += 1;
        let data = format!("m{}", self.said);
        let open = open_in(history, batch);
        let which = usize::from(number / 8);
        let place = which.checked_rem(open.len());
        match (number % 8, place) {
            (0, _) => (None, EventKind::ExternalEvent { name: format!("w{}", which % 2), data }),
            (1 | 2, _) | (_, None) => {
                (None, EventKind::QueueEventDelivered { name: format!("q{}", which % 2), data })
            }
            (_, Some(place)) => (Some(open[place].event_id), answer_to(open[place], data, number)),
        }
    }
}

/// What has an answer to come.
fn open_in<'a>(history: &'a [Event], batch: &[Row]) -> Vec<&'a Event> {
    let answers = history.iter().filter(|event| !model::is_cancellation(&event.kind));
    let answered: BTreeSet<u64> = answers
        .filter_map(|event| event.source_event_id)
        .chain(batch.iter().filter_map(|(source, _)| *source))
        .collect();
    let is_open = |event: &&Event| {
        matches!(
            event.kind,
            EventKind::ActivityScheduled { .. }
                | EventKind::TimerCreated { .. }
                | EventKind::SubOrchestrationScheduled { .. }
        ) && !answered.contains(&event.event_id)
    };
    history.iter().filter(is_open).collect()
}

/// The answer to what is open; some activities fail.
fn answer_to(event: &Event, data: String, number: u16) -> EventKind {
    match &event.kind {
        EventKind::TimerCreated { fire_at_ms } => EventKind::TimerFired { fire_at_ms: *fire_at_ms },
        EventKind::SubOrchestrationScheduled { .. } => EventKind::SubOrchestrationCompleted { result: data },
        _ if number.is_multiple_of(5) => EventKind::ActivityFailed { details: mail::app_error(&data) },
        _ => EventKind::ActivityCompleted { result: data },
    }
}

/// The message that becomes this row.
fn message_of((source, kind): &Row) -> WorkItem {
    let id = source.unwrap_or(0);
    match kind {
        EventKind::ExternalEvent { name, data } => mail::signal(name, data),
        EventKind::QueueEventDelivered { name, data } => mail::message(name, data),
        EventKind::TimerFired { fire_at_ms } => mail::fired(id, *fire_at_ms),
        EventKind::SubOrchestrationCompleted { result } => mail::child_done(id, result),
        EventKind::ActivityFailed { details } => mail::failed_with(id, details.clone()),
        EventKind::ActivityCompleted { result } => mail::done(id, result),
        other => unreachable!("{other:?} does not arrive"),
    }
}

/// Whether the model stands still where its history ends.
fn replays_itself(steps: &Arc<Vec<Step>>, history: &[Event], now: u64) -> bool {
    take_turn(steps, history, &[], now)
        .is_some_and(|Turned { events, is_over }| events.is_empty() && !is_over)
}

fn print(history: &[Event]) -> String {
    let line = |event: &Event| format!("{} {:?} {:?}\n", event.event_id, event.source_event_id, event.kind);
    history.iter().map(line).collect()
}

/// The execution that replayed `history` in silence.
fn replay_in_silence(code: &Code, history: &[Event], now: u64) -> Result<Execution, TestCaseError> {
    let mut execution = cold(code, history.to_vec());
    prop_assert!(execution.mismatch().is_none(), "{:?}\n{}", execution.mismatch(), print(history));
    let silent = feed(&mut execution, vec![], Timestamp::from_millis(now));
    let is_silent =
        silent.events.is_empty() && silent.worker_items.is_empty() && silent.orchestrator_items.is_empty();
    let (added, before) = (print(&silent.events), print(history));
    prop_assert!(is_silent, "not silent: {:?}\n{added}---\n{before}", silent.outcome);
    Ok(execution)
}

/// We go on from the reference's history, and what we add replays behind it.
fn go_on(
    mut execution: Execution,
    code: &Code,
    history: &[Event],
    batch: &[Row],
    now: u64,
) -> Result<(), TestCaseError> {
    let messages = batch.iter().map(message_of).collect();
    let went_on = feed(&mut execution, messages, Timestamp::from_millis(now));
    let is_refused =
        matches!(went_on.outcome, Outcome::Failed { details: ErrorDetails::Configuration { .. } });
    prop_assert!(!is_refused, "cannot go on: {:?}\n{}", went_on.outcome, print(history));
    let mixed = [history.to_vec(), went_on.events].concat();
    replay_in_silence(code, &mixed, now + 1)?;
    Ok(())
}

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn a_history_in_the_order_of_the_reference_replays_in_silence_and_goes_on(
        program in program(),
        early in prop::collection::vec(any::<u16>(), 0..3),
        batches in prop::collection::vec(prop::collection::vec(any::<u16>(), 1..5), 0..8),
    ) {
        let steps = Arc::new(program.first);
        let code = ours(&steps);
        let mut world = World::default();
        let mut history: Vec<Event> = Vec::new();
        let mut batch = [vec![started("in")], world.batch(&[], &early)].concat();
        let mut batches = batches.into_iter();
        for now in (1_000_u64..).step_by(1_000) {
            let Some(turned) = take_turn(&steps, &history, &batch, now) else { break };
            history.extend(turned.events);
            if !turned.is_over && !replays_itself(&steps, &history, now) {
                break;
            }
            let execution = replay_in_silence(&code, &history, now + 1)?;
            if turned.is_over {
                break;
            }
            let Some(numbers) = batches.next() else { break };
            batch = world.batch(&history, &numbers);
            go_on(execution, &code, &history, &batch, now + 2)?;
        }
    }
}
