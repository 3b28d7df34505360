//! Programs as data, so that a failing one can be made smaller.
//!
//! A program is a list of steps; `interpret` runs it as an orchestration (`several` the steps that have steps
//! or futures inside, `odd` what no sensible program does), `play` puts it into a world that answers it.

pub(crate) mod interpret;
mod odd;
pub(crate) mod play;
mod several;

use proptest::prelude::*;

/// One thing that has an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaf {
    Activity(u8),
    Tagged(u8),
    OnSession(u8),
    Timer(u16),
    Wait(u8),
    Dequeue(u8),
    Child(u8),
    NamedChild(u8),
    /// An activity that is typed, and tagged behind its conversion.
    Typed(u8),
    /// A prune, as a future like any other.
    Prune(u8),
    /// An activity whose conversion asks for more.
    AsksInMap(u8),
    /// An activity that asks for more when its future is gone, dropped or not.
    AsksWhenGone(u8),
    /// A typed wait that gives what cannot be decoded as an error.
    TryTypedWait(u8),
    /// A typed wait: what cannot be decoded ends the execution.
    TypedWait(u8),
}

/// What becomes of a future that is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Awaited,
    Dropped,
}

/// One step of a program.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Await(Leaf),
    /// Branches side by side, all awaited through `ctx.join`.
    Join(Vec<Vec<Step>>),
    /// Leaves side by side, awaited through `FuturesUnordered`, in the order they become ready.
    Unordered(Vec<Leaf>),
    /// The first branch wins; the others are dropped wherever they are.
    Select(Vec<Vec<Step>>),
    /// The first of two wins; the other is kept for a while.
    Race(Leaf, Leaf, Fate),
    /// A future is made, other things happen, then it is awaited or dropped.
    Hold(Leaf, Vec<Step>, Fate),
    MakeAndDrop(Leaf),
    Timeout(u16, Vec<Step>),
    Retry {
        attempts: u32,
        pause_ms: u16,
        limit_ms: Option<u16>,
    },
    Guid,
    Yield,
    /// Futures in a bag that is kept across several awaits, and dropped where the list ends.
    Bag(Vec<InBag>),
    /// Leaves in a `FuturesUnordered`, some of which are taken, with steps in between; the rest is dropped.
    Drain(Vec<Leaf>, u8, Vec<Step>),
    /// One future is kept while others are raced against it, one after the other.
    Keep(Leaf, Leaf, u8),
    /// Steps whose panic is caught.
    Catch(Vec<Step>),
    /// Steps beside something that asks when it is dropped.
    Guarded(u8, Vec<Step>),
    /// One future shared by two branches.
    Shared(Leaf, Vec<Step>),
    /// One branch tells the other through a channel.
    Channel(Leaf, Vec<Step>),
    /// A select in a select, whose losers have run halfway.
    Nested(Vec<Step>, Vec<Step>, Vec<Step>),
    /// Continues as new without waiting for it.
    NextUnawaited,
    /// Continues as new twice in one poll.
    NextTwice,
    /// Continues as new, and asks for more in the same poll.
    NextAnd(Leaf, u8),
    /// Asks for too much, in one of three ways; from 3 on it asks for more behind that.
    TooMuch(u8),
    /// The conversion of a future panics.
    PanicInMap(Leaf),
    Say,
    KvAppend(u8),
    KvRead(u8),
    KvClear(u8),
    KvClearAll,
    KvPrune(u16),
    Status(u8),
    StatusReset,
    Detach(u8),
    Prune(u8),
    /// Continues as new, in the first executions.
    Next,
    /// Continues as new and prunes.
    NextPruned,
    Return,
    Fail,
    Panic,
}

/// What happens to a bag of futures.
#[derive(Debug, Clone, Copy)]
pub(crate) enum InBag {
    Put(Leaf),
    /// Awaits the one at this place.
    Await(u8),
    Drop(u8),
    /// Polls it once.
    Peek(u8),
    /// Awaits the first of all, and keeps the others.
    First,
    /// Awaits something that is not in the bag.
    Other(Leaf),
    /// Awaits all that are left, in one join.
    All,
    Swap(u8),
}

/// A program: what its first execution does, in order, and what the later ones do.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    pub(crate) first: Vec<Step>,
    pub(crate) later: Vec<Step>,
}

/// Names come from a small pool, so that they meet.
const NAMES: u8 = 2;

