//! Looking for something to lease: now, and again when there may be something.
//!
//! Waiting costs nothing: a call that found nothing waits here, under whatever executor its caller uses, until something is handed over to it,
//! until there are news, until something is due, or until it is time to look for what nobody told.

use std::sync::atomic::Ordering;
use std::time::Duration;

use abide_provider::{Operation, StoreError};
use futures_channel::oneshot;
use futures_util::future::{Either, select};

use crate::PostgresProvider;
use crate::lease::{LULL, Looked, Times};
use crate::news::News;
use crate::node::call::{Call, Caller, Statement, Values};
use crate::node::desk::Place;
use crate::node::outbox::Pace;
use crate::node::patience::Patience;
use crate::postgres_provider::answer_of;
use crate::shared::Shared;
use crate::statements::Sql;
use crate::terms::Terms;
use crate::waiters::{Interest, LastLook, Ours, Waiter};

/// If there is a reason to look, nobody lives on what is handed over for longer than this.
const LONGEST_WITHOUT_LOOK: Duration = Duration::from_millis(100);

/// How long it is believed that there is more work than slots, after a look that found all it asked for.
const BACKLOG: Duration = Duration::from_millis(50);

/// In a backlog a look asks for as many as this at least, if there is room for them.
const FEW: usize = 16;

/// How often one call looks again because something had to be sorted out first.
const ROUNDS: usize = 1_000;

/// How much there is to find.
#[derive(Debug, Clone, Copy)]
enum Supply {
    /// More than there are slots.
    Backlog,
    Unknown,
}

/// Whoever waits for many looks for half of them, and takes the others from those who make some meanwhile: or it would be looked for what was
/// made during a look, and for what was made during that one, and so on. In a backlog he need not wait for anybody to make some, and would only
/// come back sooner, and a look for one costs nearly as much as a look for a few.
fn share_of(most: usize, supply: Supply) -> usize {
    let at_least = match supply {
        Supply::Backlog => FEW,
        Supply::Unknown => 0,
    };
    most.div_ceil(2).max(most.min(at_least))
}

/// Somebody who looks for something, and what this node told nobody else because he would. Whatever becomes of him, it is told then.
struct Errand<'s> {
    shared: &'s Shared,
    waiter: Waiter<'s>,
    interest: Interest,
    withheld: Option<Ours>,
    /// Whether he goes with something: then he had no use for more, or comes back for it.
    has_leases: bool,
}

impl<'s> Errand<'s> {
    fn begin(shared: &'s Shared, interest: Interest) -> Self {
        let waiter = shared.waiters.enter(interest.clone());
        Self { shared, waiter, interest, withheld: None, has_leases: false }
    }

    /// Before a look.
    fn take_note(&mut self) {
        self.withhold(self.waiter.take_note());
    }

    fn withhold(&mut self, ours: Option<Ours>) {
        if let Some(routes) = ours {
            self.withheld.get_or_insert_default().extend(routes);
        }
    }

    /// After a look that leased so many of so many: what this node was told of and cannot use, or not all of it, is for others.
    fn looked(&mut self, leased: usize, most: usize) {
        if leased == 0 {
            self.tell(Pace::AtOnce);
        } else if leased == most {
            self.tell(Pace::InTime);
        } else {
            // All that was for this node is taken. What is ready under other routes, it may have heard of before it knew them.
            if let Some(withheld) = &mut self.withheld {
                let taken = self.interest.among(self.interest.lane(withheld), &self.shared.routes);
                withheld.retain(|route| !taken.contains(route));
            }
            self.withheld.take_if(|withheld| withheld.is_empty());
            self.tell(Pace::AtOnce);
        }
    }

    /// There may be something for others.
    fn tell(&mut self, pace: Pace) {
        let Some(routes) = self.withheld.take() else { return };
        let news = match self.interest {
            Interest::Instances(_) => News { instances: routes, ..News::default() },
            Interest::Work(_) => News { work: routes, ..News::default() },
        };
        self.shared.outbox.put_with(news, pace);
    }
}

impl Drop for Errand<'_> {
    fn drop(&mut self) {
        self.withhold(self.waiter.leave());
        self.tell(if self.has_leases { Pace::InTime } else { Pace::AtOnce });
    }
}

