//! 2: what activities see, and 3: their handlers.

use std::fmt::Debug;
use std::future::Future;
use std::sync::Arc;

use duroxide::runtime::{ActivityHandler, FnActivity};
use duroxide::{ActivityContext as Ctx, Client};
use tokio_util::sync::CancellationToken;

use super::Text;

const fn is_handle<T: Clone + Debug + Send + Sync + 'static>() {}
const _: () = is_handle::<Ctx>();

const _: fn(&Ctx) -> &str = Ctx::instance_id;
const _: fn(&Ctx) -> u64 = Ctx::execution_id;
const _: fn(&Ctx) -> &str = Ctx::orchestration_name;
const _: fn(&Ctx) -> &str = Ctx::orchestration_version;
const _: fn(&Ctx) -> &str = Ctx::activity_name;
const _: fn(&Ctx) -> &str = Ctx::worker_id;
const _: fn(&Ctx) -> Option<&str> = Ctx::session_id;
const _: fn(&Ctx) -> Option<&str> = Ctx::tag;
const _: fn(&Ctx) -> bool = Ctx::is_cancelled;
const _: fn(&Ctx) -> bool = Ctx::is_cancellation_requested;
const _: fn(&Ctx) -> CancellationToken = Ctx::cancellation_token;
const _: fn(&Ctx) -> Client = Ctx::get_client;

fn _tracing<A: Text, B: Text, C: Text, D: Text>(ctx: &Ctx, a: A, b: B, c: C, d: D) {
    let () = ctx.trace_info(a);
    let () = ctx.trace_warn(b);
    let () = ctx.trace_error(c);
    let () = ctx.trace_debug(d);
}

async fn _cancelled(ctx: &Ctx) {
    let () = ctx.cancelled().await;
}

fn _function<F, Fut>(f: F) -> Arc<dyn ActivityHandler>
where
    F: Fn(Ctx, String) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<String, String>> + Send + 'static,
{
    let function = FnActivity(f);
    Arc::new(FnActivity(function.0))
}

struct Mine;

#[async_trait::async_trait]
impl ActivityHandler for Mine {
    async fn invoke(&self, ctx: Ctx, input: String) -> Result<String, String> {
        Ok(format!("{}{input}", ctx.activity_name()))
    }
}

#[async_trait::async_trait]
impl duroxide::OrchestrationHandler for Mine {
    async fn invoke(&self, ctx: duroxide::OrchestrationContext, input: String) -> Result<String, String> {
        ctx.schedule_activity("Mine", input).await
    }
}
