//! Steps as code that runs against either context: the engine's, or the model's.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use abide_engine::model::EventKind;
use abide_engine::{DurableFuture, OrchestrationContext};
use futures::future::BoxFuture;

use crate::program::{Fate, InBag, Leaf, Step};

/// What the code is written against.
pub(super) trait Asks: Clone + Send + Sync + 'static {
    type Answer: Future<Output = String> + Send + Unpin;

    fn leaf(&self, leaf: Leaf) -> Self::Answer;
    /// Changes state, or starts something detached: an event without an answer.
    fn state(&self, kind: EventKind);
    fn next(&self, input: String);
    fn join<'a>(&'a self, all: Vec<BoxFuture<'a, Ran>>) -> BoxFuture<'a, Vec<Ran>>;
}

/// What a list of steps comes to: what it learnt, or the end of the whole program.
pub(super) type Ran = Result<String, Result<String, String>>;

impl Asks for OrchestrationContext {
    type Answer = DurableFuture<String>;

    fn leaf(&self, leaf: Leaf) -> DurableFuture<String> {
        let ended = |result: Result<String, String>| format!("{result:?}");
        match leaf {
            Leaf::Timer(delay) => {
                self.schedule_timer(Duration::from_millis(u64::from(delay))).map(|()| "fired".to_owned())
            }
            Leaf::Wait(name) => self.schedule_wait(format!("w{name}")),
            Leaf::Dequeue(name) => self.dequeue_event(format!("q{name}")),
            Leaf::Child(name) => self.schedule_sub_orchestration(format!("Child{name}"), "in").map(ended),
            other => self.schedule_activity(activity_name(other), "in").map(ended),
        }
    }

    fn state(&self, kind: EventKind) {
        match kind {
            EventKind::KeyValueSet { key, value, .. } => self.set_kv_value(key, value),
            EventKind::KeyValueCleared { key } => self.clear_kv_value(key),
            EventKind::CustomStatusUpdated { status: Some(status) } => self.set_custom_status(status),
            EventKind::CustomStatusUpdated { status: None } => self.reset_custom_status(),
            EventKind::OrchestrationChained { name, instance, input } => {
                self.schedule_orchestration(name, instance, input);
            }
            other => unreachable!("{other:?} is no state"),
        }
    }

    fn next(&self, input: String) {
        drop(self.continue_as_new(input));
    }

    fn join<'a>(&'a self, all: Vec<BoxFuture<'a, Ran>>) -> BoxFuture<'a, Vec<Ran>> {
        Box::pin(OrchestrationContext::join(self, all))
    }
}

/// Every leaf that the model has no family for is an activity.
pub(super) fn activity_name(leaf: Leaf) -> String {
    match leaf {
        Leaf::Activity(name) => format!("a{name}"),
        _ => "other".to_owned(),
    }
}

pub(super) fn run<'a, A: Asks>(ctx: &'a A, steps: &'a [Step]) -> BoxFuture<'a, Ran> {
    Box::pin(async move {
        let mut learnt = String::new();
        for step in steps {
            learnt.push_str(&take(ctx, step).await?);
            learnt.push(';');
        }
        Ok(learnt)
    })
}

async fn take<A: Asks>(ctx: &A, step: &Step) -> Ran {
    match step {
        Step::Await(leaf) => Ok(ctx.leaf(*leaf).await),
        Step::Race(one, two, fate) => {
            let mut futures = [ctx.leaf(*one), ctx.leaf(*two)];
            let (winner, won) = first(futures.iter_mut().collect()).await;
            let other = &mut futures[1 - winner];
            Ok(match fate {
                Fate::Awaited => format!("{winner}:{won},{}", other.await),
                Fate::Dropped => format!("{winner}:{won}"),
            })
        }
        Step::Keep(kept, each, times) => Ok(keep(ctx, *kept, *each, *times).await),
        Step::Bag(ops) => Ok(bag(ctx, ops).await),
        Step::MakeAndDrop(leaf) => {
            drop(ctx.leaf(*leaf));
            Ok(String::new())
        }
        Step::Join(_) | Step::Select(_) | Step::Nested(..) | Step::Hold(..) => take_several(ctx, step).await,
        Step::Next | Step::NextUnawaited => {
            ctx.next("2".to_owned());
            std::future::pending().await
        }
        Step::Return => Err(Ok("returned".to_owned())),
        Step::Fail => Err(Err("failed".to_owned())),
        other => {
            if let Some(kind) = state_of(other) {
                ctx.state(kind);
            }
            Ok(String::new())
        }
    }
}

