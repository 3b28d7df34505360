//! Routes: what a ready row needs of the node that leases it, as numbers.
//!
//! The server numbers routes and never removes one. A node learns them when something is ready under one that it does not
//! know, and decides once for all rows of a route, by the predicates of the contract, whether a call takes it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use abide_provider::{DispatcherCapabilityFilter, InstanceRoute, Refusals, Serving};

use crate::rows::{RouteRow, WorkRouteRow};
use crate::text::unspell;

/// What the column of a mailbox holds in addition to its route if the execution has a pin, if builds refused it, and while a
/// cancel is visible.
const PINNED: i64 = 1 << 38;
const REFUSED: i64 = 1 << 39;
const CANCELED: i64 = 1 << 40;

/// What the column of work holds in addition to its route if it has a tag.
const TAGGED: i64 = 1 << 38;

/// What a column holds in addition to the route of a suspect.
const SUSPECT: i64 = 1;

/// How many different calls are remembered with what they take.
const REMEMBERED_CALLS: usize = 16;

/// What a call for instances takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InstanceFilter {
    pub(crate) capabilities: Option<DispatcherCapabilityFilter>,
    pub(crate) serving: Option<Serving>,
}

/// What a call for work takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WorkFilter {
    /// As columns hold them; any, if there is no list.
    pub(crate) tags: Option<BTreeSet<String>>,
    pub(crate) serving: Option<Serving>,
}

/// What an activity needs of the node that leases it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct WorkRoute {
    /// `None` if it cannot be read.
    name: Option<String>,
    /// As columns hold it.
    tag: String,
}

/// Whether a call takes what is ready under a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Judgement {
    Taken,
    Left,
    /// Only if no live node has the code.
    TakenIfUnserved,
}

impl InstanceFilter {
    pub(crate) fn judge(&self, route: &InstanceRoute) -> Judgement {
        let is_admitted = |is_served: bool| {
            route.is_admitted(self.serving.as_ref(), self.capabilities.as_ref(), |_| is_served)
        };
        match (is_admitted(true), is_admitted(false)) {
            (true, _) => Judgement::Taken,
            (false, true) => Judgement::TakenIfUnserved,
            (false, false) => Judgement::Left,
        }
    }

    /// A call takes all routes without these marks, also those that nobody here knows; `None` if it takes no others.
    const fn marks(&self) -> Option<i64> {
        match (&self.serving, &self.capabilities) {
            (Some(_), _) => None,
            (None, Some(_)) => Some(PINNED | REFUSED),
            (None, None) => Some(REFUSED),
        }
    }

    /// Whether two calls take the same, apart from suspects.
    pub(crate) fn takes_like(&self, other: &Self) -> bool {
        self.capabilities == other.capabilities && serve_alike(self.serving.as_ref(), other.serving.as_ref())
    }
}

impl WorkFilter {
    /// Whether a call takes an activity of this name; `None` if it cannot be read.
    pub(crate) fn takes(&self, name: Option<&str>, tag: &str) -> bool {
        let is_served = |serving: &Serving| name.is_none_or(|name| serving.handlers.have_activity(name));
        self.tags.as_ref().is_none_or(|tags| tags.contains(tag))
            && self.serving.as_ref().is_none_or(is_served)
    }

    /// The same as for instances.
    fn marks(&self) -> Option<i64> {
        match (&self.serving, &self.tags) {
            (Some(_), _) => None,
            (None, None) => Some(0),
            (None, Some(tags)) => tags.contains("").then_some(TAGGED),
        }
    }

    /// Whether two calls take the same, apart from suspects.
    pub(crate) fn takes_like(&self, other: &Self) -> bool {
        self.tags == other.tags && serve_alike(self.serving.as_ref(), other.serving.as_ref())
    }
}

fn serve_alike(one: Option<&Serving>, other: Option<&Serving>) -> bool {
    one.map(|serving| &serving.handlers) == other.map(|serving| &serving.handlers)
}

