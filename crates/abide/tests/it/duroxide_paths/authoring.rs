//! 1: what orchestrations are written in.

use std::collections::HashMap;
use std::future::Future;
use std::time::{Duration, SystemTime};

use duroxide::runtime::{FnOrchestration, OrchestrationHandler};
use duroxide::{
    BackoffStrategy, DurableFuture, Either2, Either3, Event, LogLevel, OrchestrationContext as Ctx,
    RetryPolicy, ScheduleKind, SystemStats,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Text;

/// The result of an activity or a child.
type Ends<T> = DurableFuture<Result<T, String>>;

const fn gives<T, F: Future<Output = T>>(future: F) -> F {
    future
}

const fn sent<T: Send>(value: T) -> T {
    value
}

// 1.1, identity, tracing

const _: fn(Vec<Event>, u64, String, String, String, Option<String>) -> Ctx = Ctx::new;
const _: fn(&Ctx) -> String = Ctx::instance_id;
const _: fn(&Ctx) -> u64 = Ctx::execution_id;
const _: fn(&Ctx) -> String = Ctx::orchestration_name;
const _: fn(&Ctx) -> String = Ctx::orchestration_version;
const _: fn(&Ctx) -> bool = Ctx::is_replaying;
const _: fn(&Ctx) -> bool = Ctx::is_logging_enabled;

fn _tracing<A: Text, B: Text>(ctx: &Ctx, a: A, b: B) {
    let () = ctx.trace(a, b);
    let () = ctx.trace_info("x");
    let () = ctx.trace_warn(String::new());
    let () = ctx.trace_error("x");
    let () = ctx.trace_debug("x");
}

// 1.1, activities

fn _activity<A: Text, B: Text>(ctx: &Ctx, name: A, input: B) -> Ends<String> {
    ctx.schedule_activity(name, input)
}

fn _activity_typed<In: Serialize, Out: DeserializeOwned + Send + 'static, A: Text>(
    ctx: &Ctx,
    name: A,
    input: &In,
) -> Ends<Out> {
    ctx.schedule_activity_typed::<In, Out>(name, input)
}

fn _on_session<A: Text, B: Text, C: Text>(ctx: &Ctx, name: A, input: B, session: C) -> Ends<String> {
    ctx.schedule_activity_on_session(name, input, session)
}

fn _on_session_typed<In: Serialize, Out: DeserializeOwned + Send + 'static, A: Text, C: Text>(
    ctx: &Ctx,
    name: A,
    input: &In,
    session: C,
) -> Ends<Out> {
    ctx.schedule_activity_on_session_typed::<In, Out>(name, input, session)
}

async fn _retry<A: Text, B: Text>(
    ctx: &Ctx,
    name: A,
    input: B,
    policy: RetryPolicy,
) -> Result<String, String> {
    ctx.schedule_activity_with_retry(name, input, policy).await
}

async fn _retry_typed<In: Serialize, Out: DeserializeOwned, A: Text>(
    ctx: &Ctx,
    name: A,
    input: &In,
    policy: RetryPolicy,
) -> Result<Out, String> {
    ctx.schedule_activity_with_retry_typed::<In, Out>(name, input, policy).await
}

async fn _retry_on_session<A: Text, B: Text, C: Text>(
    ctx: &Ctx,
    name: A,
    input: B,
    policy: RetryPolicy,
    session: C,
) -> Result<String, String> {
    ctx.schedule_activity_with_retry_on_session(name, input, policy, session).await
}

async fn _retry_on_session_typed<In: Serialize, Out: DeserializeOwned, A: Text, C: Text>(
    ctx: &Ctx,
    name: A,
    input: &In,
    policy: RetryPolicy,
    session: C,
) -> Result<Out, String> {
    ctx.schedule_activity_with_retry_on_session_typed::<In, Out>(name, input, policy, session).await
}

// 1.1, timers and events

const _: fn(&Ctx, Duration) -> DurableFuture<()> = Ctx::schedule_timer;

fn _wait<A: Text>(ctx: &Ctx, name: A) -> DurableFuture<String> {
    ctx.schedule_wait(name)
}

