//! Calls that want none of the rows in the way.

use std::sync::Arc;

use abide_model::{ExecutionStatus, SemverRange};
use abide_provider::{
    DispatcherCapabilityFilter, Handlers, InstanceLease, Lane, LeaseInstances, LeaseWork, Position,
    Provider as _, ServedVersions, Serving, WorkLease,
};
use futures::executor::block_on;

use super::{Cost, Costs, assert_flat, many, put_behind};
use crate::support::items::*;
use crate::support::store::*;

/// What may be in the way.
const BEHIND: &[(&str, &str)] = &[
    ("one hot leased instance", include_str!("behind/hot_instance.sql")),
    ("one tag nobody serves", include_str!("behind/tag_nobody_serves.sql")),
    ("many tags nobody serves", include_str!("behind/tags_nobody_serves.sql")),
    ("one foreign session", include_str!("behind/foreign_session.sql")),
    ("many foreign sessions", include_str!("behind/foreign_sessions.sql")),
    ("sessions nobody uses", include_str!("behind/idle_sessions.sql")),
    ("incompatible pins", include_str!("behind/incompatible_pins.sql")),
    ("future timers of one instance", include_str!("behind/timers_of_one.sql")),
    ("future timers of many instances", include_str!("behind/timers_of_many.sql")),
    ("idle instances", include_str!("behind/idle_instances.sql")),
    ("mail for nobody", include_str!("behind/mail_for_nobody.sql")),
    ("work that others are at", include_str!("behind/leased_work.sql")),
    ("remembered requests", include_str!("behind/remembered_requests.sql")),
];

/// What may be in the way of a node that says what it serves, and how much of it at most.
const UNSERVED: &[(&str, usize, &str)] = &[
    ("one route nobody serves", usize::MAX, include_str!("behind/route_nobody_serves.sql")),
    ("many routes nobody serves", MOST_ROUTES, include_str!("behind/routes_nobody_serves.sql")),
    ("incompatible pins", usize::MAX, include_str!("behind/incompatible_pins.sql")),
    ("one foreign session", usize::MAX, include_str!("behind/foreign_session.sql")),
];

/// More orchestrations and activities than services on one store have.
const MOST_ROUTES: usize = 1_000;

const FEW: usize = 10;

#[test]
fn every_call_costs_the_same_behind_few_rows_and_behind_many() {
    for (situation, script) in BEHIND {
        let [few, many] = [FEW, many()].map(|rows| {
            let store = Store::in_memory();
            put_behind(&store, script, rows);
            Front { store: &store, serving: None, costs: Vec::new() }.run()
        });
        assert_flat(situation, &few, &many);
    }
}

/// So services with different handlers share a store without noticing each other.
#[test]
fn a_node_that_says_what_it_serves_pays_nothing_for_what_it_does_not() {
    for (situation, most, script) in UNSERVED {
        let [few, many] = [FEW, many().min(*most)].map(|rows| {
            let store = Store::in_memory();
            put_behind(&store, script, rows);
            Front { store: &store, serving: Some(serving()), costs: Vec::new() }.run()
        });
        assert_flat(situation, &few, &many);
    }
}

/// A node with the code of this test, and with much that is not used here.
fn serving() -> Serving {
    let served = ServedVersions { exact: ["1.0.0".parse().unwrap()].into(), resolves_unversioned: true };
    let names = (0..50).map(|number| format!("Unused{number}")).chain(["Order".to_owned()]);
    let activities = (0..50).map(|number| format!("Unused{number}")).chain(["charge".to_owned()]);
    let handlers = Handlers {
        build: "b1".to_owned(),
        orchestrations: Some(names.map(|name| (name, served.clone())).collect()),
        activities: Some(activities.collect()),
        pins: None,
    };
    Serving { handlers: Arc::new(handlers), takes_suspect: true }
}

/// A file has the same statements, and readers of its own.
#[test]
fn so_it_does_on_a_file() {
    let (situation, script) = BEHIND[4];
    let [few, many] = [FEW, many().min(20_000)].map(|rows| {
        let store = Store::on_file();
        put_behind(&store, script, rows);
        Front { store: &store, serving: None, costs: Vec::new() }.run()
    });
    assert_flat(situation, &few, &many);
}

/// One instance and what becomes of it, in front of everything else.
struct Front<'a> {
    store: &'a Store,
    serving: Option<Serving>,
    costs: Costs,
}