/// How many suspects a call takes, as the server is told; any number if it does not say what it serves.
pub(crate) fn suspects(serving: Option<&Serving>) -> Option<i32> {
    serving.map(|serving| i32::from(serving.takes_suspect))
}

/// Which of the known routes a call takes, as columns hold them without suspects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Admission {
    /// Ascending; all of them, if there is no list.
    pub(crate) taken: Option<Vec<i64>>,
    /// Of those with a cancel, those that it does not take whoever has the code.
    pub(crate) left: Vec<i64>,
    /// The last route that is known.
    pub(crate) known: i64,
    /// All routes without these marks are taken, too; `None` if no others are.
    pub(crate) marks: Option<i64>,
}

impl Admission {
    /// Whether a call may take what is ready under this route. One that is not known may be for anybody.
    pub(crate) fn may_take(&self, route: i64) -> bool {
        let (number, route) = (number_of(route), route & !SUSPECT);
        let is_taken = |taken: &Vec<i64>| taken.binary_search(&route).is_ok();
        let is_undecided = route >= CANCELED && self.left.binary_search(&route).is_err();
        let is_plain = self.marks.is_some_and(|marks| route & marks == 0);
        number > self.known || is_plain || self.taken.as_ref().is_none_or(is_taken) || is_undecided
    }
}

const fn number_of(route: i64) -> i64 {
    (route & (PINNED - 1)) >> 1
}

/// The routes that this node knows.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    instances: Mutex<Known<InstanceRoute, InstanceFilter>>,
    work: Mutex<Known<WorkRoute, WorkFilter>>,
}

/// Routes by their numbers, and what calls take of them. The call that was made last comes first.
#[derive(Debug)]
struct Known<Route, Filter> {
    routes: BTreeMap<i64, Route>,
    calls: Vec<(Arc<Filter>, Arc<Admission>)>,
}

impl<Route, Filter> Default for Known<Route, Filter> {
    fn default() -> Self {
        Self { routes: BTreeMap::new(), calls: Vec::new() }
    }
}

impl<Route, Filter: Eq> Known<Route, Filter> {
    fn last(&self) -> i64 {
        self.routes.last_key_value().map_or(0, |(number, _)| *number)
    }

    fn learn(&mut self, new: impl Iterator<Item = (i64, Route)>) {
        self.routes.extend(new);
        self.calls.clear();
    }

    /// What a call takes of the routes, each of which has so many columns.
    fn admission(
        &mut self,
        filter: &Arc<Filter>,
        (columns, marks): (usize, Option<i64>),
        judge: impl Fn(i64, &Route, &mut Admission),
    ) -> Arc<Admission> {
        let place = self.calls.iter().position(|(known, _)| known == filter);
        let call = if let Some(place) = place {
            self.calls.remove(place)
        } else {
            let (taken, left, known) = (Some(Vec::new()), Vec::new(), self.last());
            let mut admission = Admission { taken, left, known, marks };
            for (number, route) in &self.routes {
                judge(*number, route, &mut admission);
            }
            let all = self.routes.len().saturating_mul(columns);
            (Arc::clone(filter), Arc::new(admission.sorted().without_list_of(all)))
        };
        let admission = Arc::clone(&call.1);
        self.calls.insert(0, call);
        self.calls.truncate(REMEMBERED_CALLS);
        admission
    }
}

impl Admission {
    fn take(&mut self, route: i64) {
        self.taken.get_or_insert_default().push(route);
    }

    fn sorted(mut self) -> Self {
        if let Some(taken) = &mut self.taken {
            taken.sort_unstable();
        }
        self.left.sort_unstable();
        self
    }

    /// Without a list, if so many are all there are.
    fn without_list_of(mut self, all: usize) -> Self {
        self.taken.take_if(|taken| taken.len() == all);
        self
    }
}

