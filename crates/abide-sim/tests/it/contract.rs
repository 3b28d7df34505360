//! Without a fault, what is around a store keeps the contract as the store does.
//!
//! The suite brings tests that run beside each other, so it has threads and real time; leases run out by moving the wall. Its
//! tests of waiting measure real time, and are left out: waiting is tried in virtual time elsewhere.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use abide_conformance::{Outcome, Polling, ProviderFactory, validations};
use abide_memory::InMemoryProvider;
use abide_model::{Clock as _, Timestamp};
use abide_provider::{Abilities, Provider};
use abide_sim::{FaultStore, Offset, RequiredOnly, SeededEntropy, VirtualClock};
use async_trait::async_trait;

const MEASURE_REAL_TIME: [&str; 2] = ["long_polling", "parking"];

type Wrap = fn(Arc<InMemoryProvider>, &VirtualClock) -> Arc<dyn Provider>;

struct Wrapped {
    clock: VirtualClock,
    ahead: Mutex<Duration>,
    wrap: Wrap,
}

#[async_trait]
impl ProviderFactory for Wrapped {
    async fn create_provider(&self) -> Arc<dyn Provider> {
        let entropy = Arc::new(SeededEntropy::new(1));
        let inner = InMemoryProvider::with_seams(Arc::new(self.clock.clone()), entropy);
        (self.wrap)(Arc::new(inner), &self.clock)
    }

    fn short_poll_threshold(&self) -> Duration {
        Duration::from_secs(5)
    }

    fn polling(&self) -> Polling {
        Polling::Long
    }

    async fn pass_time(&self, duration: Duration) {
        let mut ahead = self.ahead.lock().unwrap();
        *ahead += duration;
        self.clock.set_offset(Offset::Ahead(*ahead));
    }

    fn store_time(&self) -> Timestamp {
        self.clock.wall()
    }
}

/// Runs what does not measure real time; says how much of it applied.
async fn passed(wrap: Wrap) -> usize {
    let factory = Wrapped { clock: VirtualClock::new(), ahead: Mutex::default(), wrap };
    let mut passed = 0;
    for validation in validations() {
        if MEASURE_REAL_TIME.contains(&validation.area) {
            continue;
        }
        match validation.run(&factory).await {
            Outcome::Passed => passed += 1,
            Outcome::NotApplicable(_) => {}
            Outcome::Failed(words) => panic!("{}: {words}", validation.path()),
        }
    }
    passed
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_with_which_nothing_goes_wrong_is_the_inner_one() {
    let bare = passed(|inner, _| inner).await;
    let around = passed(|inner, clock| Arc::new(FaultStore::new(inner, Arc::new(clock.clone())))).await;
    assert_eq!(around, bare);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_without_abilities_keeps_the_rest_of_the_contract() {
    let masked = passed(|inner, clock| {
        let store = FaultStore::new(inner, Arc::new(clock.clone()));
        Arc::new(store.with_abilities(Abilities::NONE))
    });
    let plain = passed(|inner, _| Arc::new(RequiredOnly::new(inner)));
    let (masked, plain) = (masked.await, plain.await);
    assert_eq!(masked, plain);
    assert!(plain > 150, "only {plain} validations applied");
}
