//! What waits on the desk, by kind, and how much of it a connection takes at once.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use super::abandon::{AbandonInstance, AbandonWork};
use super::batch::{Batched, Key, MOST_BYTES, Waiting};
use super::call::Call;
use super::commit::Commit;
use super::company::Company;
use super::desk::Since;
use super::enqueue::Enqueue;
use super::finish::Finish;
use super::look::Look;
use super::renew::{RenewInstance, RenewWork};

/// While a call of a kind is under way, the next ones of that kind wait for each other: until it is back, until they are many, or until they
/// have waited for so long. A call costs the server nearly as much with one of them as with ten, and so it does the node.
const MANY: usize = 16;
const GATHERED_WITHIN: Duration = Duration::from_millis(10);

/// Where there are other nodes, a second call would only take turns with theirs: commits wait until they fill one.
const MANY_IN_COMPANY: usize = Commit::MOST;

/// Where there is more work than slots, what a step makes has to wait anyway, and no slot waits for its commit. So those of steps wait for each
/// other also if none is under way: until they are many, until they are as many as this node has leases, or for so long.
const MANY_IN_A_BACKLOG: usize = 64;
const GATHERED_IN_A_BACKLOG: Duration = Duration::from_millis(20);

/// What a connection takes at once.
pub(crate) enum Work {
    Commits(Vec<Waiting<Commit>>),
    Finishes(Vec<Waiting<Finish>>),
    Enqueues(Vec<Waiting<Enqueue>>),
    Looks(Vec<Waiting<Look>>),
    AbandonInstances(Vec<Waiting<AbandonInstance>>),
    AbandonActivities(Vec<Waiting<AbandonWork>>),
    RenewInstances(Vec<Waiting<RenewInstance>>),
    RenewActivities(Vec<Waiting<RenewWork>>),
    Call(Call),
}

/// For the ordinary connections.
#[derive(Default)]
pub(super) struct Ordinary {
    pub(super) commits: VecDeque<Waiting<Commit>>,
    pub(super) finishes: VecDeque<Waiting<Finish>>,
    pub(super) enqueues: VecDeque<Waiting<Enqueue>>,
    pub(super) looks: VecDeque<Waiting<Look>>,
    pub(super) abandon_instances: VecDeque<Waiting<AbandonInstance>>,
    pub(super) abandon_work: VecDeque<Waiting<AbandonWork>>,
    pub(super) calls: VecDeque<Call>,
    /// Whose turn it is.
    turn: usize,
    /// How many calls of each kind are under way.
    under_way: [usize; Self::KINDS],
    /// How many have come back.
    returned: u64,
    /// Until when there is believed to be more work than this node has slots, in monotonic time.
    backlog_until: Duration,
}

/// When a connection takes something.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    /// In monotonic time.
    pub(crate) now: Duration,
    /// How many activities this node has leased.
    pub(crate) leased: usize,
    /// Who else may keep the server busy.
    pub(crate) company: Company,
}

/// What there is to do.
pub(super) enum Next {
    /// This, of the kind with this number.
    Work(Work, usize),
    /// What there is waits for others of its kind, in monotonic time until then.
    Later(Duration),
    Nothing,
}

/// For the one that renews.
#[derive(Default)]
pub(super) struct Renewals {
    pub(super) instances: VecDeque<Waiting<RenewInstance>>,
    pub(super) work: VecDeque<Waiting<RenewWork>>,
    pub(super) calls: VecDeque<Call>,
    turn: usize,
}

impl Ordinary {
    const KINDS: usize = 7;
    const COMMITS: usize = 0;

    pub(super) fn has_some(&self) -> bool {
        !(self.commits.is_empty()
            && self.finishes.is_empty()
            && self.enqueues.is_empty()
            && self.looks.is_empty()
            && self.abandon_instances.is_empty()
            && self.abandon_work.is_empty()
            && self.calls.is_empty())
    }

    /// Since when the one waits that has waited for the longest time.
    pub(super) fn oldest(&self) -> Option<Duration> {
        first(&self.commits).into_iter().chain(self.oldest_but_commits()).min()
    }