fn _wait_typed<T: DeserializeOwned + Send + 'static, A: Text>(ctx: &Ctx, name: A) -> DurableFuture<T> {
    ctx.schedule_wait_typed::<T>(name)
}

fn _dequeue<A: Text>(ctx: &Ctx, queue: A) -> DurableFuture<String> {
    ctx.dequeue_event(queue)
}

fn _dequeue_typed<T: DeserializeOwned, A: Text>(ctx: &Ctx, queue: A) -> impl Future<Output = T> {
    ctx.dequeue_event_typed::<T>(queue)
}

#[expect(deprecated, reason = "the older names are part of the API, and say that they are older")]
fn _persistent<A: Text>(ctx: &Ctx, queue: A) -> DurableFuture<String> {
    ctx.schedule_wait_persistent(queue)
}

#[expect(deprecated, reason = "the older names are part of the API, and say that they are older")]
fn _persistent_typed<T: DeserializeOwned, A: Text>(ctx: &Ctx, queue: A) -> impl Future<Output = T> {
    ctx.schedule_wait_persistent_typed::<T>(queue)
}

// 1.1, children and detached orchestrations

fn _children<A: Text, B: Text, C: Text>(ctx: &Ctx, [a, b, c, d]: [A; 4], [p, q]: [B; 2], i: [C; 4]) {
    let [i, j, k, l] = i;
    let _: [Ends<String>; 4] = [
        ctx.schedule_sub_orchestration(a, i),
        ctx.schedule_sub_orchestration_with_id(b, p, j),
        ctx.schedule_sub_orchestration_versioned(c, None::<String>, k),
        ctx.schedule_sub_orchestration_versioned_with_id(d, Some(String::new()), q, l),
    ];
}

fn _child_typed<In: Serialize, Out: DeserializeOwned + Send + 'static, A: Text>(
    ctx: &Ctx,
    name: A,
    input: &In,
) -> Ends<Out> {
    ctx.schedule_sub_orchestration_typed::<In, Out>(name, input)
}

fn _child_with_id_typed<In: Serialize, Out: DeserializeOwned + Send + 'static, A: Text, B: Text>(
    ctx: &Ctx,
    name: A,
    instance: B,
    input: &In,
) -> Ends<Out> {
    ctx.schedule_sub_orchestration_with_id_typed::<In, Out>(name, instance, input)
}

fn _detached<A: Text, B: Text, C: Text>(ctx: &Ctx, [a, b]: [A; 2], [p, q]: [B; 2], [i, j]: [C; 2]) {
    let () = ctx.schedule_orchestration(a, p, i);
    let () = ctx.schedule_orchestration_versioned(b, None::<String>, q, j);
}

fn _detached_typed<In: Serialize, A: Text, B: Text>(ctx: &Ctx, [a, b]: [A; 2], [p, q]: [B; 2], input: &In) {
    let () = ctx.schedule_orchestration_typed::<In>(a, p, input);
    let () = ctx.schedule_orchestration_versioned_typed::<In>(b, None::<String>, q, input);
}

// 1.1, continue-as-new

async fn _next<A: Text>(ctx: &Ctx, input: A) -> Result<String, String> {
    ctx.continue_as_new(input).await
}

async fn _next_typed<In: Serialize>(ctx: &Ctx, input: &In) -> Result<String, String> {
    ctx.continue_as_new_typed::<In>(input).await
}

async fn _next_versioned<A: Text, B: Text>(ctx: &Ctx, version: A, input: B) -> Result<String, String> {
    ctx.continue_as_new_versioned(version, input).await
}

// 1.1, system calls, custom status, key-value state

fn _system(ctx: &Ctx) -> Option<SystemStats> {
    drop(sent(gives::<Result<String, String>, _>(ctx.new_guid())));
    drop(sent(gives::<Result<SystemTime, String>, _>(ctx.utc_now())));
    ctx.get_system_stats()
}

fn _status<A: Text>(ctx: &Ctx, status: A) -> Option<String> {
    let () = ctx.set_custom_status(status);
    let () = ctx.reset_custom_status();
    ctx.get_custom_status()
}