/// The event that a step leaves which is over at once; `None` for the steps that this code leaves out.
fn state_of(step: &Step) -> Option<EventKind> {
    match step {
        Step::KvAppend(key) => Some(EventKind::KeyValueSet {
            key: format!("k{key}"),
            value: "v".to_owned(),
            last_updated_at_ms: 0,
        }),
        Step::KvClear(key) => Some(EventKind::KeyValueCleared { key: format!("k{key}") }),
        Step::Status(status) => Some(EventKind::CustomStatusUpdated { status: Some(status.to_string()) }),
        Step::StatusReset => Some(EventKind::CustomStatusUpdated { status: None }),
        Step::Detach(name) => Some(EventKind::OrchestrationChained {
            name: "Detached".to_owned(),
            instance: format!("d{name}"),
            input: String::new(),
        }),
        _ => None,
    }
}

/// Steps that have steps inside.
async fn take_several<A: Asks>(ctx: &A, step: &Step) -> Ran {
    match step {
        Step::Join(branches) => {
            let all = branches.iter().map(|steps| run(ctx, steps)).collect();
            let learnt: Result<Vec<_>, _> = ctx.join(all).await.into_iter().collect();
            Ok(learnt?.join("&"))
        }
        Step::Select(branches) => {
            let (winner, ran) = first(branches.iter().map(|steps| run(ctx, steps)).collect()).await;
            Ok(format!("{winner}:{}", ran?))
        }
        Step::Nested(a, b, c) => {
            let inner: BoxFuture<'_, Ran> = Box::pin(async { first(vec![run(ctx, a), run(ctx, b)]).await.1 });
            let (winner, ran) = first(vec![run(ctx, c), inner]).await;
            Ok(format!("{winner}:{}", ran?))
        }
        Step::Hold(leaf, steps, fate) => {
            let held = ctx.leaf(*leaf);
            let mut learnt = run(ctx, steps).await?;
            match fate {
                Fate::Awaited => learnt.push_str(&held.await),
                Fate::Dropped => drop(held),
            }
            Ok(learnt)
        }
        other => unreachable!("{other:?} has no steps inside"),
    }
}

/// The first that is ready, polled in order; the others are dropped.
async fn first<F: Future + Unpin>(mut all: Vec<F>) -> (usize, F::Output) {
    poll_fn(move |cx| {
        for (place, future) in all.iter_mut().enumerate() {
            if let Poll::Ready(value) = Pin::new(future).poll(cx) {
                return Poll::Ready((place, value));
            }
        }
        Poll::Pending
    })
    .await
}

async fn keep<A: Asks>(ctx: &A, kept: Leaf, each: Leaf, times: u8) -> String {
    let mut kept = ctx.leaf(kept);
    let mut learnt = String::new();
    for _ in 0..times {
        let mut one = ctx.leaf(each);
        let (winner, news) = first(vec![&mut kept, &mut one]).await;
        learnt.push_str(&news);
        if winner == 0 {
            break;
        }
    }
    learnt
}

async fn bag<A: Asks>(ctx: &A, ops: &[InBag]) -> String {
    let mut bag: Vec<A::Answer> = Vec::new();
    let mut learnt = String::new();
    for op in ops {
        let length = bag.len();
        let at = |place: u8| usize::from(place).checked_rem(length);
        match op {
            InBag::Put(leaf) => bag.push(ctx.leaf(*leaf)),
            InBag::Await(place) => {
                if let Some(place) = at(*place) {
                    learnt.push_str(&bag.remove(place).await);
                }
            }
            InBag::Drop(place) => {
                if let Some(place) = at(*place) {
                    drop(bag.remove(place));
                }
            }
            InBag::First => {
                if !bag.is_empty() {
                    let (place, news) = first(bag.iter_mut().collect()).await;
                    learnt.push_str(&news);
                    drop(bag.swap_remove(place));
                }
            }
            InBag::Other(leaf) => learnt.push_str(&ctx.leaf(*leaf).await),
            InBag::Peek(_) | InBag::All | InBag::Swap(_) => {}
        }
    }
    learnt
}