impl Routes {
    pub(crate) fn learn_instances(&self, rows: Vec<RouteRow>) {
        lock(&self.instances).learn(rows.into_iter().map(|row| (row.no, instance_route(row))));
    }

    pub(crate) fn learn_work(&self, rows: Vec<WorkRouteRow>) {
        lock(&self.work).learn(rows.into_iter().map(|row| (row.no, work_route(row))));
    }

    /// The server may not be the one that gave out the numbers.
    pub(crate) fn forget(&self) {
        *lock(&self.instances) = Known::default();
        *lock(&self.work) = Known::default();
    }

    /// A route by what a column holds, if it is known.
    pub(crate) fn instance(&self, route: i64) -> Option<InstanceRoute> {
        let plain = lock(&self.instances).routes.get(&number_of(route)).cloned()?;
        Some(InstanceRoute { has_cancel: route >= CANCELED, is_suspect: route & SUSPECT > 0, ..plain })
    }

    pub(crate) fn admitted(&self, filter: &Arc<InstanceFilter>) -> Arc<Admission> {
        let judge = |number: i64, route: &InstanceRoute, admission: &mut Admission| {
            let column = marked(number, route);
            for (has_cancel, column) in [(false, column), (true, column + CANCELED)] {
                match filter.judge(&InstanceRoute { has_cancel, ..route.clone() }) {
                    Judgement::Taken => admission.take(column),
                    Judgement::Left if has_cancel => admission.left.push(column),
                    Judgement::Left | Judgement::TakenIfUnserved => {}
                }
            }
        };
        lock(&self.instances).admission(filter, (2, filter.marks()), judge)
    }

    pub(crate) fn admitted_work(&self, filter: &Arc<WorkFilter>) -> Arc<Admission> {
        let judge = |number: i64, route: &WorkRoute, admission: &mut Admission| {
            if filter.takes(route.name.as_deref(), &route.tag) {
                admission.take(number * 2 + if route.tag.is_empty() { 0 } else { TAGGED });
            }
        };
        lock(&self.work).admission(filter, (1, filter.marks()), judge)
    }
}

/// What a column holds for a route, without suspects and cancels.
fn marked(number: i64, route: &InstanceRoute) -> i64 {
    let pinned = if route.pin.is_empty() { 0 } else { PINNED };
    let refused = if route.refused_by.is_empty() { 0 } else { REFUSED };
    number * 2 + pinned + refused
}

fn instance_route(row: RouteRow) -> InstanceRoute {
    InstanceRoute {
        orchestration: unspell(row.orchestration),
        version: unspell(row.version),
        pin: unspell(row.pin),
        refused_by: read_refused(&row.refused),
        is_suspect: false,
        has_cancel: false,
    }
}

fn work_route(row: WorkRouteRow) -> WorkRoute {
    let name = row.activity.strip_prefix('=').map(|name| unspell(name.to_owned()));
    WorkRoute { name, tag: row.tag }
}

/// Builds as a column holds them: in order, so that the same builds are the same text.
pub(crate) fn refused_column(refusals: &Refusals) -> String {
    match refusals {
        Refusals::All => "*".to_owned(),
        Refusals::Builds(builds) if builds.is_empty() => String::new(),
        Refusals::Builds(builds) => builds.iter().cloned().collect::<serde_json::Value>().to_string(),
    }
}

/// A text that was damaged names nobody.
pub(crate) fn read_refused(text: &str) -> Refusals {
    if text == "*" {
        return Refusals::All;
    }
    Refusals::Builds(serde_json::from_str(text).unwrap_or_default())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing can panic while it is held, and what it guards cannot be half changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_come_back_as_they_were() {
        let some = Refusals::default().with("b\"2").with("").with("b1");
        for refusals in [Refusals::default(), some, Refusals::All] {
            assert_eq!(read_refused(&refused_column(&refusals)), refusals);
        }
    }
}