const _: fn(&Ctx, &str) -> Option<String> = Ctx::get_kv_value;
const _: fn(&Ctx) -> HashMap<String, String> = Ctx::get_kv_all_values;
const _: fn(&Ctx) -> Vec<String> = Ctx::get_kv_all_keys;
const _: fn(&Ctx) -> usize = Ctx::get_kv_length;
const _: fn(&Ctx) = Ctx::clear_all_kv_values;
const _: fn(&Ctx, u64) -> usize = Ctx::prune_kv_values_updated_before;

fn _kv<T: Serialize, U: DeserializeOwned, A: Text, B: Text, C: Text>(
    ctx: &Ctx,
    (a, b, c): (A, B, C),
    value: &T,
) -> Result<Option<U>, String> {
    let () = ctx.set_kv_value(a, b);
    let () = ctx.set_kv_value_typed::<T>("k", value);
    let () = ctx.clear_kv_value(c);
    ctx.get_kv_value_typed::<U>("k")
}

fn _kv_elsewhere<A: Text, B: Text>(ctx: &Ctx, instance: A, key: B) -> Ends<Option<String>> {
    ctx.get_kv_value_from_instance(instance, key)
}

fn _kv_elsewhere_typed<T: DeserializeOwned + Send + 'static, A: Text, B: Text>(
    ctx: &Ctx,
    instance: A,
    key: B,
) -> Ends<Option<T>> {
    ctx.get_kv_value_from_instance_typed::<T>(instance, key)
}

// 1.1, combinators: any future, the parameters in this order

async fn _join<T, F: Future<Output = T>>(ctx: &Ctx, futures: Vec<F>) -> Vec<T> {
    ctx.join::<T, F>(futures).await
}

async fn _join2<T1, T2, F1: Future<Output = T1>, F2: Future<Output = T2>>(
    ctx: &Ctx,
    a: F1,
    b: F2,
) -> (T1, T2) {
    ctx.join2::<T1, T2, F1, F2>(a, b).await
}

async fn _join3<T1, T2, T3, F1, F2, F3>(ctx: &Ctx, a: F1, b: F2, c: F3) -> (T1, T2, T3)
where
    F1: Future<Output = T1>,
    F2: Future<Output = T2>,
    F3: Future<Output = T3>,
{
    ctx.join3::<T1, T2, T3, F1, F2, F3>(a, b, c).await
}

async fn _select2<T1, T2, F1, F2>(ctx: &Ctx, a: F1, b: F2) -> Either2<T1, T2>
where
    F1: Future<Output = T1>,
    F2: Future<Output = T2>,
{
    ctx.select2::<T1, T2, F1, F2>(a, b).await
}

async fn _select3<T1, T2, T3, F1, F2, F3>(ctx: &Ctx, a: F1, b: F2, c: F3) -> Either3<T1, T2, T3>
where
    F1: Future<Output = T1>,
    F2: Future<Output = T2>,
    F3: Future<Output = T3>,
{
    ctx.select3::<T1, T2, T3, F1, F2, F3>(a, b, c).await
}

/// What is awaited in an orchestration can be sent, or the orchestration could not.
fn _awaits_are_sent(ctx: &Ctx) {
    let timer = || ctx.schedule_timer(Duration::ZERO);
    drop(sent(ctx.schedule_activity_with_retry("a", "", RetryPolicy::default())));
    drop(sent(ctx.schedule_activity_with_retry_typed::<u8, u8>("a", &1, RetryPolicy::default())));
    drop(sent(ctx.dequeue_event_typed::<u8>("q")));
    drop(sent(ctx.continue_as_new("x")));
    drop(sent(ctx.join(vec![timer()])));
    drop(sent(ctx.join2(timer(), timer())));
    drop(sent(ctx.join3(timer(), timer(), timer())));
    drop(sent(ctx.select2(timer(), &mut timer())));
    drop(sent(ctx.select3(timer(), timer(), timer())));
}

// 1.2

