//! An execution that is kept: fed what others committed, evicted in the middle, moved between threads.
//!
//! Whatever was done to it before, it decides what a cold one would.

use std::sync::Arc;
use std::time::Duration;

use abide_engine::model::{Event, PruneOptions, PruneResult, Timestamp};
use abide_engine::{DurableFuture, Execution, HostCall, OrchestrationContext, Outcome, Step, TurnError};
use expect_test::expect;
use futures::FutureExt;
use futures::stream::{FuturesUnordered, StreamExt};

use crate::support::drive::{
    Shelf, cold, elsewhere, end, feed, feed_at, fresh, mail, recorded, returned, text,
};
use crate::support::mail::{cancel, done, fired, message, signal, start, start_by};
use crate::support::{Code, Turn, code, decisions};

const fn assert_send<T: Send>() {}
const _: () = assert_send::<Execution>();
const _: () = assert_send::<DurableFuture<String>>();
const _: () = assert_send::<OrchestrationContext>();

/// Something of everything: activities, a race, a queue, a signal, state and log lines.
fn busy() -> Code {
    code(|ctx, input| async move {
        ctx.trace_info(format!("begins with {input}"));
        ctx.set_kv_value("step", "1");
        let a = ctx.schedule_activity("a", input).await?;
        ctx.set_kv_value("step", "2");
        ctx.set_custom_status("racing");
        let slow = ctx.schedule_activity("slow", "");
        ctx.select2(slow, ctx.schedule_timer(Duration::from_secs(1))).await;
        ctx.trace_info("raced");
        let old = ctx.prune_kv_values_updated_before(2_500);
        let both = (ctx.dequeue_event("q"), ctx.schedule_wait("s"));
        let (queued, signalled) = ctx.join2(both.0, both.1).await;
        ctx.set_kv_value("step", "3");
        ctx.schedule_activity("last", format!("{a}{queued}{signalled}{old}")).await
    })
}

fn script() -> Vec<Turn> {
    vec![
        vec![start("in")],
        vec![message("q", "early"), done(3, "A")],
        vec![fired(9, 3_000)],
        vec![signal("s", "S")],
        vec![done(17, "out")],
    ]
}

