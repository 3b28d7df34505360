//! The two stores side by side: each step is done to both, and then everything is compared.

use std::sync::Arc;

use abide_memory::{Dump, InMemoryProvider};
use abide_model::Timestamp;
use abide_provider::{Lane, Provider as _, StolenLeases};
use futures_executor::block_on;
use futures_util::{FutureExt as _, StreamExt as _};

use crate::apply::{Answer, Caller};
use crate::clock::{ManualClock, SeededEntropy};
use crate::compare;
use crate::op::{Op, ReadOp};
use crate::subject::{Damage, Reopening, Sight, Subject};
use crate::world::{Side, World};

/// When every sequence begins.
const BEGIN_MS: u64 = 1_000_000_000;

/// What scenes that leave nothing to chance are opened with.
pub(crate) const SEED_OF_SCENES: u64 = 1;

/// Both stores.
pub(crate) struct Pair<'a> {
    pub(crate) world: World,
    clock: ManualClock,
    memory: InMemoryProvider,
    subject: &'a mut dyn Subject,
    listeners: Vec<(StolenLeases, StolenLeases)>,
}

/// What a step did.
pub(crate) struct Done {
    pub(crate) memory: Answer,
    pub(crate) subject: Answer,
    /// What the model told of leases taken away.
    pub(crate) stolen: Vec<String>,
    /// Where the stores differ now; nothing is the aim.
    pub(crate) differences: Vec<String>,
}

impl<'a> Pair<'a> {
    /// Both empty.
    pub(crate) fn open(subject: &'a mut dyn Subject, seed: u64) -> Self {
        let clock = ManualClock::at(BEGIN_MS);
        let memory =
            InMemoryProvider::with_seams(Arc::new(clock.clone()), Arc::new(SeededEntropy::new(seed)));
        subject.open(seed, Timestamp::from_millis(BEGIN_MS));
        assert_eq!(memory.abilities(), subject.provider().abilities());
        let world = World::new(BEGIN_MS, subject.reopening(), subject.numbers());
        let mut pair = Self { world, clock, memory, subject, listeners: Vec::new() };
        pair.listen();
        pair
    }

    fn listen(&mut self) {
        let theirs = self.subject.provider().stolen_leases();
        self.listeners.push((self.memory.stolen_leases().unwrap(), theirs.unwrap()));
    }

    /// Does one step to both stores, and looks where they differ.
    pub(crate) fn step(&mut self, op: &Op) -> Done {
        let (memory, subject) = self.call_both(op);
        let mut differences = Vec::new();
        if memory.text != subject.text && !self.may_be_early(op, &subject) {
            differences.push("the answers differ".to_owned());
        }
        differences
            .extend(memory.contradictions.iter().map(|text| format!("memory contradicts itself: {text}")));
        self.world.settle(op, &memory, &subject);
        differences.extend(self.compare_states());
        let stolen = self.compare_stolen(&mut differences);
        Done { memory, subject, stolen, differences }
    }

    /// What is due next may be told too early: at the end of a lease whose mail has gone with somebody else.
    fn may_be_early(&self, op: &Op, answer: &Answer) -> bool {
        let mut leased =
            self.world.dump.instances.iter().filter(|(name, _)| !self.world.has_visible_mail(name));
        let is_told = |until: u64| {
            let told: Result<_, String> = Ok(Some(Timestamp::from_millis(until)));
            answer.text == format!("{told:?}")
        };
        matches!(op, Op::Read(ReadOp::NextDue(Lane::Instances)))
            && leased.any(|(_, mailbox)| mailbox.leased_until.is_some_and(is_told))
    }

    /// Does one step to both stores, and leaves the looking to the next.
    pub(crate) fn call_without_looking(&mut self, op: &Op) {
        self.call_both(op);
    }

    /// Compares everything stored, and remembers it.
    fn compare_states(&mut self) -> Vec<String> {
        let now = self.world.now;
        let Sight { dump, contradictions } = match self.subject.look(Timestamp::from_millis(now)) {
            Ok(sight) => sight,
            Err(why) => return vec![why],
        };
        let name = self.subject.name();
        let (expected, stored) = (self.undamaged(self.memory.dump()), self.undamaged(dump));
        self.world.numbering.learn(&expected, &stored);
        let mut differences = self.world.numbering.disorder(&stored);
        let stored = self.world.numbering.of_model(stored);
        differences.extend(compare::dumps(&expected, &stored, name));
        differences.extend(contradictions.iter().map(|text| format!("{name} contradicts itself: {text}")));
        self.world.now_holds(expected);
        differences
    }

