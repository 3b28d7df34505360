//! The summary of what an execution waits for, which is stored with each turn.

use std::time::Duration;

use abide_engine::model::{BackoffStrategy, RetryPolicy, WaitKind, Waiting};
use futures::future::join_all;

use crate::support::mail::{child_done, done, failed, fired, message, signal, start};
use crate::support::{Code, Given, Turn, code, run_cold, run_resident};

/// The summary after each turn, which is the same whether the execution is resident or cold.
#[track_caller]
fn after_each(code: &Code, turns: &[Turn]) -> Vec<String> {
    let given = Given::default();
    let outputs = run_resident(&given, code, turns);
    for (resident, cold) in outputs.iter().zip(run_cold(&given, code, turns)) {
        assert_eq!(resident.waiting, cold.waiting);
    }
    outputs.into_iter().map(|output| output.waiting.unwrap_or_else(|| "none".to_owned())).collect()
}

#[test]
fn every_kind_of_wait_is_told_with_its_name_and_times() {
    let code = code(|ctx, _| async move {
        let activity = ctx.schedule_activity("Charge", "");
        let timer = ctx.schedule_timer(Duration::from_secs(60));
        let event = ctx.schedule_wait("paid");
        let queue = ctx.dequeue_event("orders");
        let child = ctx.schedule_sub_orchestration("Ship", "");
        let named = ctx.schedule_sub_orchestration_with_id("Ship", "ship-1", "");
        let _answers = futures::join!(activity, timer, event, queue, child, named);
        Ok("done".to_owned())
    });
    let turns = [
        vec![start("")],
        vec![done(2, ""), fired(3, 61_000)],
        vec![signal("paid", ""), message("orders", "")],
        vec![child_done(6, ""), child_done(7, "")],
    ];
    assert_eq!(
        after_each(&code, &turns),
        [
            concat!(
                r#"[6,[["activity",2,"Charge",1000],["timer",3,"",1000,61000],["event",4,"paid",1000],"#,
                r#"["queue",5,"orders",1000],["child",6,"Ship",1000,0,0,0,"","sub::6"],"#,
                r#"["child",7,"Ship",1000,0,0,0,"","ship-1"]],[]]"#
            ),
            concat!(
                r#"[4,[["event",4,"paid",1000],["queue",5,"orders",1000],"#,
                r#"["child",6,"Ship",1000,0,0,0,"","sub::6"],["child",7,"Ship",1000,0,0,0,"","ship-1"]],[]]"#
            ),
            r#"[2,[["child",6,"Ship",1000,0,0,0,"","sub::6"],["child",7,"Ship",1000,0,0,0,"","ship-1"]],[]]"#,
            "none",
        ]
    );
}

#[test]
fn a_retried_activity_is_told_with_its_tries_and_its_last_error() {
    let policy = RetryPolicy::new(3).with_backoff(BackoffStrategy::Fixed { delay: Duration::from_secs(5) });
    let code = code(move |ctx, _| {
        let policy = policy.clone();
        async move { ctx.schedule_activity_with_retry("Charge", "", policy).await }
    });
    let turns = [
        vec![start("")],
        vec![failed(2, "card declined")],
        vec![fired(4, 7_000)],
        vec![failed(6, "no answer")],
        vec![fired(8, 9_000)],
        vec![done(10, "")],
    ];
    assert_eq!(
        after_each(&code, &turns),
        [
            r#"[1,[["activity",2,"Charge",1000,0,1,3]],[]]"#,
            r#"[1,[["retry",4,"Charge",1000,7000,1,3,"card declined"]],[]]"#,
            r#"[1,[["activity",6,"Charge",1000,0,2,3,"card declined"]],[]]"#,
            r#"[1,[["retry",8,"Charge",1000,9000,2,3,"no answer"]],[]]"#,
            r#"[1,[["activity",10,"Charge",1000,0,3,3,"no answer"]],[]]"#,
            "none",
        ]
    );
}

#[test]
fn unread_queue_messages_are_counted_by_name() {
    let code = code(|ctx, _| async move {
        ctx.schedule_wait("go").await;
        Ok(ctx.dequeue_event("b").await)
    });
    let turns = [
        vec![start("")],
        vec![message("b", "1"), message("a", "2"), message("b", "3")],
        vec![signal("go", "")],
    ];
    assert_eq!(
        after_each(&code, &turns),
        [r#"[1,[["event",2,"go",1000]],[]]"#, r#"[1,[["event",2,"go",1000]],[["a",1],["b",2]]]"#, "none",]
    );
}

#[test]
fn waiting_for_nothing_is_told_with_the_time_of_the_last_event() {
    let code = code(|ctx, _| async move {
        ctx.schedule_activity("Charge", "").await?;
        std::future::pending().await
    });
    assert_eq!(
        after_each(&code, &[vec![start("")], vec![done(2, "")]]),
        [r#"[1,[["activity",2,"Charge",1000]],[]]"#, r#"[0,[["nothing",0,"",2000]],[]]"#]
    );
}

#[test]
fn what_was_dropped_or_answered_is_not_waited_for() {
    let code = code(|ctx, _| async move {
        drop(ctx.schedule_activity("Dropped", ""));
        let limit = Duration::from_secs(60);
        let _elapsed = ctx.timeout(limit, ctx.schedule_activity("Slow", "")).await;
        ctx.schedule_wait("last").await;
        Ok(String::new())
    });
    assert_eq!(
        after_each(&code, &[vec![start("")], vec![fired(4, 61_000)]]),
        [
            r#"[2,[["activity",3,"Slow",1000],["timer",4,"",1000,61000]],[]]"#,
            r#"[1,[["event",7,"last",2000]],[]]"#,
        ]
    );
}

#[test]
fn of_many_operations_the_oldest_are_listed() {
    let code = code(|ctx, _| async move {
        let calls: Vec<_> = (0..100).map(|i| ctx.schedule_activity(format!("Step{i}"), "")).collect();
        join_all(calls).await;
        Ok(String::new())
    });
    let said = after_each(&code, &[vec![start("")]]);
    let read = Waiting::read(&said[0]).expect("a summary");
    assert_eq!((read.open, read.operations.len()), (100, 16));
    assert!(read.operations.iter().all(|each| each.kind == WaitKind::Activity));
    assert_eq!(read.operations[15].name, "Step15");
}
