//! A worker that is stopped for longer than its lease, and then goes on as if nothing had happened.
//!
//! It is stopped, not dead, so its leases hold until they run out; then they are somebody else's, and what it still sends is
//! refused: its result, as the code blocks its thread so that nobody can tell it to stop, or a renewal that is quicker.

use std::time::Duration;

use abide::providers::Operation;
use abide::{Client, EventKind, OrchestrationStatus};
use abide_chaos::check::{Evidence, Figures, Past};
use abide_chaos::journal::{Activity, Line, Note};
use abide_chaos::program::{Ending, Order, Program};
use futures::executor::block_on;

use crate::support::load::{place, wait_for_all};
use crate::support::site::Site;
use crate::support::wait::{PATIENCE, now_ms, until};
use crate::support::worker::{Manner, Steps, Worker};

const LEASE: Duration = Duration::from_secs(1);

/// A lease has at least this much left: it is renewed when a third of it is over, and a busy machine may be a little late.
const AT_LEAST: u64 = 500;

#[test]
fn a_worker_stopped_in_an_activity_records_nothing_late() {
    stop_in_an_activity(Site::new("activity"), [0, 0], Steps::Fused);
}

#[test]
fn a_worker_stopped_in_an_activity_tells_nothing_late() {
    stop_in_an_activity(Site::new("activity-told"), [0, 0], Steps::Told);
}

#[test]
fn a_worker_stopped_in_a_turn_commits_nothing_late() {
    stop_in_a_turn(Site::new("turn"), [0, 0], Steps::Told);
}

#[test]
fn a_worker_stopped_in_a_fused_turn_commits_nothing_late() {
    stop_in_a_turn(Site::new("turn-fused"), [0, 0], Steps::Fused);
}

/// The two workers' clocks are wrong by so many milliseconds.
pub(crate) fn stop_in_an_activity(site: Site, clocks_ahead_ms: [i64; 2], steps: Steps) {
    let held = order(Program::HeldActivity, 1);
    let in_activity = began(&held);
    let refused = match steps {
        Steps::Fused => Operation::CommitTurn,
        Steps::Told => Operation::FinishWork,
    };
    let scene = Scene::play(Stage { site, clocks_ahead_ms, steps }, &held, in_activity, refused);

    assert_eq!(output(&scene.past), "second", "the one that took over");
    let returned = scene.first.wait_for(
        "the late result",
        |note| matches!(note, Note::Ended { activity, .. } if activity.instance == held.instance),
    );
    assert!(matches!(returned.note, Note::Ended { result: Ok(by), .. } if by == "first"));
    let completions = scene.past.events().filter(|event| event.source_event_id == Some(2));
    let kinds: Vec<&EventKind> = completions.map(|event| &event.kind).collect();
    assert_eq!(kinds, [&EventKind::ActivityCompleted { result: "second".to_owned() }]);
    scene.goes_on(held);
}

pub(crate) fn stop_in_a_turn(site: Site, clocks_ahead_ms: [i64; 2], steps: Steps) {
    let held = order(Program::HeldTurn, 2);
    let stage = Stage { site, clocks_ahead_ms, steps };
    let scene = Scene::play(stage, &held, at_the_gate, Operation::CommitTurn);

    assert_eq!(Some(Ending::Output(output(&scene.past))), held.ending());
    // What follows the turn was asked for once: by the one whose commit counted. What comes before it ran again if its result was
    // to be written with the turn.
    let ran = [&scene.first, &scene.second].into_iter().flat_map(Worker::lines).filter(began(&held));
    let mut ran: Vec<u64> = ran.filter_map(activity_of).map(|activity| activity.event).collect();
    ran.sort_unstable();
    match steps {
        Steps::Fused => assert_eq!(ran, [2, 2, 4]),
        Steps::Told => assert_eq!(ran, [2, 4]),
    }
    scene.goes_on(held);
}

/// Where it is played.
struct Stage {
    site: Site,
    /// How wrong the clocks of the two workers are.
    clocks_ahead_ms: [i64; 2],
    steps: Steps,
}

