//! Many activities at once, typed, and their results in order.

mod db;

use std::time::Duration;

use abide::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Offer {
    shop: String,
    cents: u64,
}

async fn ask(_: ActivityContext, shop: String) -> Result<Offer, String> {
    let cents = 1_000 + u64::try_from(shop.len()).map_err(|error| error.to_string())?;
    Ok(Offer { shop, cents })
}

async fn cheapest(ctx: OrchestrationContext, shops: Vec<String>) -> Result<Offer, String> {
    // Everything is asked for before anything is awaited.
    let asked = shops.iter().map(|shop| ctx.schedule_activity_typed::<String, Offer>("Ask", shop)).collect();
    let offers: Vec<Offer> = ctx.join(asked).await.into_iter().collect::<Result<_, _>>()?;
    ctx.trace_info(format!("{} offers", offers.len()));
    offers.into_iter().min_by_key(|offer| offer.cents).ok_or_else(|| "no shops".to_owned())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = db::open_or(":memory:").await?;
    let runtime = Runtime::builder()
        .with_provider(store.clone())
        .with_activities(ActivityRegistry::builder().register_typed("Ask", ask).build())
        .with_orchestrations(OrchestrationRegistry::builder().register_typed("Cheapest", cheapest).build())
        .build()
        .await?;

    let client = Client::new(store);
    let shops: Vec<String> = (0..100).map(|number| format!("shop {}", number * number)).collect();
    client.start("tea", "Cheapest").typed_input(&shops).await?;
    let offer = client.wait_for_orchestration_typed::<Offer>("tea", Duration::from_secs(10)).await??;
    println!("{} asks {} cents, of {} shops", offer.shop, offer.cents, shops.len());

    runtime.shutdown(None).await;
    Ok(())
}