#[test]
fn the_script_is_what_it_seems() {
    expect![[r#"
        1 OrchestrationStarted { input: "in" }
        2 KeyValueSet { key: "step", value: "1", last_updated_at_ms: 1000 }
        3 ActivityScheduled { name: "a", input: "in" }
        4 QueueEventDelivered { name: "q", data: "early" }
        5 ActivityCompleted[3] { result: "A" }
        6 KeyValueSet { key: "step", value: "2", last_updated_at_ms: 2000 }
        7 CustomStatusUpdated { status: Some("racing") }
        8 ActivityScheduled { name: "slow", input: "" }
        9 TimerCreated { fire_at_ms: 3000 }
        10 TimerFired[9] { fire_at_ms: 3000 }
        11 KeyValueCleared { key: "step" }
        12 QueueSubscribed { name: "q" }
        13 ExternalSubscribed { name: "s" }
        14 ActivityCancelRequested[8] { reason: "dropped_future" }
        15 ExternalEvent { name: "s", data: "S" }
        16 KeyValueSet { key: "step", value: "3", last_updated_at_ms: 4000 }
        17 ActivityScheduled { name: "last", input: "AearlyS1" }
        18 ActivityCompleted[17] { result: "out" }
        19 OrchestrationCompleted { output: "out" }
    "#]]
    .assert_eq(&print_kinds(&recorded(&busy(), &script())));
}

fn print_kinds(history: &[Event]) -> String {
    history.iter().map(|event| crate::support::print::line(event) + "\n").collect()
}

/// The events of each turn.
fn by_turn() -> Vec<Vec<Event>> {
    crate::support::run(&busy(), &script()).into_iter().map(|output| output.events).collect()
}

/// Takes the turns from `first` on, and compares with an execution that took them all.
#[track_caller]
fn goes_on(mut execution: Execution, first: usize, how: &str) {
    let expected = crate::support::run(&busy(), &script());
    for (number, turn) in script().into_iter().enumerate().skip(first) {
        let output = feed_at(&mut execution, time(number), turn);
        assert_eq!(decisions(&output), decisions(&expected[number]), "{how}, turn {number}");
    }
}

#[test]
fn what_others_committed_is_replayed_into_a_resident_in_one_piece() {
    for kept in 0..5 {
        for end in kept..5 {
            let mut execution = fresh(&busy());
            for (number, turn) in script().into_iter().enumerate().take(kept) {
                feed_at(&mut execution, time(number), turn);
            }
            execution.replay(by_turn()[kept..end].concat()).unwrap();
            goes_on(execution, end, &format!("{kept} own turns, then a tail up to {end}"));
        }
    }
}

#[test]
fn what_others_committed_is_replayed_into_a_resident_turn_by_turn_and_event_by_event() {
    for kept in 0..5 {
        for end in kept..5 {
            let (mut turns, mut events) = (fresh(&busy()), fresh(&busy()));
            for (number, turn) in script().into_iter().enumerate().take(kept) {
                feed_at(&mut turns, time(number), turn.clone());
                feed_at(&mut events, time(number), turn);
            }
            for turn in &by_turn()[kept..end] {
                turns.replay(turn.clone()).unwrap();
                for event in turn {
                    events.replay(vec![event.clone()]).unwrap();
                }
            }
            goes_on(turns, end, &format!("{kept} own turns, then turn by turn up to {end}"));
            goes_on(events, end, &format!("{kept} own turns, then event by event up to {end}"));
        }
    }
}

#[test]
fn an_empty_tail_changes_nothing() {
    let mut execution = fresh(&busy());
    execution.replay(vec![]).unwrap();
    feed_at(&mut execution, 1_000, vec![start("in")]);
    execution.replay(vec![]).unwrap();
    goes_on(execution, 1, "after empty tails");
}

#[test]
fn a_tail_that_ends_the_execution_ends_it() {
    let mut execution = fresh(&busy());
    feed_at(&mut execution, 1_000, vec![start("in")]);
    execution.replay(by_turn()[1..].concat()).unwrap();
    assert_eq!(execution.outcome(), Outcome::Completed { output: "out".to_owned() });
    assert_eq!(execution.mismatch(), None);
    expect![[r#"
        T1
          notice: ActivityCompleted dropped: the execution has ended
          notice: ExternalRaised dropped: the execution has ended
          => Completed "out"
    "#]]
    .assert_eq(&text(&feed(&mut execution, vec![done(17, "again"), signal("s", "")])));
}

#[test]
fn a_tail_that_does_not_fit_is_told_of_once_however_it_is_fed() {
    let other = code(|ctx, _| async move {
        ctx.schedule_activity("a", "in").await?;
        ctx.schedule_activity("b", "").await?;
        ctx.schedule_activity("c", "").await
    });
    let tail = recorded(&other, &[vec![start("in")], vec![done(2, "r")], vec![done(4, "r")]]);
    let mine = code(|ctx, _| async move {
        ctx.schedule_activity("a", "in").await?;
        ctx.schedule_activity("mine", "").await
    });
    let mut whole = cold(&mine, tail.clone());
    let mut pieces = fresh(&mine);
    for event in tail {
        pieces.replay(vec![event]).unwrap();
    }
    assert_eq!(end(&feed(&mut pieces, vec![])), end(&feed(&mut whole, vec![])));
}

#[test]
fn an_ended_execution_uses_up_what_it_is_fed() {
    let code = code(|_, _| async move { Ok("out".to_owned()) });
    let mut execution = fresh(&code);
    feed(&mut execution, vec![start("in")]);
    let output = feed(
        &mut execution,
        vec![start("in"), start_by(("p", 7, 1), "in"), done(2, "r"), message("q", "m"), signal("s", "")],
    );
    expect![[r#"
        T1
          -> ChildFailed to p/1#7 sub-orchestration instance id 'i' already exists and is terminal
          notice: StartOrchestration ignored: the instance exists already
          notice: the instance exists already: its would-be parent 'p' is told
          notice: ActivityCompleted dropped: the execution has ended
          notice: ExternalRaisedPersistent dropped: the execution has ended
          notice: ExternalRaised dropped: the execution has ended
          => Completed "out"
    "#]]
    .assert_eq(&text(&output));
    assert_eq!(output.consumed.len(), 5);
}

#[test]
fn an_execution_that_continued_as_new_leaves_its_mail_alone() {
    let code = code(|ctx, _| async move { ctx.continue_as_new("again").await });
    let mut execution = fresh(&code);
    let first = feed(&mut execution, vec![start("in"), message("q", "m")]);
    assert_eq!(first.consumed.len(), 1, "the message is the successor's");
    let second = feed(&mut execution, vec![message("q", "m"), signal("s", "")]);
    assert_eq!((second.events, second.consumed, second.notices), (vec![], vec![], vec![]));
}

#[test]
fn without_a_start_nothing_is_consumed_and_the_execution_is_as_it_was() {
    let mut execution = fresh(&busy());
    let early = mail(vec![message("q", "early"), signal("s", "lost")]);
    let refused = execution.turn(early.clone(), Timestamp::from_millis(5)).expect_err("it has no start");
    expect!["execution 1 of instance 'i' cannot start: it has no history, and none of its 2 queued messages starts it; leave them queued until the start arrives"].assert_eq(&refused.to_string());
    assert_eq!(execution.outcome(), Outcome::Running);
    assert_eq!(
        execution.turn(vec![], Timestamp::from_millis(5)).expect_err("still none").to_string(),
        refused.to_string().replace("2 queued", "0 queued")
    );
    goes_on(execution, 0, "after a refused turn");
}

/// Prunes, then waits for a signal.
fn pruner() -> Code {
    code(|ctx, _| async move {
        let options = PruneOptions { keep_last: Some(1), completed_before: None };
        let pruned = ctx.prune_history(options).await.map(|result| result.events_deleted.to_string());
        ctx.schedule_wait("go").await;
        pruned
    })
}

#[test]
fn a_turn_that_waits_for_its_host_refuses_another() {
    let mut execution = fresh(&pruner());
    let step = execution.turn(mail(vec![start("in"), signal("go", "")]), Timestamp::from_millis(5));
    let options = PruneOptions { keep_last: Some(1), completed_before: None };
    assert_eq!(step, Ok(Step::HostCall(HostCall::Prune { options })));
    let refused = execution.turn(mail(vec![signal("go", "")]), Timestamp::from_millis(6));
    assert_eq!(refused, Err(TurnError::HostCallPending));

    let answer = PruneResult { instances_processed: 1, executions_deleted: 2, events_deleted: 20 };
    let Ok(Step::Done(output)) = execution.resume(Ok(answer)) else { panic!("the turn goes on") };
    assert_eq!(returned(&output), "20");
    assert_eq!(execution.resume(Err("too late".to_owned())), Err(TurnError::NoHostCall));
}

#[test]
fn an_answer_that_nobody_waits_for_is_refused() {
    let mut execution = fresh(&pruner());
    assert_eq!(execution.resume(Err("never asked".to_owned())), Err(TurnError::NoHostCall));
    execution.replay(recorded(&pruner(), &[vec![start("in")]])).unwrap();
    assert_eq!(execution.resume(Err("answered".to_owned())), Err(TurnError::NoHostCall));
    assert_eq!(returned(&feed(&mut execution, vec![signal("go", "")])), "20");
}

#[test]
fn an_eviction_in_the_middle_of_a_host_call_loses_nothing() {
    let inbox = vec![start("in"), signal("go", "")];
    let mut evicted = fresh(&pruner());
    let step = evicted.turn(mail(inbox.clone()), Timestamp::from_millis(5));
    assert!(matches!(step, Ok(Step::HostCall(_))));
    drop(evicted);

    // Nothing was committed: the same messages come again.
    let mut execution = fresh(&pruner());
    let step = execution.turn(mail(inbox), Timestamp::from_millis(7));
    assert!(matches!(step, Ok(Step::HostCall(_))));
    let Ok(Step::Done(output)) = execution.resume(Err("no".to_owned())) else { panic!("the turn goes on") };
    expect![[r#"
        T1
          1 OrchestrationStarted { input: "in" }
          2 HistoryPruneRequested { keep_last: Some(1), completed_before: None }
          3 HistoryPruned[2] { executions_deleted: 0, events_deleted: 0, error: Some("no") }
          4 ExternalSubscribed { name: "go" }
          5 ExternalEvent { name: "go", data: "" }
          6 OrchestrationFailed { details: Application { kind: OrchestrationFailed, message: "no", retryable: false } }
          => Failed application | no
    "#]].assert_eq(&text(&output));
}

#[test]
fn two_executions_take_turns_on_one_thread() {
    let (mut one, mut two) = (fresh(&busy()), fresh(&busy()));
    let expected = crate::support::run(&busy(), &script());
    for (number, turn) in script().into_iter().enumerate() {
        for execution in [&mut one, &mut two] {
            let output = feed_at(execution, time(number), turn.clone());
            assert_eq!(decisions(&output), decisions(&expected[number]));
        }
    }
}

#[test]
fn an_execution_inside_another_ones_poll() {
    let outer = code(|ctx, _| async move {
        let inner = crate::support::run(&busy(), &script());
        let first = ctx.schedule_activity("a", returned(&inner[4])).await?;
        Ok(first)
    });
    let mut execution = fresh(&outer);
    feed(&mut execution, vec![start("in")]);
    assert_eq!(returned(&feed(&mut execution, vec![done(2, "outer")])), "outer");
}

#[test]
fn an_execution_may_move_between_threads() {
    let expected = crate::support::run(&busy(), &script());
    let mut execution = fresh(&busy());
    for (number, turn) in script().into_iter().enumerate() {
        let (moved, output) = elsewhere(move || {
            let output = feed_at(&mut execution, time(number), turn);
            (execution, output)
        });
        execution = moved;
        assert_eq!(decisions(&output), decisions(&expected[number]), "turn {number}");
    }
}

#[test]
fn identity_and_key_value_state_come_from_outside() {
    let code =
        code(|ctx, _| async move { Ok(format!("{} {:?}", ctx.execution_id(), ctx.get_kv_value("k"))) });
    let mut execution = fresh(&code);
    assert_eq!(returned(&feed(&mut execution, vec![start("in")])), "1 None");
}

/// User data that the test counts.
type Witness = Arc<()>;

/// Code that clones a witness into all kinds of places and then waits.
fn holds(witness: &Witness) -> Code {
    let witness = Arc::clone(witness);
    code(move |ctx, _| {
        let witness = Arc::clone(&witness);
        async move {
            let call = |name: &str| {
                let held = Arc::clone(&witness);
                let future = ctx.schedule_activity(name, "");
                async move {
                    let result = future.await;
                    drop(held);
                    result
                }
            };
            let mut unordered: FuturesUnordered<_> = ["a", "b", "c"].map(&call).into_iter().collect();
            let joined = futures::future::join_all(["d", "e"].map(&call));
            let many = futures::future::join_all((0..40).map(|_| call("m")));
            let shared = call("s").shared();
            let mapped = {
                let held = Arc::clone(&witness);
                ctx.schedule_activity("mapped", "").map(move |result| (held, result).1)
            };
            let ctx2 = ctx.clone();
            let listed = ctx2.join(vec![call("l").boxed()]);
            let all = futures::join!(unordered.next(), joined, many, shared.clone(), shared, mapped, listed);
            drop(all);
            Ok(String::new())
        }
    })
}

#[test]
fn an_evicted_execution_holds_nothing_of_the_users() {
    let witness = Witness::default();
    let code = holds(&witness);
    let mut execution = fresh(&code);
    feed(&mut execution, vec![start("in")]);
    assert!(Arc::strong_count(&witness) > 40);
    drop(execution);
    assert_eq!(Arc::strong_count(&witness), 2, "the test's and the handler's");
    drop(code);
    assert_eq!(Arc::strong_count(&witness), 1);
}

#[test]
fn an_ended_execution_holds_nothing_of_the_users() {
    let witness = Witness::default();
    let code = holds(&witness);
    let mut execution = fresh(&code);
    feed(&mut execution, vec![start("in"), done(2, "r"), done(5, "r")]);
    feed(&mut execution, vec![cancel("stop")]);
    assert_eq!(Arc::strong_count(&witness), 2, "the test's and the handler's");
}

#[test]
fn a_context_that_is_kept_keeps_nothing_else() {
    let (witness, contexts) = (Witness::default(), Shelf::new());
    let code = {
        let (witness, contexts) = (Arc::clone(&witness), contexts.clone());
        code(move |ctx, _| {
            contexts.put(ctx.clone());
            let held = Arc::clone(&witness);
            async move {
                let calls: FuturesUnordered<_> = ["a", "b"]
                    .map(|name| {
                        let held = Arc::clone(&held);
                        ctx.schedule_activity(name, "").map(move |result| (held, result).1)
                    })
                    .into_iter()
                    .collect();
                drop(calls.collect::<Vec<_>>().await);
                Ok(String::new())
            }
        })
    };
    let mut execution = fresh(&code);
    feed(&mut execution, vec![start("in")]);
    drop(execution);
    let ctx = contexts.take();
    assert_eq!(Arc::strong_count(&witness), 2);
    drop(ctx);
}

// A cancel may stand before the first poll: fed row by row, the code was polled before the cancel was seen.
#[test]
fn a_cancel_older_than_the_start_replays_in_pieces() {
    let waits = code(|ctx, _| async move { Ok(ctx.schedule_wait("s").await) });
    let history = recorded(&waits, &[vec![cancel("why"), start("in")]]);
    let mut execution = fresh(&waits);
    for event in history {
        execution.replay(vec![event]).unwrap();
    }
    assert_eq!(execution.mismatch(), None);
    let silent = feed(&mut execution, vec![]);
    assert_eq!((silent.events.len(), end(&silent).as_str()), (0, "Failed application | canceled: why"));
}

fn time(number: usize) -> u64 {
    crate::support::time_of(number).as_millis()
}
