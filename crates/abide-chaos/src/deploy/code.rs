//! The handlers of every build.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use abide::runtime::registry::{ActivityRegistry, OrchestrationRegistry, OrchestrationRegistryBuilder};
use abide::seams::Clock as _;
use abide::{ActivityContext, Either2, OrchestrationContext};
use abide_host::SystemClock;

use super::Options;
use crate::worker::WorkerError;

/// How many orders a basket has.
pub const CHILDREN: usize = 10;

/// The input of an activity or a turn that ends the process, in a build that does.
pub const ABORTING: &str = "abort";

/// The only version of orders, errands and baskets in [`Code::Newer`].
pub const NEWER: &str = "2.0.0";

/// How long an activity of `Batch` takes.
const WORK: Duration = Duration::from_millis(20);

/// How long the timer runs that is raced against an activity.
const PATIENCE: Duration = Duration::from_secs(2);

/// What the handlers of a build do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// What they should.
    Right,
    /// An order asks for one more activity, before all others.
    Changed,
    /// An order panics.
    Panics,
    /// The activity `Work` and the orchestration `Turn` end the process if their input is [`ABORTING`].
    Aborts,
    /// There is none for orders, errands and baskets.
    Without,
    /// Orders, errands and baskets exist in a newer version only.
    Newer,
    /// Another service: payments.
    Payments,
    /// Another service: shipments.
    Shipments,
    /// Both of these services in one.
    PaymentsAndShipments,
}

impl Code {
    const ALL: [(&'static str, Self); 9] = [
        ("right", Self::Right),
        ("changed", Self::Changed),
        ("panics", Self::Panics),
        ("aborts", Self::Aborts),
        ("without", Self::Without),
        ("newer", Self::Newer),
        ("payments", Self::Payments),
        ("shipments", Self::Shipments),
        ("payments-and-shipments", Self::PaymentsAndShipments),
    ];

    /// The code of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, code)| code)
    }

    /// What [`named`](Self::named) is told to mean this one.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(_, code)| *code == self).map_or("", |(name, _)| name)
    }
}

pub(super) fn orchestrations(code: Code) -> OrchestrationRegistry {
    let registry = OrchestrationRegistry::builder();
    match code {
        Code::Payments => two_steps(registry, PAYMENT).build(),
        Code::Shipments => two_steps(registry, SHIPMENT).build(),
        Code::PaymentsAndShipments => two_steps(two_steps(registry, PAYMENT), SHIPMENT).build(),
        Code::Without => jobs(registry, code).build(),
        Code::Newer => orders(jobs(registry, code), code, NEWER).build(),
        Code::Right | Code::Changed | Code::Panics | Code::Aborts => {
            orders(jobs(registry, code), code, "1.0.0").build()
        }
    }
}

fn orders(registry: OrchestrationRegistryBuilder, code: Code, version: &str) -> OrchestrationRegistryBuilder {
    registry
        .register_versioned("Parked", version, |ctx: OrchestrationContext, _: String| async move {
            ctx.dequeue_event("go").await;
            Ok(String::new())
        })
        .register_versioned("Order", version, move |ctx, _: String| order(ctx, code))
        .register_versioned("Errand", version, move |ctx, _: String| errand(ctx, code))
        .register_versioned("Basket", version, basket)
}

/// An orchestration and its activity.
const PAYMENT: (&str, &str) = ("Payment", "Pay");
const SHIPMENT: (&str, &str) = ("Shipment", "Ship");

