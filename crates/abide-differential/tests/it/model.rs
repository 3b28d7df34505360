//! The model as a subject, with numbers of its own, and with a way to spoil what it shows.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use abide_differential::clock::{ManualClock, SeededEntropy};
use abide_differential::{Damage, Numbers, Reopening, Sight, Subject};
use abide_memory::InMemoryProvider;
use abide_model::{Timestamp, WorkItem};
use abide_provider::{FinishedWork, LeaseWork, Provider, TagFilter};
use futures_executor::block_on;

/// A tag that no sequence knows.
const BURNT: &str = "burnt";

/// A store in memory, and then another.
pub(crate) struct Model {
    numbers: Numbers,
    reopening: Reopening,
    spoil: fn(&mut Sight),
    clock: ManualClock,
    provider: InMemoryProvider,
    burnt: u64,
}

impl Model {
    pub(crate) fn numbered(numbers: Numbers) -> Self {
        Self {
            numbers,
            reopening: Reopening::Never,
            spoil: |_| {},
            clock: ManualClock::default(),
            provider: InMemoryProvider::new(),
            burnt: 0,
        }
    }

    pub(crate) fn reopening(self, reopening: Reopening) -> Self {
        Self { reopening, ..self }
    }

    /// What it shows is made wrong like this.
    pub(crate) fn spoilt(self, spoil: fn(&mut Sight)) -> Self {
        Self { spoil, ..self }
    }

    /// Uses up numbers of every kind, as a store does whose refused calls leave gaps.
    fn burn(&mut self) {
        if self.numbers == Numbers::LikeTheModel {
            return;
        }
        self.burnt += 1;
        let item = WorkItem::ActivityExecute {
            instance: format!("burnt {}", self.burnt),
            execution_id: 1,
            id: 1,
            name: String::new(),
            input: String::new(),
            session_id: None,
            tag: Some(BURNT.to_owned()),
        };
        let lease = LeaseWork {
            limit: 1,
            lease_for: Duration::from_secs(1),
            wait: Duration::ZERO,
            session: None,
            tags: TagFilter::Tags(HashSet::from([BURNT.to_owned()])),
            serving: None,
        };
        block_on(async {
            self.provider.enqueue_for_worker(item).await.unwrap();
            let leased = self.provider.lease_work(lease).await.unwrap();
            let finished =
                leased.into_iter().map(|lease| FinishedWork { token: lease.token, completion: None });
            let finished = self.provider.finish_work(finished.collect()).await;
            assert!(matches!(finished.as_slice(), [Ok(())]), "{finished:?}");
        });
    }
}

impl Subject for Model {
    fn name(&self) -> &'static str {
        "the other"
    }

    fn numbers(&self) -> Numbers {
        self.numbers
    }

    fn open(&mut self, seed: u64, now: Timestamp) {
        self.clock = ManualClock::at(now.as_millis());
        let entropy = Arc::new(SeededEntropy::new(!seed));
        self.provider = InMemoryProvider::with_seams(Arc::new(self.clock.clone()), entropy);
        self.burn();
    }

    fn provider(&self) -> &dyn Provider {
        &self.provider
    }

    fn set_time(&mut self, now: Timestamp) {
        self.clock.advance_to(now);
    }

    fn look(&mut self, _now: Timestamp) -> Result<Sight, String> {
        self.burn();
        let mut sight = Sight { dump: self.provider.dump(), contradictions: Vec::new() };
        (self.spoil)(&mut sight);
        Ok(sight)
    }

    fn damage(&mut self, damage: &Damage) {
        match damage {
            Damage::Message { number } => self.provider.make_message_unreadable(*number),
            Damage::Work { number } => self.provider.make_work_unreadable(*number),
            Damage::History { instance, execution_id } => {
                self.provider.make_history_unreadable(instance, *execution_id);
            }
        }
    }

    fn reopening(&self) -> Reopening {
        self.reopening
    }

    fn reopen(&mut self) {
        for node in block_on(self.provider.nodes()).unwrap() {
            block_on(self.provider.forget_node(&node.announcement.id)).unwrap();
        }
    }
}
