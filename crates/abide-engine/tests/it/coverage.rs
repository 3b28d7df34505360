//! The generated programs do what they are generated for: a property over programs that never continue as
//! new says nothing about continue-as-new.

use std::collections::BTreeMap;

use abide_engine::Outcome;
use abide_engine::model::{AppErrorKind, ErrorDetails};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::program::play::{Episode, Time, play};
use crate::program::program;

/// Counts, over many plays, how often each thing happens.
fn count_in_plays(
    mut see: impl FnMut(&Episode, &mut dyn FnMut(&'static str)),
) -> BTreeMap<&'static str, u32> {
    let mut runner =
        TestRunner::new_with_rng(Config::default(), TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let plays = (program(), proptest::collection::vec(proptest::num::u16::ANY, 0..32));
    let mut seen = BTreeMap::new();
    for _ in 0..3_000 {
        let (program, moves) = plays.new_tree(&mut runner).unwrap().current();
        for episode in play(&program, &moves, Time::Passing) {
            see(&episode, &mut |what| *seen.entry(what).or_default() += 1);
        }
    }
    seen
}

#[track_caller]
fn assert_seen(seen: &BTreeMap<&'static str, u32>, expected: &[&str], times: u32) {
    let is_rare = |what: &&&str| seen.get(**what).copied().unwrap_or(0) < times;
    let rare: Vec<_> = expected.iter().filter(is_rare).collect();
    assert!(rare.is_empty(), "hardly ever reached: {rare:?}, of {seen:?}");
}

#[test]
fn plays_reach_every_kind_of_event_effect_and_end() {
    let seen = count_in_plays(|episode, count| {
        episode.history().iter().for_each(|event| count(event.kind.name()));
        count(ending(episode.outcome()));
        for turn in &episode.turns {
            turn.notices.iter().for_each(|_| count("a notice"));
            turn.removed_timers.iter().for_each(|_| count("a removed timer"));
            turn.cancelled_activities.iter().for_each(|_| count("a cancelled activity"));
            turn.prune.iter().for_each(|_| count("a prune with continue-as-new"));
            turn.lines.iter().for_each(|_| count("a line"));
        }
    });
    assert_seen(&seen, EXPECTED, 20);
}

#[test]
fn plays_reach_the_traces_of_odd_steps() {
    let seen = count_in_plays(|episode, count| {
        let decided: Vec<_> =
            episode.turns.iter().map(|turn| (&turn.events, &turn.outcome, &turn.lines)).collect();
        let text = format!("{decided:?}");
        ODD.iter().filter(|what| text.contains(**what)).for_each(|what| count(what));
    });
    assert_seen(&seen, ODD, 5);
}

/// What only odd steps leave in an episode, as text.
const ODD: &[&str] = &[
    "by-the-way",
    "by the way",
    "caught ",
    "Custom status size",
    "tag size",
    "KV value for key",
    "cannot prune",
    "\"late\"",
    "typed0",
    "\"asks\"",
    "\"guarded\"",
    " panicked\"",
];

const EXPECTED: &[&str] = &[
    "OrchestrationStarted",
    "OrchestrationCompleted",
    "OrchestrationFailed",
    "OrchestrationContinuedAsNew",
    "OrchestrationCancelRequested",
    "OrchestrationChained",
    "ActivityScheduled",
    "ActivityCompleted",
    "ActivityFailed",
    "ActivityCancelRequested",
    "TimerCreated",
    "TimerFired",
    "ExternalSubscribed",
    "ExternalEvent",
    "ExternalSubscribedCancelled",
    "QueueSubscribed",
    "QueueEventDelivered",
    "QueueSubscriptionCancelled",
    "SubOrchestrationScheduled",
    "SubOrchestrationCompleted",
    "SubOrchestrationFailed",
    "SubOrchestrationCancelRequested",
    "CustomStatusUpdated",
    "KeyValueSet",
    "KeyValueCleared",
    "KeyValuesCleared",
    "HistoryPruneRequested",
    "HistoryPruned",
    "running",
    "completed",
    "failed",
    "panicked",
    "cancelled",
    "failed by the system",
    "continued as new",
    "a notice",
    "a removed timer",
    "a cancelled activity",
    "a prune with continue-as-new",
    "a line",
];

fn ending(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Running => "running",
        Outcome::Completed { .. } => "completed",
        Outcome::ContinuedAsNew { .. } => "continued as new",
        Outcome::Failed { details: ErrorDetails::Application { kind, .. } } => match kind {
            AppErrorKind::Panicked => "panicked",
            AppErrorKind::Cancelled { .. } => "cancelled",
            AppErrorKind::ActivityFailed | AppErrorKind::OrchestrationFailed => "failed",
        },
        Outcome::Failed { .. } => "failed by the system",
    }
}
