//! What an execution waits for: whether the answer of one activity is all that is under way for it.

use std::time::Duration;

use abide_engine::Execution;
use abide_engine::model::{EventId, WorkItem};

use crate::support::drive::{cold, feed, fresh};
use crate::support::mail::{cancel, child_done, done, failed, fired, signal, start};
use crate::support::{Code, Turn, code, history_of, run};

/// The activity, if there is one, that is all it waits for.
fn only(execution: &Execution) -> Vec<u64> {
    (0..30).filter(|id| execution.waits_only_for(EventId::new(*id))).collect()
}

/// Feeds turns, and says after each what it waits for alone; whoever replays instead says the same.
#[track_caller]
fn after_each(code: &Code, turns: &[Turn]) -> Vec<Vec<u64>> {
    let mut execution = fresh(code);
    assert!(only(&execution).is_empty(), "nothing has begun");
    let mut said = Vec::new();
    for number in 1..=turns.len() {
        feed(&mut execution, turns[number - 1].clone());
        said.push(only(&execution));
        let replayed = cold(code, history_of(&run(code, &turns[..number])));
        assert_eq!(only(&replayed), only(&execution), "after turn {number}");
    }
    said
}

#[track_caller]
fn check<const N: usize>(code: &Code, turns: &[Vec<WorkItem>; N], expected: [&[u64]; N]) {
    assert_eq!(after_each(code, turns), expected);
}

#[test]
fn one_activity_after_another() {
    let code = code(|ctx, _| async move {
        ctx.schedule_activity("a", "").await?;
        let _failed = ctx.schedule_activity("b", "").await;
        ctx.schedule_activity("c", "").await
    });
    check(
        &code,
        &[vec![start("")], vec![done(2, "")], vec![failed(4, "")], vec![done(6, "")]],
        [&[2], &[4], &[6], &[]],
    );
}

#[test]
fn several_at_once_until_one_is_left() {
    let code = code(|ctx, _| async move {
        let all = ["a", "b", "c"].map(|name| ctx.schedule_activity(name, ""));
        ctx.join(all.into()).await;
        Ok(String::new())
    });
    check(&code, &[vec![start("")], vec![done(3, "")], vec![done(2, "")]], [&[], &[], &[4]]);
    check(&code, &[vec![start("")], vec![done(2, ""), done(4, "")], vec![done(3, "")]], [&[], &[3], &[]]);
}

#[test]
fn an_activity_beside_a_child() {
    let code = code(|ctx, _| async move {
        let child = ctx.schedule_sub_orchestration("C", "");
        ctx.join2(child, ctx.schedule_activity("a", "")).await.1
    });
    check(&code, &[vec![start("")], vec![child_done(2, "")], vec![done(3, "")]], [&[], &[3], &[]]);
    check(&code, &[vec![start("")], vec![done(3, "")], vec![child_done(2, "")]], [&[], &[], &[]]);
}

#[test]
fn what_comes_by_itself_is_no_work() {
    let code = code(|ctx, _| async move {
        let timer = ctx.schedule_timer(Duration::from_secs(9));
        let (signal, message) = (ctx.schedule_wait("s"), ctx.dequeue_event("q"));
        ctx.schedule_orchestration("D", "detached", "");
        ctx.schedule_activity("a", "").await?;
        timer.await;
        Ok(signal.await + &message.await)
    });
    // The timer, the two waits and the start of somebody else come before it.
    check(&code, &[vec![start("")], vec![signal("s", "")], vec![done(6, "")]], [&[6], &[6], &[]]);
}

#[test]
fn a_timer_alone_is_nothing_to_be_told() {
    let code = code(|ctx, _| async move {
        ctx.schedule_timer(Duration::from_secs(9)).await;
        Ok(String::new())
    });
    check(&code, &[vec![start("")], vec![fired(2, 10_000)]], [&[], &[]]);
}

#[test]
fn what_was_dropped_is_not_waited_for() {
    let code = code(|ctx, _| async move {
        let slow = ctx.schedule_activity("slow", "");
        ctx.select2(slow, ctx.schedule_wait("s")).await;
        ctx.schedule_activity("a", "").await
    });
    let mut execution = fresh(&code);
    feed(&mut execution, vec![start("")]);
    assert_eq!(only(&execution), [2]);
    let output = feed(&mut execution, vec![signal("s", "")]);
    let asked = output.worker_items.len();
    assert_eq!((asked, output.cancelled_activities.len()), (1, 1));
    let next = only(&execution);
    assert_eq!(next.len(), 1, "the one that lost counts no more: {next:?}");
    assert_ne!(next, [2]);
}

#[test]
fn an_end_of_any_kind_waits_for_nothing() {
    let open = code(|ctx, _| async move {
        let _open = ctx.schedule_activity("a", "");
        match ctx.schedule_wait("s").await.as_str() {
            "fail" => Err("failed".to_owned()),
            "panic" => panic!("out of eggs"),
            "again" => ctx.continue_as_new("").await,
            _ => Ok(String::new()),
        }
    });
    for how in ["return", "fail", "panic", "again"] {
        check(&open, &[vec![start("")], vec![signal("s", how)]], [&[2], &[]]);
    }
    check(&open, &[vec![start("")], vec![cancel("enough")]], [&[2], &[]]);
}

#[test]
fn whose_it_is_can_be_asked() {
    let nothing = code(|_, input| async move { Ok(input) });
    assert_eq!(fresh(&nothing).identity(), &crate::support::identity(1));
}
