//! The simplest things work.

use std::time::Duration;

use expect_test::expect;

use crate::support::mail::{done, fired, start};
use crate::support::{check, code};

#[test]
fn one_activity() {
    check(
        code(|ctx, input| async move { ctx.schedule_activity("a", input).await }),
        vec![vec![start("in")], vec![done(2, "r")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ActivityScheduled { name: "a", input: "in" }
              -> worker ActivityExecute 2 a(in)
              => Running
            T2
              3 ActivityCompleted[2] { result: "r" }
              4 OrchestrationCompleted { output: "r" }
              => Completed "r"
        "#]],
    );
}

#[test]
fn select_drops_the_loser() {
    check(
        code(|ctx, _| async move {
            let activity = ctx.schedule_activity("a", "x");
            let timer = ctx.schedule_timer(Duration::from_secs(5));
            ctx.select2(activity, timer).await;
            ctx.schedule_activity("next", "").await
        }),
        vec![vec![start("in")], vec![fired(3, 6000)], vec![done(5, "r")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ActivityScheduled { name: "a", input: "x" }
              3 TimerCreated { fire_at_ms: 6000 }
              -> worker ActivityExecute 2 a(x)
              -> TimerFired 3 at 6000
              => Running
            T2
              4 TimerFired[3] { fire_at_ms: 6000 }
              5 ActivityScheduled { name: "next", input: "" }
              6 ActivityCancelRequested[2] { reason: "dropped_future" }
              -> worker ActivityExecute 5 next()
              -> cancel activity 2
              => Running
            T3
              7 ActivityCompleted[5] { result: "r" }
              8 OrchestrationCompleted { output: "r" }
              => Completed "r"
        "#]],
    );
}
