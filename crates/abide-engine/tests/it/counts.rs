//! Costs that can be counted, pinned: polls and events, never seconds.

use abide_engine::model::{Event, WorkItem};
use abide_engine::{Execution, OrchestrationContext, Outcome, TurnOutput, TurnStats};
use futures::future::join_all;
use futures::stream::{FuturesUnordered, StreamExt};

use crate::support::drive::{cold, feed, fresh, returned};
use crate::support::mail::{done, message, signal, start};
use crate::support::{Code, code};

const MANY: u64 = 10_000;
/// What the beginning and the end may cost beside the work itself.
const SLACK: u64 = 8;

/// The costs of several turns.
fn total<'a>(outputs: impl IntoIterator<Item = &'a TurnOutput>) -> TurnStats {
    outputs.into_iter().fold(TurnStats::default(), |sum, TurnOutput { stats, .. }| TurnStats {
        events_replayed: sum.events_replayed + stats.events_replayed,
        program_polls: sum.program_polls + stats.program_polls,
        future_polls: sum.future_polls + stats.future_polls,
    })
}

/// Runs code that asks for `MANY` activities at once: every completion in a turn of its own, then all in one.
#[track_caller]
fn costs_of_a_join(code: &Code) {
    let completions = || (0..MANY).map(|i| done(i + 2, "x"));

    let mut execution = fresh(code);
    let mut outputs = vec![feed(&mut execution, vec![start("in")])];
    outputs.extend(completions().map(|item| feed(&mut execution, vec![item])));
    assert_linear("a completion a turn", &outputs);

    let mut execution = fresh(code);
    let mut outputs = vec![feed(&mut execution, vec![start("in")])];
    outputs.push(feed(&mut execution, completions().collect()));
    assert_linear("all completions in one batch", &outputs);

    let history: Vec<Event> = outputs.into_iter().flat_map(|output| output.events).collect();
    let mut execution = cold(code, history);
    assert_linear("cold", &[feed(&mut execution, vec![])]);
}

#[track_caller]
fn assert_linear(how: &str, outputs: &[TurnOutput]) {
    let TurnStats { program_polls, future_polls, .. } = total(outputs);
    assert_eq!(outputs.last().map(returned).as_deref(), Some("10000"), "{how}");
    assert!(future_polls <= 2 * MANY + SLACK, "{how}: {future_polls} polls of futures");
    assert!(program_polls <= MANY + SLACK, "{how}: {program_polls} polls of the code");
}

fn calls(ctx: &OrchestrationContext) -> Vec<abide_engine::DurableFuture<Result<String, String>>> {
    (0..MANY).map(|_| ctx.schedule_activity("a", "")).collect()
}

#[test]
fn a_join_costs_two_polls_a_future() {
    costs_of_a_join(&code(|ctx, _| async move { Ok(ctx.join(calls(&ctx)).await.len().to_string()) }));
}

#[test]
fn join_all_costs_two_polls_a_future() {
    costs_of_a_join(&code(|ctx, _| async move { Ok(join_all(calls(&ctx)).await.len().to_string()) }));
}

#[test]
fn futures_unordered_costs_two_polls_a_future() {
    costs_of_a_join(&code(|ctx, _| async move {
        let all: FuturesUnordered<_> = calls(&ctx).into_iter().collect();
        Ok(all.count().await.to_string())
    }));
}

#[test]
fn a_select_of_a_thousand_polls_each_twice() {
    let code = code(|ctx, _| async move {
        let calls = (0..1_000).map(|_| ctx.schedule_activity("a", "")).collect();
        Ok(ctx.select_all(calls).await.0.to_string())
    });
    let mut execution = fresh(&code);
    let outputs = [feed(&mut execution, vec![start("in")]), feed(&mut execution, vec![done(1_001, "r")])];
    assert_eq!(returned(&outputs[1]), "999");
    let TurnStats { program_polls, future_polls, .. } = total(&outputs);
    assert_eq!((program_polls, future_polls), (2, 2_000));
}

/// Runs one activity after the other until it is told how many there were.
fn sequence() -> Code {
    code(|ctx, input| async move {
        let steps: u64 = input.parse().map_err(|error| format!("{error}"))?;
        for _ in 0..steps {
            ctx.schedule_activity("a", "").await?;
        }
        Ok(ctx.schedule_wait("end").await)
    })
}

/// A resident execution behind `steps` activities.
fn after(steps: u64) -> (Execution, Vec<Event>) {
    let mut execution = fresh(&sequence());
    let mut history = feed(&mut execution, vec![start(&steps.to_string())]).events;
    let completions: Vec<WorkItem> = (0..steps).map(|i| done(2 * i + 2, "x")).collect();
    for batch in completions.chunks(10_000) {
        history.extend(feed(&mut execution, batch.to_vec()).events);
    }
    (execution, history)
}

#[test]
fn a_turn_of_a_resident_costs_the_same_however_long_its_history() {
    let costs = [10, 50_000].map(|steps| {
        let (mut execution, history) = after(steps);
        assert_eq!(history.len(), usize::try_from(2 * steps + 2).expect("it fits"));
        let idle = feed(&mut execution, vec![signal("other", "")]).stats;
        let last = feed(&mut execution, vec![signal("end", "out")]);
        assert_eq!(returned(&last), "out");
        (idle, last.stats)
    });
    assert_eq!(costs[0], costs[1]);
    assert_eq!(costs[1].0, TurnStats { events_replayed: 0, program_polls: 0, future_polls: 0 });
    assert_eq!(costs[1].1, TurnStats { events_replayed: 0, program_polls: 1, future_polls: 1 });
}

