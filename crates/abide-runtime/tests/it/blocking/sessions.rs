//! Sessions that pass from one service to another.

use std::time::Duration;

use super::build;
use crate::lessons::scene::{Way, ways};

#[test]
fn a_session_goes_to_the_service_that_has_the_next_activity() {
    ways(&[Way::Fused, Way::Resident, Way::Cold], |scene| async move {
        let orders = build("orders")
            .orchestration("Order", |ctx, _| async move {
                ctx.schedule_activity_on_session("Echo", "", "s").await?;
                ctx.schedule_activity_on_session("Print", "label", "s").await
            })
            .options(|options| options.session_idle_timeout = Duration::from_secs(36_000));
        let printing = build("printing").activity("Print", |_, input| async move { Ok(input) });
        scene.node(orders).await;
        scene.node(printing).await;

        assert_eq!(scene.run("i", "Order", "").await.unwrap(), "label");
        // The lock lasts 30 s and is not renewed.
        assert!(scene.time() <= Duration::from_secs(31), "{:?}", scene.time());
    });
}
