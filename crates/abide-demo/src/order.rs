//! The orchestration: an order, as a plain async function.

use std::sync::Arc;
use std::time::Duration;

use abide_engine::{FnOrchestration, OrchestrationContext, OrchestrationHandler};
use abide_model::{BackoffStrategy, RetryPolicy};

pub(crate) const NAME: &str = "ShipOrder";

pub(crate) fn code() -> Arc<dyn OrchestrationHandler> {
    Arc::new(FnOrchestration(ship_order))
}

async fn ship_order(ctx: OrchestrationContext, order: String) -> Result<String, String> {
    ctx.set_custom_status("reserving stock");
    let items = ["tea", "cup", "spoon"];
    let reservations = items.iter().map(|item| ctx.schedule_activity("Reserve", *item)).collect();
    for reservation in ctx.join(reservations).await {
        reservation?;
    }

    ctx.set_custom_status("charging");
    let pause = BackoffStrategy::Fixed { delay: Duration::from_secs(2) };
    let receipt = ctx
        .schedule_activity_with_retry("Charge", order.clone(), RetryPolicy::new(3).with_backoff(pause))
        .await?;

    ctx.set_custom_status("waiting for approval");
    let approval = ctx.timeout(Duration::from_secs(3_600), ctx.schedule_wait("approval")).await?;
    ctx.trace_info(format!("approved by {approval}"));

    ctx.set_custom_status("shipping");
    let parcel = ctx.schedule_sub_orchestration("Deliver", order).await?;
    Ok(format!("{receipt}, {parcel}"))
}
