//! A program, run as an orchestration.
//!
//! What it learns goes into its output, so that two runs that learn different things end differently; every
//! queue message it reads it says, so that a test can tell which messages were read.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use abide_engine::model::{BackoffStrategy, Either2, PruneOptions, RetryPolicy};
use abide_engine::{DurableFuture, OrchestrationContext};
use futures::StreamExt;
use futures::stream::FuturesUnordered;

use super::odd::{AsksWhenDropped, ask, go_too_far};
use super::several::{bag, keep, take_side_by_side, take_tangled};
use super::{Fate, Leaf, Program, Step};
use crate::support::drive::yield_now;
use crate::support::{Code, code};

/// A program as code. Its input counts the executions before it.
pub(crate) fn interpret(program: &Program) -> Code {
    let program = Arc::new(program.clone());
    code(move |ctx, input| {
        let program = Arc::clone(&program);
        async move {
            let executions: u32 = input.parse().unwrap_or(0);
            let steps = if executions == 0 { &program.first } else { &program.later };
            run(&ctx, steps, executions).await.map_or_else(|end| end, Ok)
        }
    })
}

/// What a list of steps comes to: what it learnt, or the end of the whole program.
pub(super) type Ran = Result<String, Result<String, String>>;

pub(super) fn run<'a>(
    ctx: &'a OrchestrationContext,
    steps: &'a [Step],
    executions: u32,
) -> Pin<Box<dyn Future<Output = Ran> + Send + 'a>> {
    Box::pin(async move {
        let mut learnt = String::new();
        for step in steps {
            let news = take(ctx, step, executions, &learnt).await?;
            learnt.push_str(&news);
            learnt.push(';');
        }
        Ok(learnt)
    })
}

async fn take(ctx: &OrchestrationContext, step: &Step, executions: u32, learnt: &str) -> Ran {
    match step {
        Step::Await(leaf) => Ok(make(ctx, *leaf).await),
        Step::Unordered(leaves) => {
            let open: FuturesUnordered<_> = leaves.iter().map(|leaf| make(ctx, *leaf)).collect();
            Ok(open.collect::<Vec<_>>().await.join("|"))
        }
        Step::Race(first, second, fate) => Ok(race(ctx, *first, *second, *fate).await),
        Step::MakeAndDrop(leaf) => {
            drop(make(ctx, *leaf));
            Ok(String::new())
        }
        Step::Retry { attempts, pause_ms, limit_ms } => {
            let mut policy =
                RetryPolicy::new(*attempts).with_backoff(BackoffStrategy::Fixed { delay: ms(*pause_ms) });
            policy.timeout = limit_ms.map(ms);
            Ok(format!("{:?}", ctx.schedule_activity_with_retry("retried", learnt, policy).await))
        }
        Step::Guid => Ok(format!("{:?}", ctx.new_guid().await)),
        Step::Yield => {
            yield_now(1).await;
            Ok(String::new())
        }
        Step::Prune(keep) => Ok(make(ctx, Leaf::Prune(*keep)).await),
        Step::Bag(ops) => Ok(bag(ctx, ops).await),
        Step::Keep(kept, each, times) => Ok(keep(ctx, *kept, *each, *times).await),
        Step::PanicInMap(leaf) => {
            let leaf = *leaf;
            Ok(make(ctx, leaf).map(move |_| -> String { panic!("{leaf:?} panicked") }).await)
        }
        Step::Join(_) | Step::Select(_) | Step::Hold(..) | Step::Timeout(..) | Step::Drain(..) => {
            take_side_by_side(ctx, step, executions).await
        }
        Step::Catch(_) | Step::Guarded(..) | Step::Shared(..) | Step::Channel(..) | Step::Nested(..) => {
            take_tangled(ctx, step, executions).await
        }
        Step::NextUnawaited | Step::NextTwice | Step::NextAnd(..) | Step::TooMuch(_) => {
            go_too_far(ctx, step, executions);
            Ok(String::new())
        }
        Step::Next | Step::NextPruned | Step::Return | Step::Fail | Step::Panic => {
            end(ctx, step, executions, learnt).await
        }
        state => Ok(take_state(ctx, state, learnt)),
    }
}

/// Steps that end the execution, if only in its first runs.
async fn end(ctx: &OrchestrationContext, step: &Step, executions: u32, learnt: &str) -> Ran {
    let goes_on = executions < 2;
    match step {
        Step::Next if goes_on => Err(ctx.continue_as_new((executions + 1).to_string()).await),
        Step::NextPruned if goes_on => {
            let prune = PruneOptions { keep_last: Some(1), completed_before: None };
            Err(ctx.continue_as_new_pruned((executions + 1).to_string(), prune).await)
        }
        Step::Fail => Err(Err(format!("failed after {learnt}"))),
        Step::Panic => panic!("panicked after {learnt}"),
        _ => Err(Ok(format!("returned after {learnt}"))),
    }
}

