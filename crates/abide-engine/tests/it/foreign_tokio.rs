//! Tokio inside an orchestration: its timers and tasks are foreign, as everything that is not durable.
//!
//! The runtime has one thread and a paused clock: no time passes, and a wake comes on the very thread that
//! polls the execution. It is foreign all the same, because it does not come from the execution's own poll.

use std::pin::pin;
use std::time::Duration;

use abide_engine::Foreign;
use expect_test::expect;
use tokio::runtime::{Builder, Runtime};

use crate::support::code;
use crate::support::drive::{end, feed, observed, text};
use crate::support::mail::{signal, start};

fn paused() -> Runtime {
    Builder::new_current_thread().enable_time().start_paused(true).build().unwrap()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "what users should not do is what is tested")]
fn a_tokio_sleep_beside_a_durable_wait_is_told_of_and_fails_the_next_turn() {
    let code = code(|ctx, _| async move {
        let nap = pin!(tokio::time::sleep(Duration::from_secs(5)));
        ctx.select2(ctx.schedule_wait("go"), nap).await;
        Ok("went".to_owned())
    });
    let (mut execution, told) = observed(&code);
    paused().block_on(async {
        assert_eq!(end(&feed(&mut execution, vec![start("in")])), "Running");
        assert_eq!(told.take_all(), vec![], "nothing happened yet");

        tokio::time::advance(Duration::from_secs(6)).await;
        assert_eq!(told.take_all(), vec![Foreign::Wake]);
        expect![[r#"
            T1
              3 ExternalSubscribedCancelled[2] { reason: "orchestration_terminal" }
              4 OrchestrationFailed { details: Configuration { kind: Nondeterminism, resource: "", message: Some("foreign asynchrony in an orchestration: it was woken by something that is not durable\n  Something inside it is not durable: a tokio sleep, a channel, a spawned task, an I/O call. Replay cannot repeat what such things do. Use the context instead (schedule_timer, schedule_activity, dequeue_event), or move the work into an activity.") } }
              notice: ExternalRaised dropped: the execution has ended
              => Failed configuration | nondeterministic: foreign asynchrony in an orchestration: it was woken by something that is not durable
              Something inside it is not durable: a tokio sleep, a channel, a spawned task, an I/O call. Replay cannot repeat what such things do. Use the context instead (schedule_timer, schedule_activity, dequeue_event), or move the work into an activity.
        "#]].assert_eq(&text(&feed(&mut execution, vec![signal("go", "")])));
    });
}

#[test]
#[expect(clippy::disallowed_methods, reason = "what users should not do is what is tested")]
fn a_tokio_task_that_uses_the_context_is_told_of_and_fails_the_next_turn() {
    let code = code(|ctx, _| async move {
        let theirs = ctx.clone();
        let _task = tokio::spawn(async move { drop(theirs.schedule_activity("smuggled", "")) });
        Ok(ctx.schedule_wait("go").await)
    });
    let (mut execution, told) = observed(&code);
    paused().block_on(async {
        assert_eq!(end(&feed(&mut execution, vec![start("in")])), "Running");
        assert_eq!(told.take_all(), vec![], "the task has not run");

        tokio::task::yield_now().await;
        assert_eq!(told.take_all(), vec![Foreign::Ask]);
        expect![[r#"
            T1
              3 ExternalSubscribedCancelled[2] { reason: "orchestration_terminal" }
              4 OrchestrationFailed { details: Configuration { kind: Nondeterminism, resource: "", message: Some("foreign asynchrony in an orchestration: its context was used from outside\n  Something inside it is not durable: a tokio sleep, a channel, a spawned task, an I/O call. Replay cannot repeat what such things do. Use the context instead (schedule_timer, schedule_activity, dequeue_event), or move the work into an activity.") } }
              notice: ExternalRaised dropped: the execution has ended
              => Failed configuration | nondeterministic: foreign asynchrony in an orchestration: its context was used from outside
              Something inside it is not durable: a tokio sleep, a channel, a spawned task, an I/O call. Replay cannot repeat what such things do. Use the context instead (schedule_timer, schedule_activity, dequeue_event), or move the work into an activity.
        "#]].assert_eq(&text(&feed(&mut execution, vec![signal("go", "")])));
    });
}