impl PostgresProvider {
    /// Looks until there is something, or `wait` is over.
    pub(crate) async fn look_until<S: Search>(
        &self,
        operation: Operation,
        wait: Duration,
        mut search: S,
    ) -> Result<Vec<S::Lease>, StoreError> {
        let clock = &*self.shared.settings.clock;
        let deadline = clock.monotonic().saturating_add(wait);
        let terms = search.terms();
        let mut errand = Errand::begin(&self.shared, terms.interest());
        let mut pause = self.pause_before(&terms, wait);
        let mut must_look = self.must_look(&terms, pause, wait);
        let mut has_looked = false;
        for _ in 0..ROUNDS {
            let until = |announced| pause.map(|times| times.look_again_at(announced).min(deadline));
            let is_due = std::mem::take(&mut must_look);
            if !is_due && let Some(handed) = self.handed(&errand.waiter, &terms, search.wanted(), until).await
            {
                pause = None;
                match search.take(self, handed).await? {
                    Took::Leases(leases) if !leases.is_empty() => {
                        errand.has_leases = true;
                        self.expect_back(&terms, wait, search.limit().saturating_sub(leases.len()));
                        return Ok(leases);
                    }
                    Took::Leases(_) | Took::LookAgain => continue,
                }
            }
            if has_looked && pause.is_some() && clock.monotonic() >= deadline {
                return Ok(Vec::new());
            }
            errand.take_note();
            let before = self.shared.waiters.heard_of(&terms.interest());
            let (had, most) = (search.had(), self.most_at_once(&terms, search.wanted(), wait));
            let parked = self.shared.hatch.park(&terms, search.wanted().saturating_sub(most));
            let looked = self.look(operation, search.sql(), search.values(&self.shared, most)).await?;
            drop(parked);
            let times = looked.times();
            has_looked = true;
            let Took::Leases(leases) = search.take(self, looked).await? else {
                // What had to be sorted out is out of the way then.
                pause = None;
                continue;
            };
            // Of this look, without what those before it found that had to be sorted out.
            let found = leases.len().saturating_sub(had);
            let has_drained = found < most;
            let look = LastLook {
                terms: terms.clone(),
                heard_of: before,
                times: if leases.is_empty() { times } else { times.after_lull() },
                has_drained,
            };
            self.note_backlog(&look, wait);
            self.shared.waiters.note_look(&errand.waiter, look);
            errand.looked(found, search.most_for_us(found, most));
            errand.has_leases = !leases.is_empty();
            if !leases.is_empty() {
                self.expect_back(&terms, wait, search.limit().saturating_sub(leases.len()));
                return Ok(leases);
            }
            if clock.monotonic() >= deadline {
                return Ok(Vec::new());
            }
            pause = Some(times);
        }
        // Something is sorted out in every round, so this is for a store gone wrong.
        Ok(Vec::new())
    }

    /// How many of those that are wanted one look asks for.
    fn most_at_once(&self, terms: &Terms, wanted: usize, wait: Duration) -> usize {
        // What is promised already comes beside what is found; if that is all, a look for one finds out whether others are left.
        let most = wanted.saturating_sub(self.shared.hatch.coming(terms)).max(1);
        if wait <= LULL {
            return most;
        }
        let now = self.shared.settings.clock.monotonic();
        let is_backlogged = matches!(terms, Terms::Work { .. }) && self.shared.desk.believes_in_backlog(now);
        share_of(most, if is_backlogged { Supply::Backlog } else { Supply::Unknown })
    }

    /// Whether it is time to look, however much is handed over: what comes due, and what others tell, is found by nothing else.
    fn must_look(&self, terms: &Terms, pause: Option<Times>, wait: Duration) -> bool {
        let now = self.shared.settings.clock.monotonic();
        let is_due = pause.is_none_or(|times| times.look_again_at(None) <= now);
        let is_long_ago = |at: Duration| now.saturating_sub(at) > LONGEST_WITHOUT_LOOK;
        wait > LULL && is_due && self.shared.waiters.looked_at(terms).is_none_or(is_long_ago)
    }