/// Steps that are over at once.
fn take_state(ctx: &OrchestrationContext, step: &Step, learnt: &str) -> String {
    match step {
        Step::Say => ctx.trace_info(format!("says {learnt}")),
        Step::KvAppend(key) => {
            let key = format!("k{key}");
            let value = ctx.get_kv_value(&key).unwrap_or_default();
            ctx.set_kv_value(key, format!("{value}+{}", learnt.len()));
        }
        Step::KvRead(key) => return format!("{:?}", ctx.get_kv_value(&format!("k{key}"))),
        Step::KvClear(key) => ctx.clear_kv_value(format!("k{key}")),
        Step::KvClearAll => ctx.clear_all_kv_values(),
        Step::KvPrune(before) => {
            return ctx.prune_kv_values_updated_before(u64::from(*before)).to_string();
        }
        Step::Status(status) => ctx.set_custom_status(format!("{status} {learnt}")),
        Step::StatusReset => ctx.reset_custom_status(),
        Step::Detach(name) => ctx.schedule_orchestration("Detached", format!("d{name}"), learnt),
        other => unreachable!("{other:?} is not over at once"),
    }
    String::new()
}

async fn race(ctx: &OrchestrationContext, first: Leaf, second: Leaf, fate: Fate) -> String {
    let mut first = make(ctx, first);
    let mut second = make(ctx, second);
    match (ctx.select2(&mut first, &mut second).await, fate) {
        (Either2::First(won), Fate::Awaited) => format!("1:{won},{}", second.await),
        (Either2::Second(won), Fate::Awaited) => format!("2:{won},{}", first.await),
        (Either2::First(won), Fate::Dropped) => format!("1:{won}"),
        (Either2::Second(won), Fate::Dropped) => format!("2:{won}"),
    }
}

/// One thing that has an answer, as a future.
pub(super) fn make(ctx: &OrchestrationContext, leaf: Leaf) -> DurableFuture<String> {
    let ended = |result: Result<String, String>| format!("{result:?}");
    match leaf {
        Leaf::Activity(name) => ctx.schedule_activity(format!("a{name}"), "in").map(ended),
        Leaf::Tagged(name) => ctx.schedule_activity("tagged", "in").with_tag(format!("t{name}")).map(ended),
        Leaf::OnSession(name) => {
            ctx.schedule_activity_on_session("on-session", "in", format!("s{name}")).map(ended)
        }
        Leaf::Timer(delay) => ctx.schedule_timer(ms(delay)).map(|()| "fired".to_owned()),
        Leaf::Wait(name) => ctx.schedule_wait(format!("w{name}")),
        Leaf::Dequeue(name) => {
            let ctx_to_say = ctx.clone();
            ctx.dequeue_event(format!("q{name}")).map(move |message| {
                ctx_to_say.trace_debug(format!("read {message}"));
                message
            })
        }
        Leaf::Child(name) => ctx.schedule_sub_orchestration(format!("Child{name}"), "in").map(ended),
        Leaf::NamedChild(name) => {
            ctx.schedule_sub_orchestration_with_id("Named", format!("c{name}"), "in").map(ended)
        }
        Leaf::Typed(name) => ctx
            .schedule_activity_typed::<_, String>(format!("typed{name}"), &12_u32)
            .map(ended)
            .with_tag("late"),
        Leaf::Prune(keep) => {
            let options = PruneOptions { keep_last: Some(u32::from(keep)), completed_before: None };
            ctx.prune_history(options).map(|result| format!("{result:?}"))
        }
        Leaf::AsksInMap(what) => {
            let asking = ctx.clone();
            ctx.schedule_activity("asks", "").map(move |result| {
                ask(&asking, what, 0);
                ended(result)
            })
        }
        Leaf::AsksWhenGone(what) => {
            let guard = AsksWhenDropped { ctx: ctx.clone(), what, executions: 9 };
            ctx.schedule_activity("guarded", "").map(move |result| {
                drop(guard);
                ended(result)
            })
        }
        Leaf::TryTypedWait(name) => {
            ctx.try_schedule_wait_typed::<u32>(format!("w{name}")).map(|result| format!("{result:?}"))
        }
        Leaf::TypedWait(name) => {
            ctx.schedule_wait_typed::<String>(format!("w{name}")).map(|result| format!("{result:?}"))
        }
    }
}

pub(super) fn ms(millis: u16) -> Duration {
    Duration::from_millis(u64::from(millis))
}
