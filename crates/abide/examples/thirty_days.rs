//! A test of a subscription that lasts thirty days, with a crash in the middle, in virtual time.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use abide::prelude::*;
use abide::testing::{World, WorldExt as _, simulate};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

async fn trial(ctx: OrchestrationContext, user: String) -> Result<String, String> {
    for left in [20, 10, 0] {
        ctx.schedule_timer(10 * DAY).await;
        ctx.schedule_activity("Mail", format!("{user}: {left} days left")).await?;
    }
    Ok(format!("the trial of {user} is over"))
}

type Outbox = Arc<Mutex<Vec<String>>>;

async fn start(world: &World, outbox: &Outbox) -> Result<Arc<Runtime>, Box<dyn std::error::Error>> {
    let outbox = outbox.clone();
    let mail = move |_: ActivityContext, mail: String| {
        let outbox = outbox.clone();
        async move {
            outbox.lock().map_err(|error| error.to_string())?.push(mail);
            Ok(String::new())
        }
    };
    let builder = world.runtime().with_activities(ActivityRegistry::builder().register("Mail", mail).build());
    let trial = OrchestrationRegistry::builder().register("Trial", trial).build();
    Ok(builder.with_orchestrations(trial).build().await?)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    simulate(31 * DAY, async {
        let (world, outbox) = (World::new(1), Outbox::default());
        start(&world, &outbox).await?;
        world.client().start_orchestration("ada", "Trial", "Ada").await?;

        world.clock.sleep(15 * DAY).await;
        let world = world.crash().await; // the process dies, and another one is started
        start(&world, &outbox).await?;

        let result = world.client().wait_for_orchestration_typed::<String>("ada", Duration::MAX).await??;
        println!("{result}; mails: {:?}", outbox.lock().map_err(|error| error.to_string())?);
        Ok(())
    })
}