/// One worker is stopped in the middle of something, the other does it, and the first one goes on.
struct Scene {
    first: Worker,
    second: Worker,
    client: Client,
    /// What is stored of the instance, before the first one went on and after.
    past: Past,
    // Last, so that it is removed when the workers are gone.
    site: Site,
}

impl Scene {
    /// `is_there` tells the line with which a worker notes that it is where it is to be stopped; `refused` is what it will be
    /// refused when it goes on.
    fn play(stage: Stage, held: &Order, is_there: impl Fn(&Line) -> bool, refused: Operation) -> Self {
        let Stage { site, clocks_ahead_ms, steps } = stage;
        let manner = |clock_ahead_ms| Manner { lease: Some(LEASE), clock_ahead_ms, steps };
        let manners = clocks_ahead_ms.map(manner);
        let client = site.client();
        let first = Worker::start_as(&site, "first", manners[0]);
        first.wait_until_ready();
        place(&client, held);
        let is_there = |line: &Line| is_there(line).then(|| line.clone());
        until("the first one to be there", || first.lines().iter().find_map(is_there));
        let second = Worker::start_as(&site, "second", manners[1]);
        second.wait_until_ready();

        let frozen = now_ms();
        first.freeze(&site);
        let taken = until("the second one to be there", || second.lines().iter().find_map(is_there));
        assert!(taken.at_ms >= frozen + AT_LEAST, "taken {} ms after the stop", taken.at_ms - frozen);
        println!("taken over {} ms after the stop", taken.at_ms - frozen);
        site.open_gate();
        block_on(client.wait_for_orchestration(&held.instance, PATIENCE)).unwrap();
        let past = block_on(Past::read(&client, &held.instance)).unwrap();

        first.thaw();
        first.wait_for("the refusal", |note| {
            matches!(note, Note::Refused { operation, kind }
                if kind == "lease_lost" && is_refusal(operation, refused))
        });
        assert_eq!(block_on(Past::read(&client, &held.instance)).unwrap(), past, "it changed something");
        Self { first, second, client, past, site }
    }

    /// The one that was stopped does what comes next, alone, and everything is in order.
    fn goes_on(mut self, held: Order) {
        self.second.end();
        let next = order(Program::HeldActivity, 3);
        place(&self.client, &next);
        let instance = held.instance.clone();
        let orders = vec![held, next.clone()];
        wait_for_all(&self.client, &orders);
        let past = block_on(Past::read(&self.client, &instance)).unwrap();
        assert_eq!(past, self.past, "it changed something after all");
        assert_eq!(output(&block_on(Past::read(&self.client, &next.instance)).unwrap()), "first");
        self.first.end();
        let evidence = block_on(Evidence::gather(&self.client, orders, &self.site.journals())).unwrap();
        println!("{}", Figures::of(&evidence));
        assert_eq!(evidence.violations(), []);
        drop(self.client);
        assert_eq!(self.site.complaints(), Vec::<String>::new());
    }
}

/// Mostly what was done is sent, and refused. Now and then a renewal is sent before it, and then the worker knows that its lease is gone.
fn is_refusal(operation: &str, refused: Operation) -> bool {
    let renewals = [Operation::RenewWorkItemLock, Operation::RenewOrchestrationItemLock];
    renewals.into_iter().chain([refused]).any(|known| known.as_str() == operation)
}

fn order(program: Program, number: u64) -> Order {
    Order { instance: format!("{}-{number}", program.name()), program, number }
}

fn began(held: &Order) -> impl Fn(&Line) -> bool {
    let instance = held.instance.clone();
    move |line| matches!(&line.note, Note::Began { activity, .. } if activity.instance == instance)
}

fn at_the_gate(line: &Line) -> bool {
    matches!(&line.note, Note::Passed { point, .. } if point == "at the gate")
}

fn activity_of(line: Line) -> Option<Activity> {
    if let Note::Began { activity, .. } = line.note { Some(activity) } else { None }
}

fn output(past: &Past) -> String {
    let OrchestrationStatus::Completed { output, .. } = &past.status else {
        panic!("not completed: {:?}", past.status);
    };
    output.clone()
}
