//! Suspected bugs, one test each: a failing test is a bug found.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Instant;

use abide_engine::model::{Event, EventKind, PruneOptions, PruneResult, Timestamp, WorkItem};
use abide_engine::{Execution, Outcome, Step};

use crate::support::drive::{cold, elsewhere, end, feed, fresh, mail as boxed};
use crate::support::mail::{cancel, continued, done, message, signal, start};
use crate::support::{Code, code, history_of, identity, run};

/// S1. decisions §3: "repeating any message that has an identity (…, continue-as-new, …) changes nothing".
#[test]
fn s1_a_repeated_continue_as_new_does_not_begin_the_successor() {
    let code = code(|ctx, input| async move {
        let n: u32 = input.parse().unwrap();
        if n < 3 { ctx.continue_as_new((n + 1).to_string()).await } else { Ok(input) }
    });
    let mut second = Execution::new(identity(2), BTreeMap::new(), Arc::clone(&code));
    let out =
        feed(&mut second, vec![continued("1", &[("q", "m")], None), continued("1", &[("q", "m")], None)]);
    let left: Vec<WorkItem> =
        if out.consumed.len() == 2 { vec![] } else { vec![continued("1", &[("q", "m")], None)] };
    let next =
        out.orchestrator_items.into_iter().find(|i| matches!(i, WorkItem::ContinueAsNew { .. })).unwrap();
    let mut third = Execution::new(identity(3), BTreeMap::new(), code);
    let mut inbox = left;
    inbox.push(next);
    let out = feed(&mut third, inbox);
    let EventKind::OrchestrationStarted { input, .. } = &out.events[0].kind else { panic!() };
    assert_eq!(input, "2", "the successor begins with the input its predecessor gave it");
}

/// S2. A strict history whose first row is damaged still tells the parent.
#[test]
fn s2_a_parent_hears_of_a_child_whose_first_row_is_damaged() {
    let code = code(|ctx, _| async move { Ok(ctx.schedule_wait("s").await) });
    let mut history = history_of(&run(&code, &[vec![crate::support::mail::start_by(("p", 7, 1), "in")]]));
    history[0].execution_id = 9;
    let out = feed(&mut cold(&code, history), vec![]);
    assert!(matches!(out.outcome, Outcome::Failed { .. }));
    assert!(
        out.orchestrator_items.iter().any(|i| matches!(i, WorkItem::SubOrchFailed { .. })),
        "the parent is told: {:?}",
        out.orchestrator_items
    );
}

/// S3. Row by row, also when the first turn is [cancel, start].
#[test]
fn s3_a_cancel_older_than_the_start_replays_in_pieces() {
    let code = code(|ctx, _| async move { Ok(ctx.schedule_wait("s").await) });
    let history = history_of(&run(&code, &[vec![cancel("why"), start("in")]]));
    let mut execution = fresh(&code);
    for event in history {
        execution.replay(vec![event]).unwrap();
    }
    assert_eq!(execution.mismatch(), None);
}

/// S4. Foreign ask in the poll that returns.
#[test]
fn s4_a_foreign_ask_in_the_last_poll_is_not_silent() {
    let code = code(|ctx, _| async move {
        elsewhere(|| ctx.schedule_orchestration("D", "d", ""));
        Ok("done".to_owned())
    });
    let out = feed(&mut fresh(&code), vec![start("in")]);
    assert!(matches!(out.outcome, Outcome::Failed { .. }), "{}", end(&out));
}

/// S5. Lenient: code that continues as new early carries what was delivered in the part that is skipped.
#[test]
fn s5_an_early_continue_as_new_loses_no_message() {
    let old = code(|ctx, _| async move { ctx.schedule_activity("a", "").await });
    let mut history = history_of(&run(&old, &[vec![start("in")], vec![message("q", "m")]]));
    for event in &mut history {
        event.duroxide_version = "0.1.32".to_owned();
    }
    let new = code(|ctx, _| async move { ctx.continue_as_new("2").await });
    let out = feed(&mut cold(&new, history), vec![]);
    let carried = out.orchestrator_items.iter().find_map(|i| match i {
        WorkItem::ContinueAsNew { carry_forward_events, .. } => Some(carry_forward_events.clone()),
        _ => None,
    });
    println!("{} {:?}", end(&out), carried);
    assert!(carried.is_none_or(|c| c.len() == 1), "the message is carried over");
}

/// A waker that drops something when it is woken.
struct Dropper(Mutex<Option<Box<dyn Send>>>, Waker);
impl Wake for Dropper {
    fn wake(self: Arc<Self>) {
        let thing = self.0.lock().unwrap().take();
        drop(thing);
        self.1.wake_by_ref();
    }
}