    /// After a look of somebody who waits, which left nothing, or did not.
    fn note_backlog(&self, look: &LastLook, wait: Duration) {
        if wait > LULL && matches!(look.terms, Terms::Work { .. }) {
            let now = self.shared.settings.clock.monotonic();
            let until = if look.has_drained { Duration::ZERO } else { now.saturating_add(BACKLOG) };
            self.shared.desk.believe_in_backlog(until);
        }
    }

    /// Somebody who waits for work, and goes with less than he asked for, comes back.
    fn expect_back(&self, terms: &Terms, wait: Duration, wants: usize) {
        if wait > LULL && wants > 0 {
            self.shared.hatch.expect_back(terms, wants, self.shared.settings.clock.monotonic());
        }
    }

    /// Whether a call need not look at once: the last look left nothing, and nothing was heard of since. One that does not wait looks, and so
    /// does everybody while what other nodes tell is not heard.
    fn pause_before(&self, terms: &Terms, wait: Duration) -> Option<Times> {
        let is_listening = self.shared.is_listening.load(Ordering::Acquire);
        self.shared.waiters.drained(terms).filter(|_| wait > LULL && is_listening)
    }

    /// What others hand over, until there is a reason to look, or it is time.
    async fn handed(
        &self,
        waiter: &Waiter<'_>,
        terms: &Terms,
        wanted: usize,
        until: impl Fn(Option<i64>) -> Option<Duration>,
    ) -> Option<Looked> {
        let hatch = &self.shared.hatch;
        let parked = hatch.park(terms, wanted);
        let clock = &*self.shared.settings.clock;
        let mut patience = None;
        while !hatch.has_some(terms) {
            let mut until = until(waiter.announced()).filter(|_| !waiter.is_called());
            if until.is_none() && wanted > 0 && hatch.relies_on(terms, wanted) {
                // Whoever is promised all he wants waits a moment for that before he looks.
                until = Some(*patience.get_or_insert_with(|| clock.monotonic().saturating_add(LULL)));
            }
            let Some(until) = until.filter(|until| clock.monotonic() < *until) else { break };
            if let Either::Right(_) = select(std::pin::pin!(waiter.heard()), clock.sleep_until(until)).await {
                break;
            }
        }
        drop(parked);
        hatch.collect(terms, wanted)
    }

    async fn look(&self, operation: Operation, sql: Sql, values: Values) -> Result<Looked, StoreError> {
        let (reply, answer) = oneshot::channel();
        let since = self.shared.settings.clock.monotonic();
        let (place, patience, statement) = (Place::Ordinary, Patience::SHORT, Statement::Known(sql));
        let caller = Caller::Leases(reply);
        self.shared.desk.put([Call { operation, place, since, statement, values, patience, caller }]);
        answer_of(operation, answer).await
    }
}

/// What is looked for.
pub(crate) trait Search {
    type Lease;

    fn terms(&self) -> Terms;

    /// How many were asked for.
    fn limit(&self) -> usize;

    /// How many are missing.
    fn wanted(&self) -> usize;

    /// How many it has found already.
    fn had(&self) -> usize {
        self.limit().saturating_sub(self.wanted())
    }

    fn sql(&self) -> Sql;

    /// Of a look that leased so many, how many it would have leased at most: what it left to other nodes is for them.
    fn most_for_us(&self, _leased: usize, most: usize) -> usize {
        most
    }

    /// The values of the next look, for at most so many.
    fn values(&mut self, shared: &Shared, most: usize) -> Values;

    /// Makes leases of what was found.
    async fn take(
        &mut self,
        store: &PostgresProvider,
        looked: Looked,
    ) -> Result<Took<Self::Lease>, StoreError>;
}

/// What became of what was found.
pub(crate) enum Took<T> {
    Leases(Vec<T>),
    /// Something had to be sorted out first.
    LookAgain,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_waits_looks_for_half_and_in_a_backlog_for_a_few_at_least() {
        for (most, half, in_a_backlog) in
            [(1, 1, 1), (2, 1, 2), (5, 3, 5), (16, 8, 16), (20, 10, 16), (100, 50, 50)]
        {
            assert_eq!(share_of(most, Supply::Unknown), half, "of {most}");
            assert_eq!(share_of(most, Supply::Backlog), in_a_backlog, "of {most}");
        }
    }
}