/// Runs its activity twice, and ends with how often each was handed out.
fn two_steps(
    registry: OrchestrationRegistryBuilder,
    (name, activity): (&str, &'static str),
) -> OrchestrationRegistryBuilder {
    registry.register(name, move |ctx: OrchestrationContext, _: String| async move {
        let first = ctx.schedule_activity(activity, "first").await?;
        let second = ctx.schedule_activity(activity, "second").await?;
        Ok(format!("{first}, {second}"))
    })
}

fn jobs(registry: OrchestrationRegistryBuilder, code: Code) -> OrchestrationRegistryBuilder {
    registry
        .register("Work", |ctx: OrchestrationContext, input: String| async move {
            ctx.schedule_activity("Work", input).await
        })
        .register("Race", |ctx: OrchestrationContext, input: String| async move {
            let work = ctx.schedule_activity("Work", input);
            match ctx.select2(work, ctx.schedule_timer(PATIENCE)).await {
                Either2::First(result) => result,
                Either2::Second(()) => Ok("the timer wins".to_owned()),
            }
        })
        .register("Turn", move |ctx: OrchestrationContext, input: String| async move {
            ctx.schedule_activity("Note", "before").await?;
            if code == Code::Aborts && input == ABORTING {
                std::process::abort();
            }
            ctx.schedule_activity("Note", "after").await
        })
        .register("Family", |ctx: OrchestrationContext, child: String| async move {
            let id = format!("{}-child", ctx.instance_id());
            ctx.schedule_sub_orchestration_with_id(child, id, ABORTING).await
        })
}

/// Reserves, waits until it is told to go on, then charges and ships.
async fn order(ctx: OrchestrationContext, code: Code) -> Result<String, String> {
    begin(&ctx, code).await?;
    ctx.schedule_activity("Note", "reserve").await?;
    ctx.dequeue_event("go").await;
    ctx.schedule_activity("Note", "charge").await?;
    ctx.schedule_activity("Note", "ship").await
}

/// Waits for an activity that does not end before it is canceled, and for a message beside it.
async fn errand(ctx: OrchestrationContext, code: Code) -> Result<String, String> {
    begin(&ctx, code).await?;
    let slow = ctx.schedule_activity("Slow", "");
    match ctx.select2(slow, ctx.dequeue_event("go")).await {
        Either2::First(result) => result,
        Either2::Second(_) => Ok(String::new()),
    }
}

/// What a bad build does before all else.
async fn begin(ctx: &OrchestrationContext, code: Code) -> Result<(), String> {
    match code {
        Code::Changed => ctx.schedule_activity("Note", "audit").await.map(drop),
        Code::Panics => panic!("this build cannot run orders"),
        Code::Right
        | Code::Aborts
        | Code::Without
        | Code::Newer
        | Code::Payments
        | Code::Shipments
        | Code::PaymentsAndShipments => Ok(()),
    }
}

/// Places its orders as children and waits for all of them.
async fn basket(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    let id = ctx.instance_id();
    let orders = (0..CHILDREN)
        .map(|number| ctx.schedule_sub_orchestration_with_id("Order", format!("{id}-{number}"), ""));
    let results = ctx.join(orders.collect()).await;
    let shipped = results.iter().filter(|result| result.is_ok()).count();
    let errors: Vec<&String> = results.iter().filter_map(|result| result.as_ref().err()).collect();
    match errors.first() {
        None => Ok(format!("{shipped} shipped")),
        Some(error) => Err(format!("{shipped} shipped, {} failed: {error}", errors.len())),
    }
}

/// Every run of `Note` leaves a line, so that the driver can count effects.
pub(super) fn activities(options: &Options) -> Result<ActivityRegistry, WorkerError> {
    let effects = Arc::new(OpenOptions::new().create(true).append(true).open(&options.effects)?);
    let code = options.code;
    let attempt = |ctx: ActivityContext, _: String| async move { Ok(ctx.attempt().to_string()) };
    let registry = ActivityRegistry::builder();
    let registry = match code {
        Code::Payments => return Ok(registry.register(PAYMENT.1, attempt).build()),
        Code::Shipments => return Ok(registry.register(SHIPMENT.1, attempt).build()),
        Code::PaymentsAndShipments => {
            return Ok(registry.register(PAYMENT.1, attempt).register(SHIPMENT.1, attempt).build());
        }
        Code::Right | Code::Changed | Code::Panics | Code::Aborts | Code::Without | Code::Newer => registry,
    };
    Ok(registry
        .register("Note", move |ctx: ActivityContext, step: String| {
            let effects = Arc::clone(&effects);
            async move {
                append(&effects, &format!("{} {step}\n", ctx.instance_id()))?;
                Ok(step)
            }
        })
        .register("Slow", |ctx: ActivityContext, _: String| async move {
            ctx.cancelled().await;
            Err::<String, _>("stopped".to_owned())
        })
        .register("Work", move |_: ActivityContext, input: String| async move {
            if code == Code::Aborts && input == ABORTING {
                std::process::abort();
            }
            let clock = SystemClock::new();
            clock.sleep_until(clock.monotonic() + WORK).await;
            Ok(input)
        })
        .build())
}

/// With one call, so that lines of several processes do not mix.
fn append(mut file: &File, line: &str) -> Result<(), String> {
    file.write_all(line.as_bytes()).map_err(|error| error.to_string())
}