#[test]
fn a_cold_replay_reads_each_event_once() {
    let (_, history) = after(50_000);
    let events = u64::try_from(history.len()).expect("it fits");
    let output = feed(&mut cold(&sequence(), history), vec![signal("end", "out")]);
    assert_eq!(returned(&output), "out");
    let TurnStats { events_replayed, program_polls, future_polls } = output.stats;
    assert_eq!(events_replayed, events);
    assert!(program_polls <= 50_000 + SLACK, "{program_polls}");
    assert!(future_polls <= 2 * 50_000 + SLACK, "{future_polls}");
}

#[test]
fn a_history_in_pieces_is_read_once_too() {
    let (_, history) = after(1_000);
    let mut execution = fresh(&sequence());
    let events = u64::try_from(history.len()).expect("it fits");
    for event in history {
        execution.replay(vec![event]).unwrap();
    }
    let output = feed(&mut execution, vec![signal("end", "out")]);
    assert_eq!((returned(&output), output.stats.events_replayed), ("out".to_owned(), events));
}

/// Reads `MANY` messages, one after the other.
fn reader() -> Code {
    code(|ctx, _| async move {
        ctx.schedule_wait("go").await;
        for _ in 0..MANY {
            ctx.dequeue_event("q").await;
        }
        Ok(MANY.to_string())
    })
}

#[test]
fn reading_a_queue_is_linear() {
    let messages = || (0..MANY).map(|_| message("q", "m"));

    let mut waiting = fresh(&reader());
    let mut outputs = vec![feed(&mut waiting, vec![start("in"), signal("go", "")])];
    outputs.push(feed(&mut waiting, messages().collect()));
    assert_linear("waiting for each message", &outputs);

    let mut filled = fresh(&reader());
    let mut outputs = vec![feed(&mut filled, std::iter::once(start("in")).chain(messages()).collect())];
    outputs.push(feed(&mut filled, vec![signal("go", "")]));
    assert_linear("with all messages there", &outputs);
}

#[test]
fn a_hundred_thousand_messages_for_nobody_cost_no_poll() {
    let code = code(|ctx, _| async move { Ok(ctx.schedule_wait("end").await) });
    let mut execution = fresh(&code);
    feed(&mut execution, vec![start("in")]);
    let batch = (0..100_000).map(|i| message(["a", "b", "c"][i % 3], "m")).collect();
    let output = feed(&mut execution, batch);
    assert_eq!((output.events.len(), output.consumed.len()), (100_000, 100_000));
    assert_eq!(output.stats, TurnStats::default());
}

/// Reads a queue with a deadline, again and again.
fn patient_reader() -> Code {
    code(|ctx, _| async move {
        loop {
            if let Ok(message) = ctx.timeout(std::time::Duration::from_secs(1), ctx.dequeue_event("q")).await
            {
                return Ok(message);
            }
        }
    })
}

#[test]
fn a_resident_that_timed_out_on_five_thousand_dequeues_costs_and_decides_the_same() {
    let mut execution = fresh(&patient_reader());
    let mut output = feed(&mut execution, vec![start("in")]);
    let mut history = output.events.clone();
    let mut costs = Vec::new();
    for _ in 0..5_000 {
        let timer = output.orchestrator_items.pop().expect("it set a timer");
        output = feed(&mut execution, vec![timer]);
        history.extend(output.events.clone());
        assert_eq!(output.events.len(), 4, "fired, dequeue, timer, and the dropped dequeue");
        costs.push(output.stats);
    }
    assert!(costs.iter().all(|cost| *cost == costs[0]), "every turn costs the same: {:?}", costs[0]);
    assert_eq!((costs[0].events_replayed, costs[0].program_polls), (0, 1));

    let last = feed(&mut execution, vec![message("q", "at last")]);
    assert_eq!((returned(&last).as_str(), last.stats.program_polls), ("at last", 1));
    let again = feed(&mut cold(&patient_reader(), history), vec![message("q", "at last")]);
    assert_eq!(again.events, last.events, "a cold one decides the same");
}

#[test]
fn tags_that_come_after_all_activities_were_asked_cost_no_poll() {
    costs_of_a_join(&code(|ctx, _| async move {
        let tagged = calls(&ctx).into_iter().map(|call| call.with_tag("gpu")).collect();
        Ok(ctx.join(tagged).await.len().to_string())
    }));
}

#[test]
fn a_mismatch_with_many_open_requests_and_messages_polls_the_code_once() {
    let was = code(|ctx, _| async move { Ok(ctx.join(calls(&ctx)).await.len().to_string()) });
    let mut execution = fresh(&was);
    let mut history = feed(&mut execution, vec![start("in")]).events;
    history.extend(feed(&mut execution, (0..MANY).map(|_| message("q", "m")).collect()).events);

    let is = code(|ctx, _| async move { ctx.schedule_activity("b", "").await });
    let output = feed(&mut cold(&is, history), vec![]);
    assert!(matches!(output.outcome, Outcome::Failed { .. }));
    assert_eq!((output.stats.program_polls, output.stats.future_polls), (1, 1));
    assert_eq!(u64::try_from(output.cancelled_activities.len()), Ok(MANY), "all are taken back");
}
