//! The life of an order, as an async function.
//!
//! Whatever stops the process, the function runs again from the top in the next one, and every step that already
//! happened is answered from the record. That is why there is no word about crashes here.

use std::time::Duration;

use abide::prelude::*;

use super::activities::{Bill, Letter, Payment, Shipment, StockLine};
use super::{Decision, Order, Outcome, Reason, Step};

pub(crate) const PROCESS_ORDER: &str = "ProcessOrder";
pub(crate) const DELIVER: &str = "Deliver";
pub(crate) const APPROVAL: &str = "approval";

/// An order may be called off within this time.
const COOLING_OFF: Duration = Duration::from_secs(1);
/// How long the van is on the road.
const DRIVE: Duration = Duration::from_millis(700);
/// Nobody answers for that long: the answer is no.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn registry() -> OrchestrationRegistry {
    OrchestrationRegistry::builder()
        .register_typed(PROCESS_ORDER, process_order)
        .register_typed(DELIVER, deliver)
        .build()
}

async fn process_order(ctx: OrchestrationContext, order: Order) -> Result<Outcome, String> {
    ctx.set_custom_status(Step::Reserving.text());
    in_parallel(&ctx, "ReserveStock", &order).await?;

    ctx.set_custom_status(Step::Charging.text());
    let pause = BackoffStrategy::Fixed { delay: Duration::from_millis(300) };
    let tries = RetryPolicy::new(4).with_backoff(pause);
    match ctx.schedule_activity_with_retry_typed("ChargeCard", &Bill::of(&order), tries).await? {
        Payment::Charged => {}
        Payment::Declined => return undo(&ctx, &order, Payment::Declined, Reason::CardDeclined).await,
    }

    ctx.set_custom_status(Step::CoolingOff.text());
    ctx.schedule_timer(COOLING_OFF).await;

    if order.needs_approval() {
        ctx.set_custom_status(Step::AwaitingApproval.text());
        let answer = ctx.timeout(PATIENCE, ctx.schedule_wait_typed(APPROVAL)).await;
        match answer.unwrap_or(Decision::Refused) {
            Decision::Approved => {}
            Decision::Refused => {
                return undo(&ctx, &order, Payment::Charged, Reason::ApprovalRefused).await;
            }
        }
    }

    ctx.set_custom_status(Step::Delivering.text());
    let delivery = ctx.schedule_sub_orchestration_typed(DELIVER, &Shipment::of(&order)).await;
    let Ok(parcel) = delivery else {
        return undo(&ctx, &order, Payment::Charged, Reason::BadAddress).await;
    };
    end(&ctx, &order, Outcome::Shipped { parcel }).await
}

/// A child with a history of its own.
async fn deliver(ctx: OrchestrationContext, shipment: Shipment) -> Result<String, String> {
    let parcel: String = ctx.schedule_activity_typed("PrintLabel", &shipment).await?;
    ctx.schedule_timer(DRIVE).await;
    ctx.schedule_activity_typed::<_, String>("HandOver", &shipment).await?;
    Ok(parcel)
}

/// Takes back what was done, last things first.
async fn undo(
    ctx: &OrchestrationContext,
    order: &Order,
    payment: Payment,
    reason: Reason,
) -> Result<Outcome, String> {
    ctx.set_custom_status(Step::Undoing.text());
    match payment {
        Payment::Charged => {
            ctx.schedule_activity_typed::<_, String>("RefundCard", &Bill::of(order)).await?;
        }
        Payment::Declined => {}
    }
    in_parallel(ctx, "ReleaseStock", order).await?;
    end(ctx, order, Outcome::Cancelled { reason }).await
}

async fn end(ctx: &OrchestrationContext, order: &Order, outcome: Outcome) -> Result<Outcome, String> {
    ctx.set_custom_status(Step::Writing.text());
    ctx.schedule_activity_typed::<_, String>("SendMail", &Letter::about(order, &outcome)).await?;
    Ok(outcome)
}

/// Asks for the activity for every item at once, and waits for all.
async fn in_parallel(ctx: &OrchestrationContext, activity: &str, order: &Order) -> Result<(), String> {
    let asked = order
        .items
        .iter()
        .map(|item| ctx.schedule_activity_typed::<_, String>(activity, &StockLine::of(order, item)));
    ctx.join(asked.collect()).await.into_iter().try_for_each(|done| done.map(|_text| ()))
}
