//! Routes: what a ready row needs of the node that leases it, as numbers.
//!
//! Many rows share a route, so it is stored once and known here by its number, both ways. Routes are only ever added, by
//! any process; the counter, which every transaction reads, tells the last one. What a transaction adds and then rolls
//! back is forgotten by the next one.
//!
//! Which routes a call takes is decided once for all rows of a route, by the predicates of the contract, and remembered
//! for the next call that takes the same.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;
use std::ops::ControlFlow;
use std::rc::Rc;

use abide_provider::{
    DispatcherCapabilityFilter, Handlers, InstanceRoute, LeaseInstances, LeaseWork, Refusals, RenewSessions,
    Serving, Suspicion, TagFilter,
};
use rusqlite::{Row, params};

use super::Tx;
use crate::encode::tag_column;
use crate::statements::Sql;
use crate::text::{Text, lossy};

/// The route that needs nothing of anybody: what a new mailbox has.
pub(crate) const NO_ROUTE: i64 = 1;

/// How many different calls are remembered with what they take.
const REMEMBERED_CALLS: usize = 16;

/// What an activity needs of the node that leases it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct WorkRoute {
    /// Its name behind a `=`; empty if the activity cannot be read.
    activity: Text,
    /// Its tag, as the column holds it.
    pub(crate) tag: Text,
    pub(crate) suspicion: Suspicion,
}

impl WorkRoute {
    /// Of an activity that was not tried yet.
    pub(crate) fn new(name: &str, tag: Text) -> Self {
        Self { activity: Text::from(format!("={name}")), tag, suspicion: Suspicion::None }
    }

    /// The same after so many attempts.
    fn after(&self, attempts: i64) -> Self {
        let suspicion = if self.is_readable() {
            Suspicion::after(u32::try_from(attempts).unwrap_or(u32::MAX))
        } else {
            Suspicion::None
        };
        Self { suspicion, ..self.clone() }
    }

    /// The same for an activity that cannot be read.
    fn unreadable(&self) -> Self {
        Self { activity: Text::default(), suspicion: Suspicion::None, ..self.clone() }
    }

    fn is_readable(&self) -> bool {
        self.activity != Text::default()
    }
}

/// What a call for instances takes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct InstanceFilter {
    pins: Option<DispatcherCapabilityFilter>,
    serving: Option<Serving>,
}

impl InstanceFilter {
    pub(crate) fn of(request: &LeaseInstances) -> Self {
        Self { pins: request.capabilities.clone(), serving: request.serving.clone() }
    }

    /// A suspect was granted: no other is.
    pub(crate) fn take_no_suspect(&mut self) {
        if let Some(serving) = &mut self.serving {
            serving.takes_suspect = false;
        }
    }
}

/// What a call for activities takes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WorkFilter {
    tags: TagFilter,
    serving: Option<Serving>,
}

impl WorkFilter {
    pub(crate) fn of(request: &LeaseWork) -> Self {
        Self { tags: request.tags.clone(), serving: request.serving.clone() }
    }

    /// A suspect was granted: no other is.
    pub(crate) fn take_no_suspect(&mut self) {
        if let Some(serving) = &mut self.serving {
            serving.takes_suspect = false;
        }
    }
}

/// Whether a call takes the rows of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Admission {
    Yes,
    /// If no live node can run it: it is to be canceled, which needs no code.
    IfUnserved,
    No,
}

/// What decides for a call about a route.
trait Admits<Route> {
    fn admits(&self, route: &Route) -> Admission;
}

impl Admits<InstanceRoute> for InstanceFilter {
    fn admits(&self, route: &InstanceRoute) -> Admission {
        let mut depends_on_nodes = false;
        let is_admitted = route.is_admitted(self.serving.as_ref(), self.pins.as_ref(), |_| {
            depends_on_nodes = true;
            true
        });
        match (is_admitted, depends_on_nodes) {
            (true, _) => Admission::Yes,
            (false, true) => Admission::IfUnserved,
            (false, false) => Admission::No,
        }
    }
}

