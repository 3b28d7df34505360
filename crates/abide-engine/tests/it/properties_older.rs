//! Properties over generated programs whose messages do not come one by one: some are older than the start,
//! and batches have any size.

use std::collections::BTreeSet;

use abide_engine::model::{Event, WorkItem};
use abide_engine::{Outcome, TurnOutput};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use crate::program::interpret::interpret;
use crate::program::play::{Episode, Time, feed, play};
use crate::program::program;
use crate::support::cases::cases;
use crate::support::{Code, decisions, history_of, mail};

fn moves() -> impl Strategy<Value = Vec<u16>> {
    prop::collection::vec(any::<u16>(), 0..32)
}

/// A message that was there before the execution began.
fn older(number: u8, execution_id: u64) -> WorkItem {
    match number % 10 {
        0 | 1 => mail::signal("w0", "old"),
        2..=4 => mail::message(["q0", "q1"][usize::from(number / 10) % 2], &format!("old{number}")),
        5 => mail::cancel("old"),
        6 => mail::start("again"),
        7 => mail::start_by(("other", u64::from(number), 1), "again"),
        8 => mail::done_in(execution_id.wrapping_sub(1), 2, "stale"),
        _ => mail::done_in(execution_id, 2, "early"),
    }
}

/// What an episode begins with: older messages, then the message that starts it.
fn beginning(episode: &Episode, numbers: &[u8]) -> Vec<WorkItem> {
    let mut items: Vec<WorkItem> =
        numbers.iter().map(|number| older(*number, episode.execution_id)).collect();
    if episode.execution_id == 1 {
        // The first start is the one that counts.
        items.retain(|item| !matches!(item, WorkItem::StartOrchestration { .. }));
    }
    items.push(episode.script[0].clone());
    items
}

/// Takes the batches resident and, each time, cold: both decide the same.
fn take_both_ways(
    episode: &Episode,
    code: &Code,
    batches: Vec<(usize, Vec<WorkItem>)>,
    time: Time,
) -> Result<Vec<TurnOutput>, TestCaseError> {
    let mut resident = episode.fresh(code);
    let mut turns: Vec<TurnOutput> = Vec::new();
    for (place, batch) in batches {
        if turns.last().is_some_and(|turn| turn.outcome.is_terminal()) {
            break;
        }
        let turn = feed(&mut resident, batch.clone(), time.of(place));
        let mut cold = episode.fresh(code);
        cold.replay(history_of(&turns)).unwrap();
        prop_assert_eq!(decisions(&feed(&mut cold, batch, time.of(place))), decisions(&turn));
        turns.push(turn);
    }
    Ok(turns)
}

/// A history is replayed in pieces of `rows`: nothing is recorded, said or set in motion again.
fn replays_in_silence(
    episode: &Episode,
    code: &Code,
    history: &[Event],
    rows: usize,
) -> Result<(), TestCaseError> {
    let mut again = episode.fresh(code);
    for piece in history.chunks(rows.max(1)) {
        again.replay(piece.to_vec()).unwrap();
    }
    prop_assert_eq!(again.mismatch(), None);
    let silent = feed(&mut again, vec![], Time::Passing.of(99));
    prop_assert_eq!((silent.events, silent.lines), (vec![], vec![]));
    prop_assert_eq!((silent.worker_items, silent.orchestrator_items), (vec![], vec![]));
    prop_assert_eq!(silent.removed_timers.len() + silent.cancelled_activities.len(), 0);
    Ok(())
}

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn messages_older_than_the_start_decide_the_same_together_apart_and_cold(
        program in program(), moves in moves(), numbers in prop::collection::vec(any::<u8>(), 0..6),
    ) {
        let code = interpret(&program);
        for episode in play(&program, &moves, Time::Standing) {
            let beginning = beginning(&episode, &numbers);
            let rest = &episode.script[1..];
            let together = [beginning.clone(), rest.to_vec()].concat();
            let length = u64::try_from(together.len()).unwrap();
            let all = feed(&mut episode.fresh(&code), together, Time::Standing.of(0));

            let one_by_one = rest.iter().map(|item| vec![item.clone()]);
            let batches = std::iter::once(beginning).chain(one_by_one).enumerate().collect();
            let turns = take_both_ways(&episode, &code, batches, Time::Standing)?;
            prop_assert_eq!(&all.events, &history_of(&turns));
            prop_assert_eq!(&all.outcome, &turns.last().unwrap().outcome);
            if !matches!(all.outcome, Outcome::ContinuedAsNew { .. }) {
                let consumed: BTreeSet<u64> = all.consumed.iter().map(|id| id.0).collect();
                prop_assert_eq!(consumed, (0..length).collect::<BTreeSet<_>>());
            }
        }
    }

    #[test]
    fn a_history_that_older_messages_began_replays_in_silence_whole_and_row_by_row(
        program in program(), moves in moves(), numbers in prop::collection::vec(any::<u8>(), 0..6),
    ) {
        let code = interpret(&program);
        for episode in play(&program, &moves, Time::Standing) {
            let together = [beginning(&episode, &numbers), episode.script[1..].to_vec()].concat();
            let history = feed(&mut episode.fresh(&code), together, Time::Standing.of(0)).events;
            replays_in_silence(&episode, &code, &history, history.len())?;
            replays_in_silence(&episode, &code, &history, 1)?;
        }
    }

    #[test]
    fn batches_of_any_size_taken_cold_decide_what_a_resident_execution_decides(
        program in program(), moves in moves(), cuts in any::<u64>(),
    ) {
        let code = interpret(&program);
        for episode in play(&program, &moves, Time::Passing) {
            let mut batches = vec![(0, Vec::new())];
            for (place, item) in episode.script.iter().enumerate() {
                let (last, batch) = batches.last_mut().unwrap();
                *last = place;
                batch.push(item.clone());
                if cuts >> (place % 64) & 1 == 1 && place + 1 < episode.script.len() {
                    batches.push((place, Vec::new()));
                }
            }
            take_both_ways(&episode, &code, batches, Time::Passing)?;
        }
    }
}