/// Not bound by anything, so not even by `Sized`'s friends.
struct Opaque(#[expect(dead_code, reason = "it makes the type neither `Send` nor `Sync`")] *const ());

const fn is_unpin_future<T, F: Future<Output = T> + Unpin>() {}
const fn is_cheap_handle<T: Clone + Send + Sync + 'static>() {}
const fn is_sent<T: Send>() {}

const _: () = {
    is_unpin_future::<Opaque, DurableFuture<Opaque>>();
    is_sent::<DurableFuture<String>>();
    is_cheap_handle::<Ctx>();
};

fn _map<T: Send + 'static, U: Send + 'static>(
    future: DurableFuture<T>,
    f: impl FnOnce(T) -> U + Send + 'static,
) -> DurableFuture<U> {
    future.map::<U>(f)
}

fn _tag<T: Send + 'static, A: Text>(future: DurableFuture<T>, tag: A) -> DurableFuture<T> {
    future.with_tag(tag)
}

fn _schedule_kind(kind: ScheduleKind) -> ScheduleKind {
    match kind {
        ScheduleKind::Activity { name } => ScheduleKind::Activity { name },
        ScheduleKind::Timer => ScheduleKind::Timer,
        ScheduleKind::ExternalWait { event_name } => ScheduleKind::ExternalWait { event_name },
        ScheduleKind::QueueDequeue { event_name } => ScheduleKind::QueueDequeue { event_name },
        ScheduleKind::SubOrchestration { token } => ScheduleKind::SubOrchestration { token },
    }
}

// 1.3

const _: fn(&Either2<u8, String>) -> bool = Either2::is_first;
const _: fn(&Either2<u8, String>) -> bool = Either2::is_second;
const _: fn(&Either2<u8, String>) -> usize = Either2::index;
const _: fn(Either2<u8, u8>) -> (usize, u8) = Either2::into_tuple;
const _: fn(&Either3<u8, String, ()>) -> usize = Either3::index;
const _: fn(Either3<u8, u8, u8>) -> (usize, u8) = Either3::into_tuple;
const _: [fn(u8) -> Either3<u8, u8, u8>; 3] = [Either3::First, Either3::Second, Either3::Third];
const _: [fn(u8) -> Either2<u8, u8>; 2] = [Either2::First, Either2::Second];

// 1.4

const _: fn(u32) -> RetryPolicy = RetryPolicy::new;
const _: fn(RetryPolicy, Duration) -> RetryPolicy = RetryPolicy::with_timeout;
const _: fn(RetryPolicy, Duration) -> RetryPolicy = RetryPolicy::with_total_timeout;
const _: fn(RetryPolicy, BackoffStrategy) -> RetryPolicy = RetryPolicy::with_backoff;
const _: fn(&RetryPolicy, u32) -> Duration = RetryPolicy::delay_for_attempt;
const _: fn(&BackoffStrategy, u32) -> Duration = BackoffStrategy::delay_for_attempt;

fn _policy(RetryPolicy { max_attempts, backoff, timeout }: RetryPolicy) -> RetryPolicy {
    let backoff = match backoff {
        BackoffStrategy::None => BackoffStrategy::default(),
        BackoffStrategy::Fixed { delay } => BackoffStrategy::Fixed { delay },
        BackoffStrategy::Linear { base, max } => BackoffStrategy::Linear { base, max },
        BackoffStrategy::Exponential { base, multiplier, max } => {
            let multiplier: f64 = multiplier;
            BackoffStrategy::Exponential { base, multiplier, max }
        }
    };
    let (max_attempts, timeout): (u32, Option<Duration>) = (max_attempts, timeout);
    RetryPolicy { max_attempts, backoff, timeout }
}

// 1.6

const _: [LogLevel; 3] = [LogLevel::Info, LogLevel::Warn, LogLevel::Error];

fn _stats(stats: SystemStats) -> [u64; 5] {
    let SystemStats {
        history_event_count,
        history_size_bytes,
        queue_pending_count,
        kv_user_key_count,
        kv_total_value_bytes,
    } = stats;
    [history_event_count, history_size_bytes, queue_pending_count, kv_user_key_count, kv_total_value_bytes]
}

// 3: the handler, which the engine calls

fn _handler<F, Fut>(f: F) -> std::sync::Arc<dyn OrchestrationHandler>
where
    F: Fn(Ctx, String) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<String, String>> + Send + 'static,
{
    std::sync::Arc::new(FnOrchestration(f))
}
