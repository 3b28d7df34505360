//! Waiting for several things.
//!
//! These use real wakers: a join of N polls each child once at first, and then only the child that has
//! something new, N polls more in all.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use abide_model::{Either2, Either3};
use futures_util::future;
use futures_util::stream::{FuturesOrdered, StreamExt};

/// All results, in the order of the futures.
pub(crate) async fn join<T, F: Future<Output = T>>(futures: Vec<F>) -> Vec<T> {
    futures.into_iter().collect::<FuturesOrdered<_>>().collect().await
}

/// Both results.
pub(crate) async fn join2<A: Future, B: Future>(first: A, second: B) -> (A::Output, B::Output) {
    future::join(first, second).await
}

/// All three results.
pub(crate) async fn join3<A: Future, B: Future, C: Future>(
    first: A,
    second: B,
    third: C,
) -> (A::Output, B::Output, C::Output) {
    future::join3(first, second, third).await
}

/// The first result; if several are there at once, that of the first argument. The others are dropped.
pub(crate) async fn select2<A: Future, B: Future>(first: A, second: B) -> Either2<A::Output, B::Output> {
    let mut first = pin!(first);
    let mut second = pin!(second);
    poll_fn(|cx| {
        if let Poll::Ready(value) = first.as_mut().poll(cx) {
            return Poll::Ready(Either2::First(value));
        }
        second.as_mut().poll(cx).map(Either2::Second)
    })
    .await
}

/// The first result of three.
pub(crate) async fn select3<A: Future, B: Future, C: Future>(
    first: A,
    second: B,
    third: C,
) -> Either3<A::Output, B::Output, C::Output> {
    match select2(first, select2(second, third)).await {
        Either2::First(value) => Either3::First(value),
        Either2::Second(Either2::First(value)) => Either3::Second(value),
        Either2::Second(Either2::Second(value)) => Either3::Third(value),
    }
}

/// The first result of many, and whose it is.
pub(crate) async fn select_all<T, F: Future<Output = T>>(futures: Vec<F>) -> (usize, T) {
    assert!(!futures.is_empty(), "select_all() needs at least one future: with none it would wait for ever");
    let mut futures: Vec<_> = futures.into_iter().map(Box::pin).collect();
    poll_fn(|cx| {
        for (index, future) in futures.iter_mut().enumerate() {
            if let Poll::Ready(value) = future.as_mut().poll(cx) {
                return Poll::Ready((index, value));
            }
        }
        Poll::Pending
    })
    .await
}