/// S6. A drop that happens while the engine wakes the code, of a future whose ask is recorded next.
#[test]
fn s6_a_drop_inside_a_waker_between_two_asks_of_one_poll_is_recorded() {
    let code = code(|ctx, _| async move {
        // A message is there, so that the dequeue is ready when it is bound.
        ctx.schedule_wait("go").await;
        let mut dequeue = ctx.dequeue_event("q");
        let activity = ctx.schedule_activity("a", "");
        let mut shelf = Some(activity);
        let message = std::future::poll_fn(move |cx: &mut Context<'_>| {
            if let Some(activity) = shelf.take() {
                let waker =
                    Waker::from(Arc::new(Dropper(Mutex::new(Some(Box::new(activity))), cx.waker().clone())));
                return Pin::new(&mut dequeue).poll(&mut Context::from_waker(&waker));
            }
            Pin::new(&mut dequeue).poll(cx)
        })
        .await;
        ctx.schedule_wait("end").await;
        Ok(message)
    });
    let out = run(&code, &[vec![start("in")], vec![message("q", "m")], vec![signal("go", "")]]);
    let history = history_of(&out);
    assert!(
        history.iter().any(|e| matches!(e.kind, EventKind::ActivityCancelRequested { .. })),
        "the dropped activity is cancelled: {:#?}",
        history.iter().map(|e| &e.kind).collect::<Vec<_>>()
    );
}

/// S7. waits_for_nothing is seen although a future was dropped inside a waker.
fn time<T>(f: impl FnOnce() -> T) -> (T, f64) {
    let begun = Instant::now();
    let value = f();
    (value, begun.elapsed().as_secs_f64())
}

fn linear(what: &str, mut f: impl FnMut(u64)) {
    let mut times = Vec::new();
    for n in [5_000_u64, 10_000, 20_000, 40_000, 80_000] {
        let ((), t) = time(|| f(n));
        times.push((n, t));
        if t > 20.0 {
            break;
        }
    }
    let text: Vec<String> =
        times.iter().map(|(n, t)| format!("{n}:{:.3}s({:.2}us/each)", t, t * 1e6 / *n as f64)).collect();
    println!("{what:50} {}", text.join("  "));
}