impl Front<'_> {
    fn cost<T>(&mut self, what: &'static str, call: impl FnOnce(&Store) -> T) -> T {
        let store = self.store;
        let (result, cost) = Cost::of(store, || call(store));
        self.costs.push((what, cost));
        result
    }

    fn run(mut self) -> Costs {
        // What routes there are is read once.
        self.lease();
        self.lease_work();
        self.costs.clear();
        self.find_nothing();
        let lease = self.start();
        self.do_work(&lease);
        self.wait_for_time();
        self.end();
        self.costs
    }

    fn lease(&mut self) -> Vec<InstanceLease> {
        let version = |text: &str| text.parse().unwrap();
        let range = SemverRange::new(version("0.2.0"), version("0.3.0"));
        let capabilities = DispatcherCapabilityFilter { supported_duroxide_versions: vec![range] };
        let serving = self.serving.clone();
        let request = LeaseInstances { capabilities: Some(capabilities), serving, ..lease_instances(5) };
        self.cost("lease instances", |store| store.lease_with(request))
    }

    fn lease_work(&mut self) -> Vec<WorkLease> {
        let serving = self.serving.clone();
        let request = LeaseWork { serving, ..lease_work_of_sessions(5, "me", LEASE) };
        self.cost("lease work", |store| store.lease_work_with(request))
    }

    fn find_nothing(&mut self) {
        assert!(self.lease().is_empty());
        assert!(self.lease_work().is_empty());
        self.cost("next due of instances", |store| block_on(store.provider.next_due(Lane::Instances)))
            .unwrap();
        self.cost("next due of work", |store| block_on(store.provider.next_due(Lane::Work))).unwrap();
    }

    fn start(&mut self) -> InstanceLease {
        self.cost("start", |store| store.enqueue(start("a")));
        let lease = self.lease().remove(0);
        self.cost("renew", |store| store.renew(&lease.token, LEASE)).unwrap();
        let turn = TurnBuilder::starting(1)
            .events(2, [status_said(Some("begun")), value_set("k", "v")])
            .work(activity("a", 4))
            .work(activity_with("a", 5, Some("s"), None))
            .work(activity("a", 6))
            .mail(timer("a", 7, BEGIN + 1_000))
            .mail(timer("a", 8, BEGIN + 60_000))
            .pinned("0.2.0");
        self.cost("commit a first turn", |store| store.commit(turn.under(&lease)));
        lease
    }

    fn do_work(&mut self, lease: &InstanceLease) {
        let work = self.lease_work();
        assert_eq!(activities(&work), [4, 5, 6]);
        self.cost("renew work", |store| store.renew_work(&work[1].token, LEASE)).unwrap();
        self.cost("renew sessions", |store| {
            block_on(store.provider.renew_session_lock(&["me"], LEASE, LEASE)).unwrap()
        });
        let position = Position { execution_id: 1, last_event_id: 3, ..lease.position };
        let turn = TurnBuilder::of_execution(1).event(9, status_said(Some("fused"))).removing_timer(8);
        self.cost("commit a fused step", |store| store.commit(turn.fused(&work[0], position)));
        self.cost("finish work", |store| store.finish(&work[1].token, Some(completed("a", 5)))).unwrap();
        self.cost("abandon work", |store| store.abandon_work(&work[2].token, Some(seconds(1)))).unwrap();
    }

    /// A timer fires, work becomes visible again, and a lease runs out.
    fn wait_for_time(&mut self) {
        self.store.advance(seconds(1));
        let lease = self.lease().remove(0);
        assert_eq!(contents(&lease), ["TimerFired", "ActivityCompleted"]);
        assert_eq!(self.lease_work().len(), 1);
        self.store.advance(LEASE);
        let again = self.lease().remove(0);
        assert_eq!(again.attempt, 2);
        self.cost("send to a leased instance", |store| store.enqueue(queue_message("a", "")));
        self.cost("abandon", |store| store.abandon(&again.token, None)).unwrap();
    }

    fn end(&mut self) {
        self.cost("send to a ready instance", |store| store.enqueue(queue_message("a", "")));
        self.cost("send once", |store| store.enqueue_once(signal("a", ""), 1));
        let lease = self.lease().remove(0);
        assert_eq!(lease.messages.len(), 5);
        let turn = TurnBuilder::of_execution(1).event(10, status_said(None)).revoking("a", 6);
        let turn = turn.ending(ExecutionStatus::Completed, "").mail(signal("b", ""));
        self.cost("commit a last turn", |store| store.commit(turn.under(&lease)));
        assert!(self.lease().is_empty());
    }
}
