//! Waiting for several things; any future will do, not only durable ones.
//!
//! These use real wakers: a join of N polls each child once at first, and then only the child that has
//! something new, N polls more in all. If several futures of a race are ready at once, the first argument wins.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use abide_model::{Either2, Either3};
use futures_util::future;
use futures_util::stream::{FuturesOrdered, StreamExt};

use super::OrchestrationContext;

impl OrchestrationContext {
    /// Waits for all, and gives their results in the order of the futures.
    ///
    /// ```
    /// # use abide_engine::OrchestrationContext;
    /// async fn example(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    ///     let quotes = ["a", "b", "c"].map(|shop| ctx.schedule_activity("Quote", shop));
    ///     let quotes: Result<Vec<String>, String> = ctx.join(quotes.into()).await.into_iter().collect();
    ///     Ok(quotes?.join(", "))
    /// }
    /// # let _ = example;
    /// ```
    pub async fn join<T, F>(&self, futures: Vec<F>) -> Vec<T>
    where
        F: Future<Output = T>,
    {
        futures.into_iter().collect::<FuturesOrdered<_>>().collect().await
    }

    /// Waits for both.
    pub async fn join2<T1, T2, F1, F2>(&self, f1: F1, f2: F2) -> (T1, T2)
    where
        F1: Future<Output = T1>,
        F2: Future<Output = T2>,
    {
        future::join(f1, f2).await
    }

    /// Waits for all three.
    pub async fn join3<T1, T2, T3, F1, F2, F3>(&self, f1: F1, f2: F2, f3: F3) -> (T1, T2, T3)
    where
        F1: Future<Output = T1>,
        F2: Future<Output = T2>,
        F3: Future<Output = T3>,
    {
        future::join3(f1, f2, f3).await
    }

    /// Waits for the first, and drops the other: what it stands for is taken back. Pass `&mut future` to
    /// keep it.
    pub async fn select2<T1, T2, F1, F2>(&self, f1: F1, f2: F2) -> Either2<T1, T2>
    where
        F1: Future<Output = T1>,
        F2: Future<Output = T2>,
    {
        let mut f1 = pin!(f1);
        let mut f2 = pin!(f2);
        poll_fn(|cx| {
            if let Poll::Ready(value) = f1.as_mut().poll(cx) {
                return Poll::Ready(Either2::First(value));
            }
            f2.as_mut().poll(cx).map(Either2::Second)
        })
        .await
    }

    /// Waits for the first of three, and drops the others.
    pub async fn select3<T1, T2, T3, F1, F2, F3>(&self, f1: F1, f2: F2, f3: F3) -> Either3<T1, T2, T3>
    where
        F1: Future<Output = T1>,
        F2: Future<Output = T2>,
        F3: Future<Output = T3>,
    {
        match self.select2(f1, self.select2(f2, f3)).await {
            Either2::First(value) => Either3::First(value),
            Either2::Second(Either2::First(value)) => Either3::Second(value),
            Either2::Second(Either2::Second(value)) => Either3::Third(value),
        }
    }

    /// Waits for the first of many, drops the others, and says which one it was.
    ///
    /// ```
    /// # use abide_engine::OrchestrationContext;
    /// async fn example(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    ///     let mirrors = ["eu", "us"].map(|mirror| ctx.schedule_activity("Download", mirror));
    ///     let (fastest, file) = ctx.select_all(mirrors.into()).await;
    ///     ctx.trace_info(format!("mirror {fastest} was first"));
    ///     file
    /// }
    /// # let _ = example;
    /// ```
    ///
    /// # Panics
    ///
    /// If `futures` is empty: this fails the orchestration.
    pub async fn select_all<T, F>(&self, futures: Vec<F>) -> (usize, T)
    where
        F: Future<Output = T>,
    {
        assert!(
            !futures.is_empty(),
            "select_all() needs at least one future: with none it would wait for ever"
        );
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
}
