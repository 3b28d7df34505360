//! The generated programs do what they are generated for: a property over programs that never continue as
//! new says nothing about continue-as-new.

use std::collections::BTreeMap;

use abide_engine::Outcome;
use abide_engine::model::{AppErrorKind, ErrorDetails};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::program::play::{Time, play};
use crate::program::program;

#[test]
fn plays_reach_every_kind_of_event_effect_and_end() {
    let mut runner =
        TestRunner::new_with_rng(Config::default(), TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let plays = (program(), proptest::collection::vec(proptest::num::u16::ANY, 0..32));
    let mut seen: BTreeMap<&'static str, u32> = BTreeMap::new();
    for _ in 0..3_000 {
        let (program, moves) = plays.new_tree(&mut runner).unwrap().current();
        for episode in play(&program, &moves, Time::Passing) {
            let mut count = |what| *seen.entry(what).or_default() += 1;
            episode.history().iter().for_each(|event| count(event.kind.name()));
            count(ending(episode.outcome()));
            for turn in &episode.turns {
                turn.notices.iter().for_each(|_| count("a notice"));
                turn.removed_timers.iter().for_each(|_| count("a removed timer"));
                turn.cancelled_activities.iter().for_each(|_| count("a cancelled activity"));
                turn.prune.iter().for_each(|_| count("a prune with continue-as-new"));
                turn.lines.iter().for_each(|_| count("a line"));
            }
        }
    }
    let rare: Vec<_> = EXPECTED.iter().filter(|what| seen.get(**what).copied().unwrap_or(0) < 20).collect();
    assert!(rare.is_empty(), "hardly ever reached: {rare:?}, of {seen:?}");
}

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
