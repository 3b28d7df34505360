//! What compiles and has to work too: the ways in which programs combine durable futures, and how they stop.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use duroxide::providers::memory::InMemoryProvider;
use duroxide::runtime::Runtime;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::{
    Client, Either2, OrchestrationContext, OrchestrationRegistry, OrchestrationStatus, RuntimeOptions,
};
use futures::FutureExt;
use futures::future::{Either, join_all, select};

const LONG: Duration = Duration::from_secs(30);

/// Activities that answer at once, and one that never does.
fn activities() -> ActivityRegistry {
    ActivityRegistry::builder()
        .register("Echo", |_, input| async move { Ok(input) })
        .register("Never", |ctx, _| async move {
            ctx.cancelled().await;
            Err("cancelled".to_owned())
        })
        .build()
}

async fn run<F, Fut>(code: F) -> Result<String, String>
where
    F: Fn(OrchestrationContext, String) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<String, String>> + Send + 'static,
{
    let store = Arc::new(InMemoryProvider::new());
    let orchestrations = OrchestrationRegistry::builder().register("Code", code).build();
    let runtime = Runtime::start_with_store(store.clone(), activities(), orchestrations).await;
    let client = Client::new(store);
    client.start_orchestration("i", "Code", "in").await.unwrap();
    let ended = client.wait_for_orchestration("i", LONG).await.unwrap();
    runtime.shutdown(None).await;
    match ended {
        OrchestrationStatus::Completed { output, .. } => Ok(output),
        OrchestrationStatus::Failed { details, .. } => Err(details.display_message()),
        other @ (OrchestrationStatus::NotFound | OrchestrationStatus::Running { .. }) => {
            panic!("not ended: {other:?}")
        }
    }
}

#[tokio::test]
async fn a_race_may_borrow_and_the_loser_may_go_on() {
    let ended = run(|ctx, input| async move {
        let mut slow = ctx.schedule_timer(Duration::from_millis(20));
        let first = ctx.select2(ctx.schedule_activity("Echo", input), &mut slow).await;
        slow.await;
        match first {
            Either2::First(echo) => echo,
            Either2::Second(()) => Err("the timer was first".to_owned()),
        }
    });
    assert_eq!(ended.await.as_deref(), Ok("in"));
}

#[tokio::test]
async fn the_combinators_of_the_futures_crate_work() {
    let ended = run(|ctx, _| async move {
        let echoes = join_all((0..3).map(|n: i32| ctx.schedule_activity("Echo", n.to_string()))).await;
        let echoes: Result<Vec<_>, _> = echoes.into_iter().collect();
        let timer = ctx.schedule_timer(Duration::from_millis(1));
        match select(ctx.schedule_activity("Never", ""), timer).await {
            Either::Left((answer, _timer)) => answer,
            Either::Right(((), _never)) => Ok(echoes?.join(",")),
        }
    });
    assert_eq!(ended.await.as_deref(), Ok("0,1,2"));
}

#[tokio::test]
async fn a_panic_around_a_durable_future_can_be_caught() {
    let ended = run(|ctx, input| async move {
        let echo = ctx.schedule_activity("Echo", input);
        let caught = AssertUnwindSafe(async {
            let _echo = echo.await;
            panic!("on purpose")
        });
        let outcome: Result<(), _> = caught.catch_unwind().await;
        Ok(outcome.is_err().to_string())
    });
    assert_eq!(ended.await.as_deref(), Ok("true"));
}

#[test]
fn a_shutdown_at_once_needs_no_tokio_to_be_awaited_in() {
    let tokio = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let store = Arc::new(InMemoryProvider::new());
    let options = RuntimeOptions { worker_concurrency: 1, ..Default::default() };
    let registry = OrchestrationRegistry::default();
    let runtime = tokio.block_on(Runtime::start_with_options(store.clone(), activities(), registry, options));

    futures::executor::block_on(runtime.shutdown(Some(0)));

    assert_eq!(Arc::strong_count(&store), 1, "nothing is left that holds the store");
}