fn leaf() -> impl Strategy<Value = Leaf> {
    prop_oneof![
        6 => (0..NAMES).prop_map(Leaf::Activity),
        1 => (0..NAMES).prop_map(Leaf::Tagged),
        1 => (0..NAMES).prop_map(Leaf::OnSession),
        3 => (0..5_000_u16).prop_map(Leaf::Timer),
        4 => (0..NAMES).prop_map(Leaf::Wait),
        5 => (0..NAMES).prop_map(Leaf::Dequeue),
        2 => (0..NAMES).prop_map(Leaf::Child),
        1 => (0..NAMES).prop_map(Leaf::NamedChild),
        1 => Just(Leaf::Timer(0)),
        1 => (0..NAMES).prop_map(Leaf::Typed),
        1 => (0..4_u8).prop_map(Leaf::Prune),
        1 => (0..6_u8).prop_map(Leaf::AsksInMap),
        1 => (0..6_u8).prop_map(Leaf::AsksWhenGone),
        1 => (0..NAMES).prop_map(Leaf::TryTypedWait),
        1 => (0..8_u8).prop_map(Leaf::TypedWait),
    ]
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![Just(Fate::Awaited), Just(Fate::Dropped)]
}

fn in_bag() -> impl Strategy<Value = InBag> {
    prop_oneof![
        6 => leaf().prop_map(InBag::Put),
        2 => any::<u8>().prop_map(InBag::Await),
        2 => any::<u8>().prop_map(InBag::Drop),
        2 => any::<u8>().prop_map(InBag::Peek),
        3 => Just(InBag::First),
        2 => leaf().prop_map(InBag::Other),
        1 => Just(InBag::All),
        1 => any::<u8>().prop_map(InBag::Swap),
    ]
}

fn simple_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => leaf().prop_map(Step::Await),
        3 => (leaf(), leaf(), fate()).prop_map(|(first, second, fate)| Step::Race(first, second, fate)),
        2 => leaf().prop_map(Step::MakeAndDrop),
        2 => prop::collection::vec(leaf(), 1..4).prop_map(Step::Unordered),
        1 => (1..4_u32, 0..3_000_u16, prop::option::of(0..3_000_u16))
            .prop_map(|(attempts, pause_ms, limit_ms)| Step::Retry { attempts, pause_ms, limit_ms }),
        1 => Just(Step::Guid),
        1 => Just(Step::Yield),
        2 => Just(Step::Say),
        2 => (0..NAMES).prop_map(Step::KvAppend),
        1 => (0..NAMES).prop_map(Step::KvRead),
        1 => (0..NAMES).prop_map(Step::KvClear),
        1 => Just(Step::KvClearAll),
        1 => (0..20_000_u16).prop_map(Step::KvPrune),
        1 => (0..NAMES).prop_map(Step::Status),
        1 => Just(Step::StatusReset),
        1 => (0..NAMES).prop_map(Step::Detach),
        1 => (0..4_u8).prop_map(Step::Prune),
        4 => prop::collection::vec(in_bag(), 1..10).prop_map(Step::Bag),
        2 => (leaf(), leaf(), 1..4_u8).prop_map(|(kept, each, times)| Step::Keep(kept, each, times)),
        1 => leaf().prop_map(Step::PanicInMap),
    ]
}

fn last_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Next),
        1 => Just(Step::NextPruned),
        2 => Just(Step::Return),
        1 => Just(Step::Fail),
        1 => Just(Step::Panic),
        1 => Just(Step::NextUnawaited),
        1 => Just(Step::NextTwice),
        1 => (leaf(), 0..6_u8).prop_map(|(leaf, what)| Step::NextAnd(leaf, what)),
        1 => (0..9_u8).prop_map(Step::TooMuch),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let any_step = prop_oneof![30 => simple_step(), 1 => last_step()];
    any_step.prop_recursive(3, 24, 4, |inner| {
        let branch = || prop::collection::vec(inner.clone(), 0..4);
        prop_oneof![
            3 => prop::collection::vec(branch(), 1..4).prop_map(Step::Join),
            3 => prop::collection::vec(branch(), 1..4).prop_map(Step::Select),
            3 => (leaf(), branch(), fate()).prop_map(|(leaf, steps, fate)| Step::Hold(leaf, steps, fate)),
            1 => (0..5_000_u16, branch()).prop_map(|(limit, steps)| Step::Timeout(limit, steps)),
            2 => (prop::collection::vec(leaf(), 1..5), 0..5_u8, branch())
                .prop_map(|(leaves, taken, between)| Step::Drain(leaves, taken, between)),
            2 => branch().prop_map(Step::Catch),
            2 => (0..6_u8, branch()).prop_map(|(what, steps)| Step::Guarded(what, steps)),
            1 => (leaf(), branch()).prop_map(|(leaf, steps)| Step::Shared(leaf, steps)),
            1 => (leaf(), branch()).prop_map(|(leaf, steps)| Step::Channel(leaf, steps)),
            2 => (branch(), branch(), branch()).prop_map(|(a, b, c)| Step::Nested(a, b, c)),
        ]
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    (prop::collection::vec(step(), 1..7), prop::option::of(last_step())).prop_map(|(mut steps, last)| {
        steps.extend(last);
        steps
    })
}

pub(crate) fn program() -> impl Strategy<Value = Program> {
    (steps(), steps()).prop_map(|(first, later)| Program { first, later })
}
