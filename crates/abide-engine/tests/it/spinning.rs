//! Code that keeps itself busy: legal up to a number for each arrival, then it fails.

use expect_test::expect;

use crate::support::drive::{end, feed, fresh, returned, yield_now};
use crate::support::mail::{done, message, signal, start};
use crate::support::{check, code};

#[test]
fn code_may_wake_itself_ten_thousand_times_for_each_arrival() {
    let code = code(|ctx, _| async move {
        yield_now(10_000).await;
        ctx.schedule_activity("a", "").await?;
        yield_now(10_000).await;
        ctx.dequeue_event("q").await;
        yield_now(10_000).await;
        Ok("rested".to_owned())
    });
    check(
        code,
        vec![vec![start("in")], vec![done(2, "r"), message("q", "m")]],
        expect![[r#"
        T1
          1 OrchestrationStarted { input: "in" }
          2 ActivityScheduled { name: "a", input: "" }
          -> worker ActivityExecute 2 a()
          => Running
        T2
          3 ActivityCompleted[2] { result: "r" }
          4 QueueSubscribed { name: "q" }
          5 QueueEventDelivered { name: "q", data: "m" }
          6 OrchestrationCompleted { output: "rested" }
          => Completed "rested"
    "#]],
    );
}

#[test]
fn code_that_wakes_itself_once_more_fails() {
    check(
        code(|ctx, _| async move {
            ctx.schedule_activity("a", "").await?;
            yield_now(10_001).await;
            Ok("never".to_owned())
        }),
        vec![vec![start("in")], vec![done(2, "r")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ActivityScheduled { name: "a", input: "" }
              -> worker ActivityExecute 2 a()
              => Running
            T2
              3 ActivityCompleted[2] { result: "r" }
              4 OrchestrationFailed { details: Infrastructure { operation: "quiescence_loop", message: "quiescence loop exceeded 10000 iterations\n  The orchestration was polled that often without anything having arrived: it keeps waking itself, or keeps asking for what it does not take. Await something durable in the loop.", retryable: false } }
              => Failed infrastructure | infrastructure:quiescence_loop: quiescence loop exceeded 10000 iterations
              The orchestration was polled that often without anything having arrived: it keeps waking itself, or keeps asking for what it does not take. Await something durable in the loop.
        "#]],
    );
}

#[test]
fn reading_twenty_thousand_messages_in_one_go_is_no_self_wake() {
    let code = code(|ctx, _| async move {
        ctx.schedule_wait("go").await;
        for _ in 0..20_000 {
            ctx.dequeue_event("q").await;
        }
        Ok("read".to_owned())
    });
    let mut execution = fresh(&code);
    feed(&mut execution, vec![start("in")]);
    feed(&mut execution, (0..20_000).map(|_| message("q", "m")).collect());
    assert_eq!(returned(&feed(&mut execution, vec![signal("go", "")])), "read");
}

#[test]
fn code_that_keeps_asking_again_for_what_it_does_not_read_fails() {
    let code = code(|ctx, _| async move {
        let (mut polls, mut unread) = (0, None);
        let never = std::future::poll_fn(|_| {
            polls += 1;
            // The old one is dropped, the new one is ready as soon as it is bound.
            unread = Some(ctx.dequeue_event("q"));
            if polls < 50_000 { std::task::Poll::Pending } else { std::task::Poll::Ready(()) }
        });
        never.await;
        drop(unread);
        Ok("it would have gone on for ever".to_owned())
    });
    let mut execution = fresh(&code);
    feed(&mut execution, vec![start("in")]);
    let said = end(&feed(&mut execution, vec![message("q", "m")]));
    assert!(said.contains("quiescence loop exceeded"), "{said}");
}
