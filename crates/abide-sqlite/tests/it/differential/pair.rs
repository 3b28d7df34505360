//! The two stores side by side: each step is done to both, and then everything is compared.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use abide_memory::{Dump, InMemoryProvider};
use abide_model::Timestamp;
use abide_provider::{Lane, Provider as _, StolenLeases};
use abide_sqlite::{Durability, SqliteProvider};
use futures::executor::block_on;
use futures::{FutureExt as _, StreamExt as _};

use super::apply::{Answer, Caller};
use super::compare;
use super::op::{DamageOp, InstanceOp, Op, ReadOp, Token, WorkOp};
use super::world::{Side, World};
use crate::support::clock::{ManualClock, SeededEntropy};
use crate::support::dump::read_dump;

/// When every sequence begins.
const BEGIN_MS: u64 = 1_000_000_000;

/// Where the database of a sequence is.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    Memory,
    File(PathBuf),
}

/// Both stores.
pub(crate) struct Pair {
    pub(crate) world: World,
    clock: ManualClock,
    entropy: Arc<SeededEntropy>,
    place: Place,
    memory: InMemoryProvider,
    /// Missing only while it is opened again.
    sqlite: Option<SqliteProvider>,
    listeners: Vec<(StolenLeases, StolenLeases)>,
}

/// What a step did.
pub(crate) struct Done {
    pub(crate) memory: Answer,
    pub(crate) sqlite: Answer,
    /// What the model told of leases taken away.
    pub(crate) stolen: Vec<String>,
    /// Where the stores differ now; nothing is the aim.
    pub(crate) differences: Vec<String>,
}

impl Pair {
    pub(crate) fn open(place: Place, seed: u64) -> Self {
        let clock = ManualClock::at(BEGIN_MS);
        let memory =
            InMemoryProvider::with_seams(Arc::new(clock.clone()), Arc::new(SeededEntropy::new(seed)));
        let world = World { now: BEGIN_MS, on_file: matches!(place, Place::File(_)), ..World::default() };
        let entropy = Arc::new(SeededEntropy::new(!seed));
        let mut pair = Self { world, clock, entropy, place, memory, sqlite: None, listeners: Vec::new() };
        pair.open_sqlite();
        assert_eq!(pair.memory.abilities(), pair.sqlite().abilities());
        pair
    }

    fn open_sqlite(&mut self) {
        let url = match &self.place {
            Place::Memory => "sqlite::memory:".to_owned(),
            Place::File(path) => url(path),
        };
        let builder = SqliteProvider::builder(&url)
            .durability(Durability::Normal)
            .clock(Arc::new(self.clock.clone()))
            .entropy(Arc::<SeededEntropy>::clone(&self.entropy));
        self.sqlite = Some(block_on(builder.open()).unwrap());
        self.listeners.clear();
        self.listen();
    }

    fn listen(&mut self) {
        let both = (self.memory.stolen_leases().unwrap(), self.sqlite().stolen_leases().unwrap());
        self.listeners.push(both);
    }

    fn sqlite(&self) -> &SqliteProvider {
        self.sqlite.as_ref().unwrap()
    }

    /// Does one step to both stores, and looks where they differ.
    pub(crate) fn step(&mut self, op: &Op) -> Done {
        let (memory, sqlite) = self.call_both(op);
        let mut differences = Vec::new();
        if memory.text != sqlite.text && !self.may_be_early(op, &sqlite) {
            differences.push("the answers differ".to_owned());
        }
        differences
            .extend(memory.contradictions.iter().map(|text| format!("memory contradicts itself: {text}")));
        self.world.settle(op, &memory, &sqlite);
        differences.extend(self.compare_states());
        let stolen = self.compare_stolen(&mut differences);
        Done { memory, sqlite, stolen, differences }
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
        let looked = self.sqlite().inspect(move |connection| {
            connection.set_prepared_statement_cache_capacity(64);
            Ok::<_, rusqlite::Error>((read_dump(connection, now)?, compare::contradictions(connection, now)?))
        });
        let (sqlite, contradictions) = match block_on(looked) {
            Some(Ok(looked)) => looked,
            Some(Err(error)) => return vec![format!("a table cannot be read: {error}")],
            None => return vec!["what is stored makes no sense: see the panic of the writer".to_owned()],
        };
        let expected = self.undamaged(self.memory.dump());
        let mut differences = compare::dumps(&expected, &self.undamaged(sqlite));
        differences.extend(contradictions);
        self.world.now_holds(expected);
        differences
    }