#[test]
#[ignore = "measures"]
fn c_measure() {
    linear("tag each after all were made", |n| {
        let code = code(move |ctx, _| async move {
            let all: Vec<_> = (0..n).map(|_| ctx.schedule_activity("a", "")).collect();
            let all: Vec<_> = all.into_iter().map(|f| f.with_tag("t")).collect();
            Ok(ctx.join(all).await.len().to_string())
        });
        feed(&mut fresh(&code), vec![start("in")]);
    });
    linear("join of prunes", |n| {
        let code = code(move |ctx, _| async move {
            let all: Vec<_> = (0..n)
                .map(|_| ctx.prune_history(PruneOptions { keep_last: Some(1), completed_before: None }))
                .collect();
            Ok(ctx.join(all).await.len().to_string())
        });
        let mut execution = fresh(&code);
        let mut step = execution.turn(boxed(vec![start("in")]), Timestamp::from_millis(1)).unwrap();
        while let Step::HostCall(_) = step {
            step = execution.resume(Ok(PruneResult::default())).unwrap();
        }
    });
    linear("mismatch at the top; n open asks, n messages", |n| {
        let old = code(move |ctx, _| async move {
            let all: Vec<_> = (0..n).map(|_| ctx.schedule_activity("a", "")).collect();
            Ok(ctx.join(all).await.len().to_string())
        });
        let mut turns = vec![vec![start("in")]];
        turns.push((0..n).map(|_| message("q", "m")).collect());
        let history = history_of(&run(&old, &turns));
        let new = code(|ctx, _| async move { ctx.schedule_activity("b", "").await });
        let (_, t) = time(|| feed(&mut cold(&new, history), vec![]));
        println!("   absorb {n}: {t:.3}");
    });
    linear("dequeues of one queue, all ready, read from the middle", |n| {
        let code = code(move |ctx, _| async move {
            let mut all: Vec<_> = (0..n).map(|_| Some(ctx.dequeue_event("q"))).collect();
            ctx.schedule_wait("go").await;
            let h = (n / 2) as usize;
            for i in 0..h {
                all[h - 1 - i].take().unwrap().await;
                all[h + i].take().unwrap().await;
            }
            Ok(String::new())
        });
        let mut execution = fresh(&code);
        let mut batch = vec![start("in")];
        batch.extend((0..n).map(|_| message("q", "m")));
        batch.push(signal("go", ""));
        let out = feed(&mut execution, batch);
        assert!(matches!(out.outcome, Outcome::Completed { .. }));
    });
    linear("many waits of one name, dropped in order", |n| {
        let code = code(move |ctx, _| async move {
            let all: Vec<_> = (0..n).map(|_| ctx.schedule_wait("s")).collect();
            ctx.schedule_wait("go").await;
            drop(all);
            ctx.schedule_wait("go").await;
            Ok(String::new())
        });
        let mut execution = fresh(&code);
        let out = feed(&mut execution, vec![start("in"), signal("go", ""), signal("go", "")]);
        assert!(matches!(out.outcome, Outcome::Completed { .. }));
    });
    linear("many waits of one name, each signalled, FuturesUnordered", |n| {
        use futures::StreamExt;
        let code = code(move |ctx, _| async move {
            let all: futures::stream::FuturesUnordered<_> = (0..n).map(|_| ctx.schedule_wait("s")).collect();
            Ok(all.count().await.to_string())
        });
        let mut execution = fresh(&code);
        let mut batch = vec![start("in")];
        batch.extend((0..n).map(|_| signal("s", "")));
        let out = feed(&mut execution, batch);
        assert!(matches!(out.outcome, Outcome::Completed { .. }));
    });
    linear("many queues, one message each, then carried", |n| {
        let code = code(move |ctx, _| async move {
            ctx.schedule_wait("go").await;
            ctx.continue_as_new("2").await
        });
        let mut execution = fresh(&code);
        let mut batch = vec![start("in")];
        batch.extend((0..n).map(|i| message(&format!("q{i}"), "m")));
        batch.push(signal("go", ""));
        feed(&mut execution, batch);
    });
    linear("history replayed one event at a time, with kv writes", |n| {
        let code = code(move |ctx, _| async move {
            for i in 0..n {
                ctx.set_kv_value("k", i.to_string());
                if i % 10 == 0 {
                    ctx.schedule_wait("s").await;
                }
            }
            Ok(String::new())
        });
        let mut batch = vec![start("in")];
        batch.extend((0..n / 10).map(|_| signal("s", "")));
        let history = history_of(&run(&code, &[batch]));
        let mut execution = fresh(&code);
        for event in history {
            execution.replay(vec![event]).unwrap();
        }
        assert_eq!(execution.mismatch(), None);
    });
    linear("lenient: n arrivals before n asks", |n| {
        let code = code(move |ctx, _| async move {
            let all: Vec<_> = (0..n)
                .map(|i| {
                    let ctx = ctx.clone();
                    let first = ctx.schedule_activity("a", i.to_string());
                    async move {
                        let _r = first.await;
                        ctx.schedule_activity("b", i.to_string()).await
                    }
                })
                .collect();
            Ok(ctx.join(all).await.len().to_string())
        });
        let mut history =
            history_of(&run(&code, &[vec![start("in")], (0..n).map(|i| done(i + 2, "")).collect()]));
        // all completions first, then all asks
        let head = 1 + n as usize;
        let tail = history.split_off(head);
        let (arrivals, asks): (Vec<Event>, Vec<Event>) =
            tail.into_iter().partition(|e| matches!(e.kind, EventKind::ActivityCompleted { .. }));
        history.extend(arrivals);
        history.extend(asks);
        for (i, e) in history.iter_mut().enumerate() {
            e.event_id = i as u64 + 1;
            e.duroxide_version = "0.1.32".to_owned();
        }
        let mut execution = cold(&code, history);
        let out = feed(&mut execution, vec![]);
        assert!(out.events.is_empty(), "{}", end(&out));
    });
    linear("n clears in one poll, recorded in reverse (lenient)", |n| {
        let code = code(move |ctx, _| async move {
            for i in 0..n {
                ctx.clear_kv_value(format!("k{i}"));
            }
            Ok(ctx.schedule_wait("s").await)
        });
        let mut history = history_of(&run(&code, &[vec![start("in")]]));
        let len = history.len();
        history[1..len - 1].reverse();
        for (i, e) in history.iter_mut().enumerate() {
            e.event_id = i as u64 + 1;
            e.duroxide_version = "0.1.32".to_owned();
        }
        let out = feed(&mut cold(&code, history), vec![]);
        assert!(out.events.is_empty(), "{}", end(&out));
    });
    linear("nested joins of joins (depth 3), completion each", |n| {
        let code = code(move |ctx, _| async move {
            let side = (n as f64).sqrt() as u64;
            let outer: Vec<_> = (0..side)
                .map(|_| {
                    let inner: Vec<_> = (0..side).map(|_| ctx.schedule_activity("a", "")).collect();
                    let ctx = ctx.clone();
                    async move { ctx.join(inner).await.len() }
                })
                .collect();
            Ok(format!("{}", ctx.join(outer).await.len()))
        });
        let side = (n as f64).sqrt() as u64;
        let mut batch = vec![start("in")];
        batch.extend((0..side * side).map(|i| done(i + 2, "")));
        let out = feed(&mut fresh(&code), batch);
        assert!(matches!(out.outcome, Outcome::Completed { .. }));
    });
    println!("size of Event: {}", std::mem::size_of::<Event>());
}

#[allow(dead_code)]
fn unused(_: Code) -> Poll<()> {
    Poll::Pending
}