impl Admits<WorkRoute> for WorkFilter {
    fn admits(&self, route: &WorkRoute) -> Admission {
        let is_wanted = match &self.tags {
            TagFilter::None => false,
            TagFilter::DefaultOnly => route.tag == Text::default(),
            TagFilter::Tags(tags) => tags.iter().any(|tag| route.tag == tag_column(Some(tag))),
            TagFilter::DefaultAnd(tags) => {
                route.tag == Text::default() || tags.iter().any(|tag| route.tag == tag_column(Some(tag)))
            }
            TagFilter::Any => true,
        };
        let is_served = self.serving.as_ref().is_none_or(|serving| {
            let name = route.activity.lossy();
            !route.is_readable()
                || serving.admits_activity(name.strip_prefix('=').unwrap_or(&name), route.suspicion)
        });
        if is_wanted && is_served { Admission::Yes } else { Admission::No }
    }
}

/// The routes that this process knows.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    instances: RefCell<Interned<InstanceRoute, InstanceFilter>>,
    work: RefCell<Interned<WorkRoute, WorkFilter>>,
}

impl Routes {
    /// Forgets what a transaction added that was rolled back.
    pub(crate) fn forget_behind(&self, instances: i64, work: i64) {
        self.instances.borrow_mut().forget_behind(instances);
        self.work.borrow_mut().forget_behind(work);
    }
}

/// Routes by their numbers, numbers by their routes, and what calls take of them.
#[derive(Debug)]
struct Interned<Route, Filter> {
    routes: BTreeMap<i64, Rc<Route>>,
    numbers: HashMap<Rc<Route>, i64>,
    taken: Vec<Taken<Filter>>,
}

impl<Route, Filter> Default for Interned<Route, Filter> {
    fn default() -> Self {
        Self { routes: BTreeMap::new(), numbers: HashMap::new(), taken: Vec::new() }
    }
}

/// What a call takes, of all routes up to one.
#[derive(Debug)]
struct Taken<Filter> {
    filter: Filter,
    admitted: Admitted,
    up_to: i64,
}

/// The numbers of the routes that a call takes, ascending.
#[derive(Debug, Clone, Default)]
struct Admitted {
    /// All of them.
    routes: Rc<Vec<i64>>,
    /// Those among them that it takes only if no live node can run them.
    if_unserved: Rc<Vec<i64>>,
}

impl Admitted {
    fn add(&mut self, number: i64, admission: Admission) {
        if admission == Admission::No {
            return;
        }
        Rc::make_mut(&mut self.routes).push(number);
        if admission == Admission::IfUnserved {
            Rc::make_mut(&mut self.if_unserved).push(number);
        }
    }
}

impl<Route: Hash + Eq, Filter: Admits<Route> + Clone + PartialEq> Interned<Route, Filter> {
    fn last(&self) -> i64 {
        self.routes.last_key_value().map_or(0, |(number, _)| *number)
    }

    fn add(&mut self, number: i64, route: Route) {
        let route = Rc::new(route);
        self.numbers.insert(Rc::clone(&route), number);
        self.routes.insert(number, route);
    }

    fn forget_behind(&mut self, last: i64) {
        if self.last() <= last {
            return;
        }
        self.taken.clear();
        for route in self.routes.split_off(&last.saturating_add(1)).into_values() {
            self.numbers.remove(&route);
        }
    }

    /// The numbers of the routes that a call takes.
    fn admitted(&mut self, filter: &Filter) -> Admitted {
        let last = self.last();
        let known = self.taken.iter().position(|taken| taken.filter == *filter);
        let mut taken = match known {
            Some(place) => self.taken.remove(place),
            None => Taken { filter: filter.clone(), admitted: Admitted::default(), up_to: 0 },
        };
        if taken.up_to < last {
            for (number, route) in self.routes.range(taken.up_to.saturating_add(1)..) {
                taken.admitted.add(*number, filter.admits(route));
            }
            taken.up_to = last;
        }
        let admitted = taken.admitted.clone();
        // The call that was made last is looked for first.
        self.taken.insert(0, taken);
        self.taken.truncate(REMEMBERED_CALLS);
        admitted
    }
}