    fn oldest_but_commits(&self) -> Option<Duration> {
        let Self { finishes, enqueues, looks, abandon_instances, abandon_work, calls, .. } = self;
        [
            first(finishes),
            first(enqueues),
            first(looks),
            first(abandon_instances),
            first(abandon_work),
            first(calls),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    pub(super) fn take(&mut self, moment: Moment) -> Next {
        for _ in 0..Self::KINDS {
            let kind = self.turn;
            self.turn = (self.turn + 1) % Self::KINDS;
            let gathering = self.gathering(kind, moment);
            let work = match kind {
                Self::COMMITS => gathering.some_of(&mut self.commits).map(Work::Commits),
                1 => gathering.some_of(&mut self.finishes).map(Work::Finishes),
                2 => gathering.some_of(&mut self.enqueues).map(Work::Enqueues),
                3 => gathering.some_of(&mut self.abandon_instances).map(Work::AbandonInstances),
                4 => gathering.some_of(&mut self.abandon_work).map(Work::AbandonActivities),
                5 => gathering.some_of(&mut self.looks).map(Work::Looks),
                _ => self.calls.pop_front().map(Work::Call),
            };
            if let Some(work) = work {
                self.count(kind, |calls| calls.saturating_add(1));
                return Next::Work(work, kind);
            }
        }
        self.next_at(moment).map_or(Next::Nothing, Next::Later)
    }

    /// When the first of those that wait for others of their kind need wait no longer.
    fn next_at(&self, moment: Moment) -> Option<Duration> {
        let for_commits = self.gathering(Self::COMMITS, moment).within;
        let commits = first(&self.commits).map(|since| since.saturating_add(for_commits));
        let others = self.oldest_but_commits().map(|since| since.saturating_add(GATHERED_WITHIN));
        commits.into_iter().chain(others).min()
    }

    fn gathering(&self, kind: usize, Moment { now, leased, company }: Moment) -> Gathering {
        let is_on = self.under_way.get(kind).is_some_and(|calls| *calls > 0);
        let usual = Gathering { is_on, now, many: MANY, within: GATHERED_WITHIN };
        if kind != Self::COMMITS {
            return usual;
        }
        // A slot for turns is taken until its commit is back.
        let are_steps = || self.commits.iter().all(|waiting| waiting.what.0.turn.work.is_some());
        if self.believes_in_backlog(now) && are_steps() {
            let many = MANY_IN_A_BACKLOG.min(leased);
            return Gathering { is_on: true, many, within: GATHERED_IN_A_BACKLOG, ..usual };
        }
        match company {
            Company::Nobody => usual,
            Company::Somebody => Gathering { many: MANY_IN_COMPANY, ..usual },
        }
    }

    /// Until when there is believed to be more work than this node has slots.
    pub(super) fn believe_in_backlog(&mut self, until: Duration) {
        self.backlog_until = until;
    }

    pub(super) fn believes_in_backlog(&self, now: Duration) -> bool {
        now < self.backlog_until
    }

    /// A call of this kind is back.
    pub(super) fn is_back(&mut self, kind: usize) {
        self.returned = self.returned.wrapping_add(1);
        self.count(kind, |calls| calls.saturating_sub(1));
    }

    /// How many calls have come back so far.
    pub(super) const fn returned(&self) -> u64 {
        self.returned
    }

    fn count(&mut self, kind: usize, change: impl FnOnce(usize) -> usize) {
        if let Some(calls) = self.under_way.get_mut(kind) {
            *calls = change(*calls);
        }
    }
}

impl Renewals {
    const KINDS: usize = 3;

    pub(super) fn has_some(&self) -> bool {
        !(self.instances.is_empty() && self.work.is_empty() && self.calls.is_empty())
    }

    pub(super) fn oldest(&self) -> Option<Duration> {
        [first(&self.instances), first(&self.work), first(&self.calls)].into_iter().flatten().min()
    }

    pub(super) fn take(&mut self) -> Next {
        for _ in 0..Self::KINDS {
            let kind = self.turn;
            self.turn = (self.turn + 1) % Self::KINDS;
            let work = match kind {
                0 => some_of(&mut self.instances).map(Work::RenewInstances),
                1 => some_of(&mut self.work).map(Work::RenewActivities),
                _ => self.calls.pop_front().map(Work::Call),
            };
            if let Some(work) = work {
                return Next::Work(work, kind);
            }
        }
        Next::Nothing
    }
}

/// Whether those of a kind wait for each other.
struct Gathering {
    is_on: bool,
    now: Duration,
    many: usize,
    within: Duration,
}

impl Gathering {
    fn some_of<B: Batched>(&self, queue: &mut VecDeque<Waiting<B>>) -> Option<Vec<Waiting<B>>> {
        let is_recent = first(queue).is_some_and(|since| self.now < since.saturating_add(self.within));
        if self.is_on && is_recent && queue.len() < self.many { None } else { some_of(queue) }
    }
}

fn first<W: Since>(queue: &VecDeque<W>) -> Option<Duration> {
    queue.front().map(Since::since)
}

/// Takes what can go together: everything, but for a second one of the same key, which is judged by what the first one leaves. Whoever is
/// passed over still comes before the next of his key.
fn some_of<B: Batched>(queue: &mut VecDeque<Waiting<B>>) -> Option<Vec<Waiting<B>>> {
    let mut keys = BTreeSet::new();
    let (mut bytes, mut is_closed): (usize, bool) = (0, false);
    let (mut together, mut rest) = (Vec::new(), VecDeque::new());
    for waiting in queue.drain(..) {
        let key = waiting.what.key();
        let is_alone = key == Key::Alone;
        let is_first = matches!(key, Key::Any | Key::Alone) || keys.insert(key);
        let is_light = bytes.saturating_add(waiting.what.bytes()) <= MOST_BYTES;
        let goes_along = together.is_empty() || (is_light && !is_alone);
        if together.len() < B::MOST && !is_closed && is_first && goes_along {
            is_closed = is_alone;
            bytes = bytes.saturating_add(waiting.what.bytes());
            together.push(waiting);
        } else {
            rest.push_back(waiting);
        }
    }
    *queue = rest;
    if together.is_empty() { None } else { Some(together) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use abide_provider::Operation;

    use super::*;
    use crate::encode::EncodedTurn;
    use crate::error::CallError;
    use crate::node::batch::Answers;
    use crate::node::connection::Connection;
    use crate::shared::Shared;

    /// A name, its key, and how heavy it is.
    #[derive(Clone)]
    struct Thing(&'static str, Key, usize);

    impl Batched for Thing {
        type Answer = ();

        const MOST: usize = 4;

        fn key(&self) -> Key {
            self.1.clone()
        }

        fn bytes(&self) -> usize {
            self.2
        }

        async fn call(
            _: &Connection<'_>,
            _: &Arc<Shared>,
            _: &mut [Waiting<Self>],
        ) -> Result<Answers<()>, CallError> {
            Ok(Vec::new().into())
        }
    }

    /// What is taken, call by call.
    fn calls(things: &[Thing]) -> Vec<String> {
        let wait = |thing: &Thing| Waiting::new(Operation::CommitTurn, thing.clone(), Duration::ZERO).0;
        let mut queue: VecDeque<_> = things.iter().map(wait).collect();
        let next = || some_of(&mut queue);
        let name = |taken: Vec<Waiting<Thing>>| taken.iter().map(|waiting| waiting.what.0).collect();
        std::iter::from_fn(next).map(name).collect()
    }

    const fn plain(name: &'static str, number: i64) -> Thing {
        Thing(name, Key::Number(number), 0)
    }

    /// A moment at which seven activities are leased, and nobody else is there.
    const fn at(millis: u64) -> Moment {
        Moment { now: Duration::from_millis(millis), leased: 7, company: Company::Nobody }
    }

    fn commit_at(ordinary: &mut Ordinary, count: i64, millis: u64) {
        let commit = |mailbox| {
            let mut turn = EncodedTurn::default();
            (turn.turn.mailbox, turn.turn.work) = (Some(mailbox), Some(mailbox));
            Waiting::new(Operation::CommitTurn, Commit(turn), Duration::from_millis(millis)).0
        };
        ordinary.commits.extend((0..count).map(commit));
    }

    #[test]
    fn commits_wait_for_each_other_while_there_is_more_work_than_slots() {
        let mut ordinary = Ordinary::default();
        commit_at(&mut ordinary, 1, 0);
        assert_eq!(taken(&mut ordinary, 0), Ok(1), "there is no backlog");
        ordinary.is_back(Ordinary::COMMITS);

        ordinary.believe_in_backlog(Duration::from_millis(100));
        commit_at(&mut ordinary, 2, 10);
        assert_eq!(taken(&mut ordinary, 11), Err(Duration::from_millis(30)));
        look_at(&mut ordinary, 1, 12);
        assert_eq!(taken(&mut ordinary, 12), Ok(1), "others do not wait for them");
        assert_eq!(taken(&mut ordinary, 30), Ok(2), "they have waited for long enough");
        commit_at(&mut ordinary, 7, 40);
        assert_eq!(taken(&mut ordinary, 40), Ok(7), "no other can come: all that is leased is among them");
        ordinary.is_back(Ordinary::COMMITS);
        ordinary.is_back(Ordinary::COMMITS);
        commit_at(&mut ordinary, 2, 60);
        ordinary.commits[1].what.0.turn.work = None;
        assert_eq!(
            taken(&mut ordinary, 60),
            Ok(2),
            "one is the turn of somebody who has a slot until it is back"
        );
        ordinary.is_back(Ordinary::COMMITS);
        commit_at(&mut ordinary, 1, 99);
        assert_eq!(taken(&mut ordinary, 100), Ok(1), "nobody believes in the backlog any more");
    }

    /// What a connection takes then, and how many of those that wait it takes.
    fn taken(ordinary: &mut Ordinary, millis: u64) -> Result<usize, Duration> {
        taken_at(ordinary, at(millis))
    }

    fn taken_at(ordinary: &mut Ordinary, moment: Moment) -> Result<usize, Duration> {
        match ordinary.take(moment) {
            Next::Work(Work::Looks(looks), _) => Ok(looks.len()),
            Next::Work(Work::Commits(commits), _) => Ok(commits.len()),
            Next::Later(until) => Err(until),
            Next::Work(..) | Next::Nothing => Ok(0),
        }
    }

    fn look_at(ordinary: &mut Ordinary, times: usize, millis: u64) {
        let look =
            || Waiting::new(Operation::ReadStatus, Look("i".to_owned()), Duration::from_millis(millis)).0;
        ordinary.looks.extend(std::iter::repeat_with(look).take(times));
    }

    #[test]
    fn those_who_come_while_a_call_is_under_way_wait_for_it_but_not_for_long() {
        let mut ordinary = Ordinary::default();
        look_at(&mut ordinary, 1, 0);
        assert_eq!(taken(&mut ordinary, 0), Ok(1), "nothing is under way");
        look_at(&mut ordinary, 2, 1);
        assert_eq!(taken(&mut ordinary, 2), Err(Duration::from_millis(11)));
        look_at(&mut ordinary, 1, 3);
        assert_eq!(taken(&mut ordinary, 11), Ok(3), "the first has waited for long enough");
        look_at(&mut ordinary, MANY, 12);
        assert_eq!(taken(&mut ordinary, 12), Ok(MANY), "they are many");
        assert_eq!(taken(&mut ordinary, 12), Ok(0), "there is nothing");
    }

    #[test]
    fn in_company_a_second_commit_waits_until_it_is_full_but_not_for_long() {
        let mut ordinary = Ordinary::default();
        let in_company = |millis| Moment { company: Company::Somebody, ..at(millis) };
        commit_at(&mut ordinary, 1, 0);
        assert_eq!(taken_at(&mut ordinary, in_company(0)), Ok(1), "nothing is under way");
        commit_at(&mut ordinary, 127, 1);
        assert_eq!(taken_at(&mut ordinary, in_company(2)), Err(Duration::from_millis(11)));
        assert_eq!(taken_at(&mut ordinary, in_company(11)), Ok(127), "that was long enough");
        commit_at(&mut ordinary, 128, 12);
        assert_eq!(taken_at(&mut ordinary, in_company(12)), Ok(MANY_IN_COMPANY), "they fill a call");
        look_at(&mut ordinary, 1, 14);
        assert_eq!(taken_at(&mut ordinary, in_company(14)), Ok(1));
        look_at(&mut ordinary, MANY, 14);
        assert_eq!(taken_at(&mut ordinary, in_company(14)), Ok(MANY), "looks do not wait for more");
    }

    #[test]
    fn those_who_waited_for_a_call_go_when_it_is_back() {
        let mut ordinary = Ordinary::default();
        look_at(&mut ordinary, 1, 0);
        let Next::Work(_, kind) = ordinary.take(at(0)) else { panic!("a look") };
        look_at(&mut ordinary, 2, 0);
        assert!(taken(&mut ordinary, 1).is_err());
        ordinary.is_back(kind);
        assert_eq!(taken(&mut ordinary, 1), Ok(2));
    }

    #[test]
    fn what_has_nothing_in_common_goes_together_up_to_a_limit() {
        let things = [plain("a", 1), plain("b", 2), plain("c", 3), plain("d", 4), plain("e", 5)];
        assert_eq!(calls(&things), ["abcd", "e"]);
    }

    #[test]
    fn those_of_one_key_go_one_after_the_other_and_keep_their_order() {
        let heavy = Thing("H", Key::Number(2), MOST_BYTES + 1);
        assert_eq!(calls(&[plain("a", 1), plain("b", 1), plain("c", 1), plain("d", 2)]), ["ad", "b", "c"]);
        assert_eq!(calls(&[plain("a", 1), heavy, plain("b", 2)]), ["a", "H", "b"], "b waits for H");
    }

    #[test]
    fn what_must_be_alone_is() {
        let alone = |name| Thing(name, Key::Alone, 0);
        assert_eq!(calls(&[plain("a", 1), alone("X"), plain("b", 2), alone("Y")]), ["ab", "X", "Y"]);
        assert_eq!(calls(&[alone("X"), plain("a", 1)]), ["X", "a"]);
    }
}
