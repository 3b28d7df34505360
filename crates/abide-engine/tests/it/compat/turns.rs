//! Turns of the reference in which the code was polled more than once: what it dropped is recorded at the
//! end, family by family, and what it asked for is bound behind the whole batch.

use crate::support::drive::{cold, feed, returned};
use crate::support::mail::done;
use crate::support::past::{
    REFERENCE, activity, activity_done, activity_dropped, delivered, dequeue, dequeue_dropped, fit_in_short,
    past, started, wait, wait_dropped,
};
use crate::support::{Code, code};

/// Drops a wait in one poll and an activity in the next, both in one turn.
fn drops_in_two_polls() -> Code {
    code(|ctx, _| async move {
        let (a, w) = (ctx.schedule_activity("A", ""), ctx.schedule_wait("w"));
        ctx.select2(a, w).await;
        let held = ctx.schedule_activity("B", "");
        let (c, q) = (ctx.schedule_activity("C", ""), ctx.dequeue_event("q"));
        ctx.select2(c, q).await;
        held.await
    })
}

#[test]
fn drops_of_two_polls_are_recorded_together_family_by_family() {
    let rows = vec![
        started("in"),
        activity("A", ""),
        wait("w"),
        activity_done(2, "r"),
        delivered("q", "m"),
        activity("B", ""),
        activity("C", ""),
        dequeue("q"),
        activity_dropped(7),
        wait_dropped(3),
    ];
    let history = past(REFERENCE, rows);
    assert_eq!(fit_in_short(&drops_in_two_polls(), history.clone()), "fits");
    assert_eq!(returned(&feed(&mut cold(&drops_in_two_polls(), history), vec![done(6, "b")])), "b");
}

/// A dequeue that is asked for in the middle of a batch, behind its message, and loses to a later arrival.
fn loses_before_it_is_bound() -> Code {
    code(|ctx, _| async move {
        let one = async {
            ctx.schedule_activity("A", "").await?;
            let (q, a) = (ctx.dequeue_event("q1"), ctx.schedule_activity("X", ""));
            ctx.select2(q, a).await;
            Ok::<_, String>(())
        };
        let two = async { ctx.join2(ctx.schedule_activity("B", ""), ctx.dequeue_event("q0")).await };
        ctx.select2(one, two).await;
        ctx.schedule_activity("Y", "").await
    })
}

#[test]
fn what_an_arrival_brings_is_seen_before_earlier_asks_are_bound() {
    let rows = vec![
        started("in"),
        activity("A", ""),
        activity("B", ""),
        dequeue("q0"),
        delivered("q1", "m1"),
        activity_done(3, "b"),
        activity_done(2, "a"),
        delivered("q0", "m4"),
        dequeue("q1"),
        activity("X", ""),
        activity("Y", ""),
        activity_dropped(10),
        dequeue_dropped(9),
    ];
    let history = past(REFERENCE, rows);
    assert_eq!(fit_in_short(&loses_before_it_is_bound(), history.clone()), "fits");
    assert_eq!(returned(&feed(&mut cold(&loses_before_it_is_bound(), history), vec![done(11, "y")])), "y");
}
