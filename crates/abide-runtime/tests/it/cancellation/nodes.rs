//! Two nodes on one database: the activity runs on one, and its instance is cancelled on the other. PostgreSQL only, in real time.

use std::sync::Arc;
use std::time::Duration;

use abide_provider::Operation;
use abide_runtime::Runtime;
use abide_sim::{FaultStore, Gate};

use super::elsewhere::{begun, decides, heard, node, without_turns};
use crate::e2e::support::{Log, World, millis, on_postgres, seconds};

/// How often it is tried.
const TIMES: usize = 5;

/// The first renewal, which would find out as well, is after ten seconds.
const BEFORE_A_RENEWAL: Duration = seconds(9);

/// A node that decides, and one that works.
struct Nodes {
    log: Log,
    /// What the node that works sees.
    store: Arc<FaultStore>,
    runtimes: [Arc<Runtime>; 2],
    gate: Gate,
}

impl Nodes {
    async fn of(world: &World) -> Self {
        let (log, gate) = (Log::new(), Gate::closed());
        let store = without_turns(world, world.another().await, &gate);
        let works = world.run_on(store.clone(), node(&log)).await;
        let runtimes = [world.run(decides(&log)).await, works];
        Self { log, store, runtimes, gate }
    }

    async fn stop(self) {
        self.gate.open();
        for runtime in self.runtimes {
            runtime.shutdown(None).await;
        }
    }
}

#[test]
fn an_activity_on_another_node_hears_at_once_and_why() {
    on_postgres(async |world: World| {
        let nodes = Nodes::of(&world).await;
        let mut best = Duration::MAX;
        for number in 0..TIMES {
            let instance = format!("i{number}");
            begun(&world, &nodes.log, &instance).await;
            best = best.min(heard(&world, &nodes.log, &instance).await);
        }
        // The best of five: a machine that does something else is not our business.
        assert!(best <= millis(200), "{best:?}");
        // The notice says why: nobody had to look into the history.
        assert_eq!(nodes.store.count(Operation::ReadWithExecution), 0);
        nodes.stop().await;
    });
}

/// What is told meanwhile is told later, or lost. Who listens again looks whether it still holds what it held.
#[test]
fn it_hears_though_the_connections_for_notices_break() {
    on_postgres(async |world: World| {
        let nodes = Nodes::of(&world).await;
        let room = world.room().unwrap();
        for number in 0..TIMES {
            let instance = format!("i{number}");
            begun(&world, &nodes.log, &instance).await;
            world.until(async || room.listeners().await == 2).await;
            let breaks = async { assert_eq!(room.deafen().await, 2, "each node has one") };
            let took = if number % 2 == 0 {
                breaks.await;
                heard(&world, &nodes.log, &instance).await
            } else {
                futures::join!(heard(&world, &nodes.log, &instance), breaks).0
            };
            assert!(took <= BEFORE_A_RENEWAL, "{took:?}");
        }
        nodes.stop().await;
    });
}