impl Tx<'_, '_> {
    /// The number of a route, which is new or not.
    pub(crate) fn intern(&self, route: InstanceRoute) -> rusqlite::Result<i64> {
        self.learn_routes()?;
        if let Some(number) = self.routes.instances.borrow().numbers.get(&route) {
            return Ok(*number);
        }
        let number = self.next_route();
        let InstanceRoute { orchestration, version, pin, refused_by, is_suspect, has_cancel } = &route;
        let refused = refused_column(refused_by);
        self.sql.execute(
            Sql::AddRoute,
            params![number, orchestration, version, pin, refused, is_suspect, has_cancel],
        )?;
        self.routes.instances.borrow_mut().add(number, route);
        Ok(number)
    }

    /// A route by its number. What is not known needs no code.
    pub(crate) fn route(&self, number: i64) -> rusqlite::Result<Rc<InstanceRoute>> {
        self.learn_routes()?;
        Ok(self.routes.instances.borrow().routes.get(&number).cloned().unwrap_or_default())
    }

    fn learn_routes(&self) -> rusqlite::Result<()> {
        let mut known = self.routes.instances.borrow_mut();
        if known.last() < self.last_route() {
            let new = self.sql.rows(Sql::LoadRoutes, [known.last()], read_route)?;
            for (number, route) in new {
                known.add(number, route);
            }
        }
        Ok(())
    }

    pub(crate) fn intern_work(&self, route: WorkRoute) -> rusqlite::Result<i64> {
        self.learn_work_routes()?;
        if let Some(number) = self.routes.work.borrow().numbers.get(&route) {
            return Ok(*number);
        }
        let number = self.next_work_route();
        let WorkRoute { activity, tag, suspicion } = &route;
        self.sql.execute(Sql::AddWorkRoute, params![number, activity, tag, suspicion.is_suspect()])?;
        self.routes.work.borrow_mut().add(number, route);
        Ok(number)
    }

    /// The route of work after so many attempts.
    pub(crate) fn work_route_after(&self, number: i64, attempts: i64) -> rusqlite::Result<i64> {
        self.reroute_work(number, |route| route.after(attempts))
    }

    /// The route of work that turned out to be unreadable.
    pub(crate) fn unreadable_work_route(&self, number: i64) -> rusqlite::Result<i64> {
        self.reroute_work(number, WorkRoute::unreadable)
    }

    fn reroute_work(
        &self,
        number: i64,
        change: impl FnOnce(&WorkRoute) -> WorkRoute,
    ) -> rusqlite::Result<i64> {
        let Some(route) = self.work_route(number)? else { return Ok(number) };
        let changed = change(&route);
        if changed == *route { Ok(number) } else { self.intern_work(changed) }
    }

    pub(crate) fn is_suspect_work(&self, number: i64) -> rusqlite::Result<bool> {
        Ok(self.work_route(number)?.is_some_and(|route| route.suspicion.is_suspect()))
    }

    fn work_route(&self, number: i64) -> rusqlite::Result<Option<Rc<WorkRoute>>> {
        self.learn_work_routes()?;
        Ok(self.routes.work.borrow().routes.get(&number).cloned())
    }

    fn learn_work_routes(&self) -> rusqlite::Result<()> {
        let mut known = self.routes.work.borrow_mut();
        if known.last() < self.last_work_route() {
            let new = self.sql.rows(Sql::LoadWorkRoutes, [known.last()], read_work_route)?;
            for (number, route) in new {
                known.add(number, route);
            }
        }
        Ok(())
    }

