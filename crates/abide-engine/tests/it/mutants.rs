//! A damaged history is an error, never a panic or a hang.
//!
//! Valid histories of generated programs are damaged in every way a store could damage them (a row lost,
//! repeated, out of place, changed), under strict and lenient pins; then the execution is replayed and fed.

use std::panic::{AssertUnwindSafe, catch_unwind};

use abide_engine::model::{Event, EventKind};
use abide_engine::{Outcome, TurnOutput};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::program::interpret::interpret;
use crate::program::play::{Episode, Time, feed, play};
use crate::program::program;
use crate::support::mail;

const PROGRAMS: usize = 1_000;
const MUTANTS_PER_EPISODE: u64 = 100;

#[test]
fn a_damaged_history_ends_in_an_outcome() {
    let mut runner =
        TestRunner::new_with_rng(Config::default(), TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let plays = (program(), proptest::collection::vec(proptest::num::u16::ANY, 4..40));
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    let (mut mutants, mut refused) = (0_u32, 0_u32);
    for _ in 0..PROGRAMS {
        let (program, moves) = plays.new_tree(&mut runner).unwrap().current();
        let code = interpret(&program);
        for episode in play(&program, &moves, Time::Passing) {
            for _ in 0..MUTANTS_PER_EPISODE {
                let mutant = mutate(&episode, &mut dice);
                let lived = catch_unwind(AssertUnwindSafe(|| live_through(&episode, &code, mutant.clone())));
                let output = lived.unwrap_or_else(|_| panic!("{program:?}\nmutant: {mutant:#?}"));
                mutants += 1;
                refused += u32::from(matches!(output.outcome, Outcome::Failed { .. }));
            }
        }
    }
    assert!(mutants >= 100_000, "only {mutants} mutants");
    assert!(refused > mutants / 4, "most damage goes unnoticed: {refused} of {mutants} were refused");
}

/// Replays a damaged history and delivers some messages on top.
fn live_through(episode: &Episode, code: &crate::support::Code, history: Vec<Event>) -> TurnOutput {
    let mut execution = episode.fresh(code);
    execution.replay(history).unwrap();
    let mut news =
        vec![mail::signal("w0", "s"), mail::message("q0", "m"), mail::done(2, "r"), mail::start("0")];
    if episode.execution_id > 1 {
        news.push(mail::continued("0", &[], None));
    }
    news.push(mail::fired(3, 0));
    let output = feed(&mut execution, news, Time::Passing.of(90));
    let polls = output.stats.program_polls + output.stats.future_polls;
    assert!(polls < 100_000, "it spins: {:?}", output.stats);
    output
}

fn mutate(episode: &Episode, dice: &mut Dice) -> Vec<Event> {
    let mut history = episode.history();
    let damages = 1 + dice.roll(2);
    for _ in 0..damages {
        if history.is_empty() {
            break;
        }
        let place = dice.below(history.len());
        let other = dice.below(history.len());
        match dice.roll(6) {
            0 => {
                history.remove(place);
            }
            1 => history.insert(other, history[place].clone()),
            2 => history.swap(place, other),
            3 => history.truncate(place),
            _ => {
                let donor = history[other].clone();
                edit(&mut history[place], &donor, dice);
            }
        }
    }
    if dice.roll(3) == 0 {
        // Restore the numbering, so that not everything fails for its ids alone.
        for (id, event) in (1..).zip(&mut history) {
            event.event_id = id;
        }
    }
    if dice.roll(4) == 0 {
        for event in &mut history {
            "0.1.32".clone_into(&mut event.duroxide_version);
        }
    }
    history
}

fn edit(event: &mut Event, donor: &Event, dice: &mut Dice) {
    match dice.roll(9) {
        0 => event.event_id = extreme(dice),
        1 => event.source_event_id = Some(extreme(dice)),
        2 => event.source_event_id = None,
        3 => event.timestamp_ms = extreme(dice),
        4 => event.kind = donor.kind.clone(),
        5 => ["0.1.30", "9.9.9", "", "rubbish"][dice.below(4)].clone_into(&mut event.duroxide_version),
        6 => event.execution_id = extreme(dice),
        7 => event.instance_id.push('x'),
        _ => edit_text(&mut event.kind),
    }
}

fn edit_text(kind: &mut EventKind) {
    match kind {
        EventKind::ActivityScheduled { name: text, .. }
        | EventKind::ActivityCompleted { result: text }
        | EventKind::ExternalSubscribed { name: text }
        | EventKind::ExternalEvent { name: text, .. }
        | EventKind::QueueSubscribed { name: text }
        | EventKind::QueueEventDelivered { name: text, .. }
        | EventKind::SubOrchestrationScheduled { instance: text, .. }
        | EventKind::ActivityCancelRequested { reason: text }
        | EventKind::OrchestrationStarted { input: text, .. }
        | EventKind::KeyValueSet { key: text, .. } => text.push('x'),
        EventKind::TimerCreated { fire_at_ms } | EventKind::TimerFired { fire_at_ms } => *fire_at_ms += 1,
        other => *other = EventKind::KeyValuesCleared,
    }
}

/// Numbers that break arithmetic, and some that refer to real events.
fn extreme(dice: &mut Dice) -> u64 {
    match dice.roll(6) {
        0 => 0,
        1 => u64::MAX,
        2 => u64::try_from(i64::MAX).unwrap(),
        3 => u64::try_from(i64::MAX).unwrap() - 1,
        _ => dice.roll(12),
    }
}

/// A small generator of its own: the mutants are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    fn below(&mut self, length: usize) -> usize {
        usize::try_from(self.roll(u64::try_from(length).unwrap())).unwrap()
    }
}
