//! Executions that move between threads while other threads reach into them: a mark is neither lost nor made
//! up, and nothing that came from elsewhere is recorded.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use abide_engine::model::{Event, EventKind, WorkItem};
use abide_engine::{DurableFuture, OrchestrationContext, Outcome, TurnOutput};

use crate::support::drive::{Shelf, elsewhere, feed, fresh, observed};
use crate::support::mail::{done, message, start};
use crate::support::{Code, code};

const STEPS: u64 = 6;
const RUNS: u64 = 100;

/// What an execution gave away.
#[derive(Clone)]
struct Loot {
    contexts: Shelf<OrchestrationContext>,
    activities: Shelf<DurableFuture<Result<String, String>>>,
    dequeues: Shelf<DurableFuture<String>>,
    wakers: Shelf<Waker>,
}

impl Loot {
    fn new() -> Self {
        Self {
            contexts: Shelf::new(),
            activities: Shelf::new(),
            dequeues: Shelf::new(),
            wakers: Shelf::new(),
        }
    }
}

/// Gives everything away that can be given, and goes on: three asks a step, the last of them awaited.
fn giver(loot: &Loot) -> Code {
    let loot = loot.clone();
    code(move |ctx, _| {
        let loot = loot.clone();
        async move {
            loot.contexts.put(ctx.clone());
            for _ in 0..STEPS {
                loot.activities.put(ctx.schedule_activity("given", ""));
                loot.dequeues.put(ctx.dequeue_event("q"));
                poll_fn(|cx| {
                    loot.wakers.put(cx.waker().clone());
                    Poll::Ready(())
                })
                .await;
                ctx.schedule_activity("own", "").await?;
            }
            Ok("done".to_owned())
        }
    })
}

/// The message that ends step `step`: three asks and an answer are recorded for each.
fn answer(step: u64) -> WorkItem {
    done(4 + 4 * step, "r")
}

/// The history of an execution that nobody reached into, up to its last step.
fn calm_history() -> Vec<Event> {
    let loot = Loot::new();
    let mut execution = fresh(&giver(&loot));
    let mut history = feed(&mut execution, vec![start("in")]).events;
    for step in 0..STEPS - 1 {
        history.extend(feed(&mut execution, vec![answer(step)]).events);
    }
    drop(execution);
    history
}

/// Tells the attackers to stop, also when the test fails.
struct Ceasefire<'a>(&'a AtomicBool);

impl Drop for Ceasefire<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Does something while two threads reach in; both are joined before this returns.
fn under_fire<T>(loot: &Loot, run: u64, defend: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _ceasefire = Ceasefire(&over);
        for attacker in 0..2 {
            let over = &over;
            scope.spawn(move || attack(loot, over, run * 2 + attacker));
        }
        defend()
    })
}

/// Reaches in until it is told to stop.
fn attack(loot: &Loot, over: &AtomicBool, seed: u64) {
    let mut dice = seed;
    let mut contexts = Vec::new();
    while !over.load(Ordering::Acquire) {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if contexts.is_empty() {
            contexts = loot.contexts.take_all();
        }
        match (dice >> 33) % 5 {
            0 => loot.wakers.take_all().into_iter().for_each(Waker::wake),
            1 => loot.activities.take_all().into_iter().for_each(poll_from_afar),
            2 => drop(loot.dequeues.take_all()),
            3 => std::thread::yield_now(),
            _ => contexts.iter().for_each(|ctx| ask_from_afar(ctx, dice >> 40)),
        }
    }
}

fn poll_from_afar(future: DurableFuture<Result<String, String>>) {
    let polled = pin!(future).poll(&mut Context::from_waker(Waker::noop()));
    assert!(polled.is_pending(), "a poll from elsewhere gives nothing");
}

fn ask_from_afar(ctx: &OrchestrationContext, what: u64) {
    match what % 3 {
        0 => drop(ctx.schedule_activity("foreign", "")),
        1 => {
            ctx.set_kv_value("foreign", "x");
            ctx.set_custom_status("foreign");
            drop(ctx.continue_as_new("foreign"));
            ctx.set_auto_prune(false);
        }
        _ => {
            drop((ctx.get_kv_all_keys(), ctx.get_custom_status(), ctx.is_replaying()));
            ctx.trace_info("from afar");
        }
    }
}

fn is_foreign(output: &TurnOutput) -> bool {
    format!("{:?}", output.outcome).contains("foreign asynchrony")
}

#[track_caller]
fn assert_nothing_foreign(events: &[Event]) {
    for event in events {
        let text = format!("{:?}", event.kind);
        let is_end = matches!(event.kind, EventKind::OrchestrationFailed { .. });
        assert!(is_end || !text.contains("foreign"), "recorded from elsewhere: {text}");
        assert!(!matches!(event.kind, EventKind::OrchestrationContinuedAsNew { .. }));
    }
}

#[test]
fn turns_on_many_threads_under_fire_fail_as_foreign_or_complete() {
    for run in 0..RUNS {
        let loot = Loot::new();
        let (mut execution, told) = observed(&giver(&loot));
        let turns = under_fire(&loot, run, || {
            let mut turns: Vec<TurnOutput> = Vec::new();
            for item in std::iter::once(start("in")).chain((0..STEPS).map(answer)) {
                turns.push(elsewhere(|| feed(&mut execution, vec![item])));
                if turns.last().is_some_and(|turn| turn.outcome.is_terminal()) {
                    break;
                }
            }
            turns
        });
        for turn in &turns {
            assert_nothing_foreign(&turn.events);
        }
        let last = turns.last().unwrap();
        if is_foreign(last) {
            assert!(!told.take_all().is_empty(), "the listener hears of it");
        } else {
            assert_eq!(last.outcome, Outcome::Completed { output: "done".to_owned() });
        }
        if run % 2 == 0 {
            drop(execution);
            drop(loot);
        } else {
            drop(loot);
            drop(execution);
        }
    }
}

#[test]
fn a_replay_under_fire_fits_and_the_next_turn_fails_if_it_was_hit() {
    let history = calm_history();
    for run in 0..RUNS {
        let loot = Loot::new();
        let (mut execution, told) = observed(&giver(&loot));
        under_fire(&loot, run, || {
            elsewhere(|| {
                let rows_at_once = if run % 2 == 0 { history.len() } else { 1 };
                for rows in history.chunks(rows_at_once) {
                    execution.replay(rows.to_vec()).unwrap();
                }
            });
            assert_eq!(execution.mismatch(), None);
            assert_eq!(execution.outcome(), Outcome::Running);
        });
        let was_hit = !told.take_all().is_empty();
        let output = feed(&mut execution, vec![message("q", "m")]);
        assert_eq!(is_foreign(&output), was_hit, "a mark is neither lost nor made up: {:?}", output.outcome);
        assert_nothing_foreign(&output.events);
    }
}

#[test]
fn an_execution_under_fire_can_end_and_be_dropped() {
    let history = calm_history();
    for run in 0..RUNS {
        let loot = Loot::new();
        let mut execution = fresh(&giver(&loot));
        under_fire(&loot, run, || {
            execution.replay(history.clone()).unwrap();
            if run % 3 == 0 {
                let output = feed(&mut execution, vec![answer(STEPS - 1)]);
                assert!(output.outcome.is_terminal());
                assert_nothing_foreign(&output.events);
            }
            drop(execution);
        });
    }
}
