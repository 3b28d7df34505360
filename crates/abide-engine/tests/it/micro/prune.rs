//! `prune_history`: asked in code, done by the host, recorded, and not done again.

use abide_engine::Step;
use abide_engine::model::{PruneOptions, PruneResult, WorkItem};
use expect_test::expect;

use crate::support::drive::{cold, feed, fresh, mail, returned, through};
use crate::support::mail::{cancel, done, message, start};
use crate::support::{Code, check, code, history_of, run, time_of};

fn keep(keep_last: u32) -> PruneOptions {
    PruneOptions { keep_last: Some(keep_last), completed_before: None }
}

#[test]
fn a_prune_is_recorded_with_its_result_in_the_turn_that_asks() {
    check(
        code(|ctx, _| async move {
            let pruned = ctx.prune_history(keep(1)).await?;
            ctx.schedule_activity("a", format!("{pruned:?}")).await
        }),
        vec![vec![start("in")], vec![done(4, "r")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 HistoryPruneRequested { keep_last: Some(1), completed_before: None }
              3 HistoryPruned[2] { executions_deleted: 2, events_deleted: 20, error: None }
              4 ActivityScheduled { name: "a", input: "PruneResult { instances_processed: 1, executions_deleted: 2, events_deleted: 20 }" }
              -> worker ActivityExecute 4 a(PruneResult { instances_processed: 1, executions_deleted: 2, events_deleted: 20 })
              => Running
            T2
              5 ActivityCompleted[4] { result: "r" }
              6 OrchestrationCompleted { output: "r" }
              => Completed "r"
        "#]],
    );
}

#[test]
fn a_prune_that_fails_is_an_error_for_the_code_and_not_its_end() {
    check(
        code(|ctx, _| async move {
            let by_time = PruneOptions { keep_last: None, completed_before: Some(500) };
            let error = ctx.prune_history(by_time).await.unwrap_err();
            Ok(format!("caught: {error}"))
        }),
        vec![vec![start("in")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 HistoryPruneRequested { keep_last: None, completed_before: Some(500) }
              3 HistoryPruned[2] { executions_deleted: 0, events_deleted: 0, error: Some("this host cannot prune by time") }
              4 OrchestrationCompleted { output: "caught: this host cannot prune by time" }
              => Completed "caught: this host cannot prune by time"
        "#]],
    );
}

#[test]
fn two_prunes_of_one_poll_are_done_one_after_the_other() {
    check(
        code(|ctx, _| async move {
            let (one, two) = ctx.join2(ctx.prune_history(keep(2)), ctx.prune_history(keep(0))).await;
            Ok(format!("{} {}", one?.executions_deleted, two?.executions_deleted))
        }),
        vec![vec![start("in"), message("q", "waits until the prunes are done")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 HistoryPruneRequested { keep_last: Some(2), completed_before: None }
              3 HistoryPruneRequested { keep_last: Some(0), completed_before: None }
              4 HistoryPruned[2] { executions_deleted: 1, events_deleted: 10, error: None }
              5 HistoryPruned[3] { executions_deleted: 3, events_deleted: 30, error: None }
              6 OrchestrationCompleted { output: "1 3" }
              notice: ExternalRaisedPersistent dropped: the execution has ended
              => Completed "1 3"
        "#]],
    );
}

/// How often the host is asked to prune while `code` runs `turns`.
fn host_calls(code: &Code, turns: &[Vec<WorkItem>]) -> Vec<PruneOptions> {
    let mut execution = fresh(code);
    let mut calls = Vec::new();
    for (number, turn) in turns.iter().enumerate() {
        through(&mut execution, turn.clone(), time_of(number), |options| {
            calls.push(options.clone());
            Ok(PruneResult::default())
        });
    }
    calls
}

#[test]
fn a_dropped_prune_is_not_done() {
    let drops = code(|ctx, _| async move {
        drop(ctx.prune_history(keep(1)));
        let (_kept, dropped) = (ctx.prune_history(keep(2)).await, ctx.prune_history(keep(3)));
        drop(dropped);
        ctx.schedule_activity("a", "").await
    });
    let turns = [vec![start("in")], vec![done(7, "")]];
    assert_eq!(host_calls(&drops, &turns), [keep(2)]);
    check(
        drops,
        vec![vec![start("in")]],
        expect![[r#"
        T1
          1 OrchestrationStarted { input: "in" }
          2 HistoryPruneRequested { keep_last: Some(1), completed_before: None }
          3 HistoryPruneRequested { keep_last: Some(2), completed_before: None }
          4 HistoryPruned[3] { executions_deleted: 1, events_deleted: 10, error: None }
          5 HistoryPruneRequested { keep_last: Some(3), completed_before: None }
          6 ActivityScheduled { name: "a", input: "" }
          -> worker ActivityExecute 6 a()
          => Running
    "#]],
    );
}

#[test]
fn a_prune_that_is_pending_when_the_code_returns_is_not_done() {
    let returns = code(|ctx, _| async move {
        let _pending = ctx.prune_history(keep(1));
        Ok("done".to_owned())
    });
    assert_eq!(host_calls(&returns, &[vec![start("in")]]), []);
    check(
        returns,
        vec![vec![start("in")]],
        expect![[r#"
        T1
          1 OrchestrationStarted { input: "in" }
          2 HistoryPruneRequested { keep_last: Some(1), completed_before: None }
          3 OrchestrationCompleted { output: "done" }
          => Completed "done"
    "#]],
    );
}

#[test]
fn replay_does_not_prune_again() {
    let prunes = code(|ctx, _| async move {
        let pruned = ctx.prune_history(keep(1)).await?;
        ctx.schedule_activity("a", pruned.events_deleted.to_string()).await
    });
    let history = history_of(&run(&prunes, &[vec![start("in")]]));
    assert_eq!(returned(&feed(&mut cold(&prunes, history), vec![done(4, "r")])), "r");
}

#[test]
fn a_turn_that_waits_for_its_host_takes_no_other() {
    let prunes = code(|ctx, _| async move { ctx.prune_history(keep(1)).await.map(|_| String::new()) });
    let mut execution = fresh(&prunes);
    assert!(matches!(execution.turn(mail(vec![start("in")]), time_of(0)), Ok(Step::HostCall(_))));
    assert_eq!(
        execution.turn(Vec::new(), time_of(0)).unwrap_err().to_string(),
        "a turn is waiting for its host call: answer it with `resume` first"
    );
    assert!(matches!(execution.resume(Ok(PruneResult::default())), Ok(Step::Done(_))));
}

#[test]
fn a_prune_comes_before_the_messages_that_wait() {
    check(
        code(|ctx, _| async move {
            ctx.prune_history(keep(1)).await?;
            Ok(ctx.schedule_wait("never").await)
        }),
        vec![vec![start("in"), cancel("why")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 HistoryPruneRequested { keep_last: Some(1), completed_before: None }
              3 HistoryPruned[2] { executions_deleted: 2, events_deleted: 20, error: None }
              4 ExternalSubscribed { name: "never" }
              5 OrchestrationCancelRequested { reason: "why" }
              6 ExternalSubscribedCancelled[4] { reason: "orchestration_terminal" }
              7 OrchestrationFailed { details: Application { kind: Cancelled { reason: "why" }, message: "", retryable: false } }
              => Failed application | canceled: why
        "#]],
    );
}