    fn call_both(&mut self, op: &Op) -> (Answer, Answer) {
        match op {
            Op::Advance(by) => {
                self.clock.advance(*by);
                self.world.now = self.clock.now_ms();
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
            | Op::Read(_)
            | Op::Look(_)
            | Op::Delete(_) => (block_on(self.call(Side::Memory, op)), block_on(self.call(Side::Sqlite, op))),
        }
    }

    async fn call(&self, side: Side, op: &Op) -> Answer {
        let caller = match side {
            Side::Memory => Caller { provider: &self.memory, side, world: &self.world },
            Side::Sqlite => Caller { provider: self.sqlite(), side, world: &self.world },
        };
        match op {
            Op::Mail(op) => caller.mail(op).await,
            Op::Instance(op) => caller.instance(op).await,
            Op::Work(op) => caller.work(op).await,
            Op::Session(op) => caller.session(op).await,
            Op::Read(op) => {
                if matches!((op, side), (ReadOp::NextDue(_), Side::Sqlite)) {
                    // It notes what has become due when it writes, not when it is asked.
                    self.sqlite().nudge().await;
                }
                caller.read(op).await
            }
            Op::Look(op) => caller.look(op).await,
            Op::Delete(op) => caller.delete(op).await,
            Op::Advance(_) | Op::Damage(_) | Op::Listen | Op::Restart => Answer::default(),
        }
    }

    fn damage(&mut self, damage: &DamageOp) {
        match damage {
            DamageOp::Message { number } => {
                self.memory.make_message_unreadable(*number);
                self.execute(format!("UPDATE message SET item = '{{' WHERE no = {number}"));
            }
            DamageOp::Work { number } => {
                self.memory.make_work_unreadable(*number);
                self.execute(format!("UPDATE work SET item = '{{' WHERE no = {number}"));
            }
            DamageOp::History { instance, execution_id } => {
                self.memory.make_history_unreadable(instance, *execution_id);
                let mailbox = self.world.position(instance).incarnation;
                // As many events as before, so that they can be counted, and none that can be read.
                self.execute(format!(
                    "UPDATE turn SET events = (SELECT json_group_array(json('{{}}')) FROM json_each(turn.events))
                     WHERE mailbox = {mailbox} AND execution = {execution_id}"
                ));
                self.world.damaged.insert((instance.clone(), *execution_id));
            }
        }
    }

    fn execute(&self, statement: String) {
        let done = block_on(self.sqlite().inspect(move |connection| connection.execute(&statement, [])));
        done.unwrap().unwrap();
    }

    /// The process that holds all leases ends: it gives them up. The model, which cannot end, is told to.
    fn restart(&mut self) {
        for order in 0..self.world.issued.len() {
            let (token, delay, ignore_attempt) = (Token::Issued(order), None, false);
            let instance = InstanceOp::Abandon { token: token.clone(), delay, ignore_attempt };
            let work = WorkOp::Abandon { token, delay, ignore_attempt };
            drop(block_on(self.call(Side::Memory, &Op::Instance(instance))));
            drop(block_on(self.call(Side::Memory, &Op::Work(work))));
        }
        self.world.end_all();
        self.sqlite = None;
        self.open_sqlite();
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
        let mut told_by_memory = Vec::new();
        let mut orders = Vec::new();
        for (memory, sqlite) in &mut self.listeners {
            let memory = told(memory, &self.world, Side::Memory, &mut orders);
            let sqlite = told(sqlite, &self.world, Side::Sqlite, &mut Vec::new());
            if memory != sqlite {
                differences.push(format!("stolen leases: memory told {memory:?}, SQLite {sqlite:?}"));
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

fn url(path: &Path) -> String {
    format!("sqlite:{}", path.display())
}