    /// The routes that have an instance ready which this call takes.
    pub(crate) fn ready_routes(&self, filter: &InstanceFilter) -> rusqlite::Result<Vec<i64>> {
        self.learn_routes()?;
        let admitted = self.routes.instances.borrow_mut().admitted(filter);
        let mut ready = self.hop(Sql::ReadyRoutes, &admitted.routes)?;
        let depends_on_nodes = |route: &i64| admitted.if_unserved.binary_search(route).is_ok();
        if !admitted.if_unserved.is_empty() && ready.iter().any(depends_on_nodes) {
            let served = self.served_by_nodes(ready.iter().copied().filter(depends_on_nodes))?;
            ready.retain(|route| !served.contains(route));
        }
        Ok(ready)
    }

    /// Those of these routes that an announced node can run. The nodes of a dead process go with it.
    fn served_by_nodes(&self, routes: impl Iterator<Item = i64>) -> rusqlite::Result<BTreeSet<i64>> {
        let nodes: Vec<Handlers> =
            self.sql.nodes()?.iter().map(|stored| stored.node.announcement.handlers()).collect();
        let known = &self.routes.instances.borrow().routes;
        let is_served =
            |route: &i64| known.get(route).is_some_and(|route| nodes.iter().any(|node| node.can_run(route)));
        Ok(routes.filter(is_served).collect())
    }

    /// The routes that have work ready which this call takes.
    pub(crate) fn ready_work_routes(&self, filter: &WorkFilter, ready: Sql) -> rusqlite::Result<Vec<i64>> {
        self.learn_work_routes()?;
        let admitted = self.routes.work.borrow_mut().admitted(filter);
        self.hop(ready, &admitted.routes)
    }

    /// The routes of all work that the owner of sessions can run. There is room for a suspect sooner or later.
    pub(crate) fn served_work_routes(&self, request: &RenewSessions) -> rusqlite::Result<Vec<i64>> {
        self.learn_work_routes()?;
        let serving = request.serving.clone().map(|serving| Serving { takes_suspect: true, ..serving });
        let filter = WorkFilter { tags: request.tags.clone(), serving };
        Ok(self.routes.work.borrow_mut().admitted(&filter).routes.to_vec())
    }

    /// The admitted routes that may have something ready. Hops over what is ready, and stops when that has taken as many
    /// seeks as the admitted routes would: so routes of others cost nothing, however many they are.
    fn hop(&self, ready: Sql, admitted: &[i64]) -> rusqlite::Result<Vec<i64>> {
        if admitted.len() <= 1 {
            return Ok(admitted.to_vec());
        }
        let mut found = Vec::new();
        let mut unseen = admitted;
        let mut hops = 0;
        self.sql.rows_while(ready, [], |row| {
            let route: i64 = row.get(0)?;
            if admitted.binary_search(&route).is_ok() {
                found.push(route);
            }
            hops += 1;
            if hops > admitted.len() {
                unseen = &admitted[admitted.partition_point(|admitted| *admitted <= route)..];
                return Ok(ControlFlow::Break(()));
            }
            Ok(ControlFlow::Continue(()))
        })?;
        if hops > admitted.len() {
            found.extend(unseen);
        }
        Ok(found)
    }
}

fn read_route(row: &Row<'_>) -> rusqlite::Result<(i64, InstanceRoute)> {
    let route = InstanceRoute {
        orchestration: lossy(row, 1)?,
        version: lossy(row, 2)?,
        pin: lossy(row, 3)?,
        refused_by: read_refused(&lossy(row, 4)?),
        is_suspect: row.get(5)?,
        has_cancel: row.get(6)?,
    };
    Ok((row.get(0)?, route))
}

fn read_work_route(row: &Row<'_>) -> rusqlite::Result<(i64, WorkRoute)> {
    let suspicion = if row.get(3)? { Suspicion::Suspect } else { Suspicion::None };
    Ok((row.get(0)?, WorkRoute { activity: row.get(1)?, tag: row.get(2)?, suspicion }))
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