    fn call_both(&mut self, op: &Op) -> (Answer, Answer) {
        match op {
            Op::Advance(by) => {
                self.clock.advance(*by);
                self.world.now = self.clock.now_ms();
                self.subject.set_time(Timestamp::from_millis(self.world.now));
                (Answer::default(), Answer::default())
            }
            Op::Damage(damage) => {
                self.damage(damage);
                (Answer::default(), Answer::default())
            }
            Op::Listen => {
                self.listen();
                (Answer::default(), Answer::default())
            }
            Op::Restart => {
                self.restart();
                (Answer::default(), Answer::default())
            }
            Op::Mail(_)
            | Op::Instance(_)
            | Op::Work(_)
            | Op::Session(_)
            | Op::Block(_)
            | Op::Read(_)
            | Op::Look(_)
            | Op::Delete(_) => {
                if matches!(op, Op::Read(ReadOp::NextDue(_))) {
                    // A store may note what has become due when it writes, not when it is asked.
                    self.subject.nudge();
                }
                (block_on(self.call(Side::Memory, op)), block_on(self.call(Side::Subject, op)))
            }
        }
    }

    async fn call(&self, side: Side, op: &Op) -> Answer {
        let caller = match side {
            Side::Memory => Caller { provider: &self.memory, side, world: &self.world },
            Side::Subject => Caller { provider: self.subject.provider(), side, world: &self.world },
        };
        match op {
            Op::Mail(op) => caller.mail(op).await,
            Op::Instance(op) => caller.instance(op).await,
            Op::Work(op) => caller.work(op).await,
            Op::Session(op) => caller.session(op).await,
            Op::Block(op) => caller.block(op).await,
            Op::Read(op) => caller.read(op).await,
            Op::Look(op) => caller.look(op).await,
            Op::Delete(op) => caller.delete(op).await,
            Op::Advance(_) | Op::Damage(_) | Op::Listen | Op::Restart => Answer::default(),
        }
    }

    /// Numbers of the model.
    fn damage(&mut self, damage: &Damage) {
        match damage {
            Damage::Message { number } => self.memory.make_message_unreadable(*number),
            Damage::Work { number } => self.memory.make_work_unreadable(*number),
            Damage::History { instance, execution_id } => {
                self.memory.make_history_unreadable(instance, *execution_id);
                self.world.damaged.insert((instance.clone(), *execution_id));
            }
        }
        self.subject.damage(&self.world.numbering.damage_of_subject(damage));
    }

    /// The process that holds all leases ends.
    fn restart(&mut self) {
        match self.world.reopening {
            Reopening::LeasesEnd => self.give_up_leases_of_memory(),
            Reopening::LeasesLast | Reopening::Never => {}
        }
        self.forget_nodes_of_memory();
        self.listeners.clear();
        self.subject.reopen();
        self.listen();
    }

    /// What the subject does to leases whose holder is gone.
    fn give_up_leases_of_memory(&mut self) {
        self.memory.end_leases();
        self.world.end_all();
    }

    /// Nodes go with their process.
    fn forget_nodes_of_memory(&self) {
        for node in block_on(self.memory.nodes()).expect("the model answers") {
            block_on(self.memory.forget_node(&node.announcement.id)).expect("the model answers");
        }
    }

    /// The dump without the events of damaged executions, which the stores damage differently.
    fn undamaged(&self, mut dump: Dump) -> Dump {
        for key in &self.world.damaged {
            if let Some(execution) = dump.executions.get_mut(key) {
                execution.events.clear();
                execution.event_ids.clear();
            }
        }
        dump
    }

    fn compare_stolen(&mut self, differences: &mut Vec<String>) -> Vec<String> {
        let name = self.subject.name();
        let mut told_by_memory = Vec::new();
        let mut orders = Vec::new();
        for (memory, subject) in &mut self.listeners {
            let memory = told(memory, &self.world, Side::Memory, &mut orders);
            let subject = told(subject, &self.world, Side::Subject, &mut Vec::new());
            if memory != subject {
                differences.push(format!("stolen leases: memory told {memory:?}, {name} {subject:?}"));
            }
            told_by_memory.extend(memory);
        }
        for order in orders {
            self.world.end(order);
        }
        told_by_memory
    }
}

/// Everything a listener was told since the last look, in an order of its own.
fn told(leases: &mut StolenLeases, world: &World, side: Side, orders: &mut Vec<usize>) -> Vec<String> {
    let mut told = Vec::new();
    while let Some(Some(stolen)) = leases.next().now_or_never() {
        let order = world.order_of(side, &stolen.token);
        orders.extend(order);
        told.push(format!("{order:?} because {:?}", stolen.because));
    }
    told.sort();
    told
}
