//! The work that orders ask for. Each activity does something to the world outside, then waits for the answer.
//!
//! An activity runs again if the process dies before its result is recorded. So it tells the world its idempotency key, and
//! the world knows a repetition when it sees one.

use std::sync::Arc;
use std::time::Duration;

use abide::prelude::*;
use serde::{Deserialize, Serialize};

use crate::time;
use crate::world::{Entry, Happening, World};

use super::{Address, Card, Order, Outcome};

/// Goods of one order.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StockLine {
    order: String,
    item: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Bill {
    order: String,
    total: u32,
    card: Card,
}

/// What came of a charge that was answered at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Payment {
    Charged,
    Declined,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Shipment {
    order: String,
    address: Address,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Letter {
    order: String,
    text: String,
}

impl StockLine {
    pub(crate) fn of(order: &Order, item: &str) -> Self {
        Self { order: order.id.clone(), item: item.to_owned() }
    }
}

impl Bill {
    pub(crate) fn of(order: &Order) -> Self {
        Self { order: order.id.clone(), total: order.total, card: order.card }
    }
}

impl Shipment {
    pub(crate) fn of(order: &Order) -> Self {
        Self { order: order.id.clone(), address: order.address }
    }
}

impl Letter {
    pub(crate) fn about(order: &Order, outcome: &Outcome) -> Self {
        Self { order: order.id.clone(), text: outcome.to_string() }
    }
}

pub(crate) fn registry(world: &Arc<World>) -> ActivityRegistry {
    ActivityRegistry::builder()
        .register_typed("ReserveStock", of(world, reserve_stock))
        .register_typed("ReleaseStock", of(world, release_stock))
        .register_typed("ChargeCard", of(world, charge_card))
        .register_typed("RefundCard", of(world, refund_card))
        .register_typed("PrintLabel", of(world, print_label))
        .register_typed("HandOver", of(world, hand_over))
        .register_typed("SendMail", of(world, send_mail))
        .build()
}

/// An activity that acts on this world.
fn of<In, Fut>(
    world: &Arc<World>,
    activity: fn(Arc<World>, ActivityContext, In) -> Fut,
) -> impl Fn(ActivityContext, In) -> Fut + Send + Sync + 'static + use<In, Fut>
where
    In: 'static,
    Fut: 'static,
{
    let world = Arc::clone(world);
    move |ctx, input| activity(Arc::clone(&world), ctx, input)
}

async fn reserve_stock(world: Arc<World>, ctx: ActivityContext, line: StockLine) -> Result<String, String> {
    happen(&world, &ctx, &line.order, Happening::Reserved).await?;
    Ok(line.item)
}

async fn release_stock(world: Arc<World>, ctx: ActivityContext, line: StockLine) -> Result<String, String> {
    happen(&world, &ctx, &line.order, Happening::Released).await?;
    Ok(line.item)
}

/// The card terminal is busy now and then. That is an error, and worth another try; a declined card is an answer.
async fn charge_card(world: Arc<World>, ctx: ActivityContext, bill: Bill) -> Result<Payment, String> {
    let decide = |earlier: &[Entry]| {
        let busy = earlier.iter().filter(|entry| entry.what == Happening::Busy).count();
        match bill.card {
            Card::BusyAtFirst(times) if busy < times => Happening::Busy,
            Card::Good | Card::BusyAtFirst(_) => Happening::Charged,
            Card::Declined => Happening::Declined,
        }
    };
    // The referee counts what each try was told, so a request names the step and the try.
    let request = format!("{}/{}", ctx.idempotency_key(), ctx.retry());
    let what = world.act(&request, &bill.order, decide).map_err(|error| error.to_string())?;
    answer_takes(450, &ctx).await;
    match what {
        Happening::Charged => Ok(Payment::Charged),
        Happening::Declined => Ok(Payment::Declined),
        Happening::Busy => Err("the card terminal is busy".to_owned()),
        Happening::Reserved
        | Happening::Released
        | Happening::Refunded
        | Happening::Labelled
        | Happening::HandedOver
        | Happening::Returned
        | Happening::Mailed => Err(format!("the card terminal says '{}'", what.text())),
    }
}

async fn refund_card(world: Arc<World>, ctx: ActivityContext, bill: Bill) -> Result<String, String> {
    happen(&world, &ctx, &bill.order, Happening::Refunded).await?;
    Ok(format!("{} refunded", bill.total))
}

async fn print_label(world: Arc<World>, ctx: ActivityContext, shipment: Shipment) -> Result<String, String> {
    happen(&world, &ctx, &shipment.order, Happening::Labelled).await?;
    Ok(shipment.order.replace("order", "parcel"))
}

async fn hand_over(world: Arc<World>, ctx: ActivityContext, shipment: Shipment) -> Result<String, String> {
    match shipment.address {
        Address::Known => {
            happen(&world, &ctx, &shipment.order, Happening::HandedOver).await?;
            Ok("handed over".to_owned())
        }
        Address::Unknown => {
            happen(&world, &ctx, &shipment.order, Happening::Returned).await?;
            Err("nobody lives there".to_owned())
        }
    }
}

async fn send_mail(world: Arc<World>, ctx: ActivityContext, letter: Letter) -> Result<String, String> {
    happen(&world, &ctx, &letter.order, Happening::Mailed).await?;
    Ok(letter.text)
}

/// Does it, and waits for the answer: long enough for a crash to come in between.
async fn happen(world: &World, ctx: &ActivityContext, order: &str, what: Happening) -> Result<(), String> {
    world.act(&ctx.idempotency_key(), order, |_| what).map_err(|error| error.to_string())?;
    answer_takes(200, ctx).await;
    Ok(())
}

/// Not all equally long, so that the board is not a parade.
async fn answer_takes(at_least_ms: u64, ctx: &ActivityContext) {
    let spread = ctx.idempotency_key().bytes().fold(7_u64, |sum, byte| (sum * 31 + u64::from(byte)) % 251);
    time::sleep(Duration::from_millis(at_least_ms + spread)).await;
}
