//! Steps that have steps or futures inside.

use std::panic::AssertUnwindSafe;

use abide_engine::model::Either2;
use abide_engine::{DurableFuture, OrchestrationContext};
use futures::channel::oneshot;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};

use super::interpret::{Ran, make, ms, run};
use super::odd::AsksWhenDropped;
use super::{Fate, InBag, Leaf, Step};

/// Steps with steps inside that run side by side with other things.
pub(super) async fn take_side_by_side(ctx: &OrchestrationContext, step: &Step, executions: u32) -> Ran {
    match step {
        Step::Join(branches) => {
            let branches = branches.iter().map(|steps| run(ctx, steps, executions)).collect();
            let learnt: Result<Vec<_>, _> = ctx.join(branches).await.into_iter().collect();
            Ok(learnt?.join("&"))
        }
        Step::Select(branches) => {
            let branches = branches.iter().map(|steps| run(ctx, steps, executions)).collect();
            let (winner, learnt) = ctx.select_all(branches).await;
            Ok(format!("{winner}:{}", learnt?))
        }
        Step::Hold(leaf, steps, fate) => {
            let held = make(ctx, *leaf);
            let mut learnt = run(ctx, steps, executions).await?;
            match fate {
                Fate::Awaited => learnt.push_str(&held.await),
                Fate::Dropped => drop(held),
            }
            Ok(learnt)
        }
        Step::Timeout(limit, steps) => match ctx.timeout(ms(*limit), run(ctx, steps, executions)).await {
            Ok(learnt) => learnt,
            Err(elapsed) => Ok(elapsed.to_string()),
        },
        Step::Drain(leaves, taken, between) => {
            let mut open: FuturesUnordered<_> = leaves.iter().map(|leaf| make(ctx, *leaf)).collect();
            let mut learnt = String::new();
            for _ in 0..*taken {
                let Some(news) = open.next().await else { break };
                learnt.push_str(&news);
                learnt.push_str(&run(ctx, between, executions).await?);
                if learnt.len().is_multiple_of(3) {
                    open.push(make(ctx, leaves[0]));
                }
            }
            Ok(learnt)
        }
        other => unreachable!("{other:?} has nothing beside it"),
    }
}

/// Steps with steps inside that are caught, guarded, shared, told or nested.
pub(super) async fn take_tangled(ctx: &OrchestrationContext, step: &Step, executions: u32) -> Ran {
    match step {
        Step::Catch(steps) => match AssertUnwindSafe(run(ctx, steps, executions)).catch_unwind().await {
            Ok(ran) => ran,
            Err(payload) => Ok(format!("caught {:?}", payload.downcast_ref::<String>())),
        },
        Step::Guarded(what, steps) => {
            let _guard = AsksWhenDropped { ctx: ctx.clone(), what: *what, executions };
            run(ctx, steps, executions).await
        }
        Step::Shared(leaf, steps) => {
            let shared = make(ctx, *leaf).shared();
            let other = shared.clone();
            let beside = async {
                let learnt = run(ctx, steps, executions).await;
                let news = other.await;
                learnt.map(|learnt| learnt + &news)
            };
            let (one, two) = ctx.join2(shared, beside).await;
            Ok(one + &two?)
        }
        Step::Channel(leaf, steps) => {
            let (sender, receiver) = oneshot::channel::<String>();
            let tells = async {
                let news = make(ctx, *leaf).await;
                drop(sender.send(news));
            };
            let hears = async {
                let told = receiver.await;
                let learnt = run(ctx, steps, executions).await;
                learnt.map(|learnt| format!("{told:?}{learnt}"))
            };
            ctx.join2(tells, hears).await.1
        }
        Step::Nested(a, b, c) => {
            let inner = ctx.select2(run(ctx, a, executions), run(ctx, b, executions));
            let outer = ctx.select2(run(ctx, c, executions), inner).await;
            Ok(match outer {
                Either2::First(won) => format!("c{}", won?),
                Either2::Second(Either2::First(won)) => format!("a{}", won?),
                Either2::Second(Either2::Second(won)) => format!("b{}", won?),
            })
        }
        other => unreachable!("{other:?} is not tangled"),
    }
}

/// Futures in a bag, and what happens to them in order.
pub(super) async fn bag(ctx: &OrchestrationContext, ops: &[InBag]) -> String {
    let mut bag: Vec<DurableFuture<String>> = Vec::new();
    let mut learnt = String::new();
    let at = |place: u8, bag: &[DurableFuture<String>]| usize::from(place).checked_rem(bag.len());
    for op in ops {
        match op {
            InBag::Put(leaf) => bag.push(make(ctx, *leaf)),
            InBag::Await(place) => {
                if let Some(place) = at(*place, &bag) {
                    learnt.push_str(&bag.remove(place).await);
                }
            }
            InBag::Drop(place) => {
                if let Some(place) = at(*place, &bag) {
                    drop(bag.remove(place));
                }
            }
            InBag::Peek(place) => {
                if let Some(place) = at(*place, &bag)
                    && let Some(news) = (&mut bag[place]).now_or_never()
                {
                    learnt.push_str(&news);
                    drop(bag.remove(place));
                }
            }
            InBag::First => {
                if !bag.is_empty() {
                    let (place, news) = ctx.select_all(bag.iter_mut().collect()).await;
                    learnt.push_str(&news);
                    drop(bag.swap_remove(place));
                }
            }
            InBag::Other(leaf) => learnt.push_str(&make(ctx, *leaf).await),
            InBag::All => learnt.push_str(&ctx.join(std::mem::take(&mut bag)).await.join("&")),
            InBag::Swap(place) => {
                if let Some(place) = at(*place, &bag) {
                    bag.swap(0, place);
                }
            }
        }
        learnt.push(',');
    }
    learnt
}

/// Races one future after the other against one that is kept.
pub(super) async fn keep(ctx: &OrchestrationContext, kept: Leaf, each: Leaf, times: u8) -> String {
    let mut kept = make(ctx, kept);
    let mut learnt = String::new();
    for _ in 0..times {
        match ctx.select2(&mut kept, make(ctx, each)).await {
            Either2::First(news) => return learnt + &news,
            Either2::Second(news) => learnt.push_str(&news),
        }
    }
    learnt
}
