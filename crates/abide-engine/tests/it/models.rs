//! Queues and signals against models small enough to be obviously right.
//!
//! The i-th oldest open dequeue of a queue takes the i-th unread message; a signal goes to the oldest open
//! wait of its name, or to nobody; drops act at once.

use std::collections::{BTreeMap, VecDeque};

use abide_engine::model::WorkItem;
use abide_engine::{DurableFuture, OrchestrationContext};
use futures::FutureExt;
use proptest::prelude::*;

use crate::support::cases::cases;
use crate::support::code;
use crate::support::drive::{agree, returned, yield_now};
use crate::support::mail::{message, signal, start};

/// What the code does when it is told to go on.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// Opens a wait on the queue or signal with this number.
    Open(usize),
    /// Drops the open wait at this place, if there is one.
    Drop(usize),
    /// Polls the open wait at this place, if there is one, and notes what it gives.
    Poll(usize),
    /// Waits for the next message.
    Rest,
}

const NAMES: [&str; 2] = ["x", "y"];

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..2_usize).prop_map(Step::Open),
        2 => (0..6_usize).prop_map(Step::Drop),
        3 => (0..6_usize).prop_map(Step::Poll),
        4 => Just(Step::Rest),
    ]
}

/// Interprets the steps with durable futures. Every rest ends with a signal of its own, so that the model
/// knows which messages have arrived.
async fn interpret(ctx: OrchestrationContext, steps: Vec<Step>, open: Opens) -> Result<String, String> {
    let mut waits: Vec<(usize, DurableFuture<String>)> = Vec::new();
    let (mut made, mut log) = (0, Vec::new());
    for step in steps {
        match step {
            Step::Open(name) => {
                waits.push((made, open(&ctx, NAMES[name])));
                made += 1;
                // An ask is bound when the poll ends.
                yield_now(1).await;
            }
            Step::Drop(place) if place < waits.len() => drop(waits.remove(place)),
            Step::Poll(place) if place < waits.len() => {
                if let Some(text) = (&mut waits[place].1).now_or_never() {
                    log.push(format!("{}={text}", waits[place].0));
                    drop(waits.remove(place));
                }
            }
            Step::Drop(_) | Step::Poll(_) => {}
            Step::Rest => drop(ctx.schedule_wait("rest").await),
        }
    }
    Ok(log.join(" "))
}

type Opens = fn(&OrchestrationContext, &str) -> DurableFuture<String>;

/// The same with lists: `give` is asked who gets what.
fn predict(steps: &[Step], arrivals: &[Vec<usize>], model: Model) -> String {
    let mut state = State::default();
    let (mut made, mut log, mut rests) = (0, Vec::new(), arrivals.iter());
    let mut number = 0;
    for step in steps {
        match *step {
            Step::Open(name) => {
                state.open.push((made, name));
                made += 1;
            }
            Step::Drop(place) if place < state.open.len() => {
                let (id, _) = state.open.remove(place);
                state.given.remove(&id);
            }
            Step::Poll(place) if place < state.open.len() => {
                let (id, name) = state.open[place];
                if let Some(text) = model.take(&mut state, id, name) {
                    log.push(format!("{id}={text}"));
                    state.open.remove(place);
                }
            }
            Step::Drop(_) | Step::Poll(_) => {}
            Step::Rest => {
                for name in rests.next().into_iter().flatten() {
                    model.arrive(&mut state, *name, number.to_string());
                    number += 1;
                }
            }
        }
    }
    log.join(" ")
}

/// What is open, oldest first, and what has arrived.
#[derive(Default)]
struct State {
    open: Vec<(u64, usize)>,
    unread: [VecDeque<String>; 2],
    given: BTreeMap<u64, String>,
}

#[derive(Clone, Copy)]
enum Model {
    Queues,
    Signals,
}

impl Model {
    fn arrive(self, state: &mut State, name: usize, text: String) {
        match self {
            Self::Queues => state.unread[name].push_back(text),
            Self::Signals => {
                let State { open, given, .. } = state;
                let oldest = open.iter().find(|(id, of)| *of == name && !given.contains_key(id));
                if let Some((id, _)) = oldest {
                    given.insert(*id, text);
                }
            }
        }
    }

    fn take(self, state: &mut State, id: u64, name: usize) -> Option<String> {
        match self {
            Self::Queues => {
                let place = state.open.iter().filter(|(_, of)| *of == name).position(|(of, _)| *of == id)?;
                state.unread[name].remove(place)
            }
            Self::Signals => state.given.remove(&id),
        }
    }
}

/// Runs the steps for real, one rest at a time.
fn observe(
    steps: &[Step],
    arrivals: &[Vec<usize>],
    open: Opens,
    raise: fn(&str, &str) -> WorkItem,
) -> String {
    let code = {
        let steps = steps.to_vec();
        code(move |ctx, _| interpret(ctx, steps.clone(), open))
    };
    let mut numbers = 0..;
    let mut turns = vec![vec![start("in")]];
    for names in arrivals {
        let mut turn: Vec<_> = names
            .iter()
            .zip(&mut numbers)
            .map(|(name, number): (_, u32)| raise(NAMES[*name], &number.to_string()))
            .collect();
        turn.push(signal("rest", ""));
        turns.push(turn);
    }
    returned(agree(&code, &turns).last().unwrap_or_else(|| panic!("there are turns")))
}

/// Steps, and what arrives during each rest.
fn any_script() -> impl Strategy<Value = (Vec<Step>, Vec<Vec<usize>>)> {
    proptest::collection::vec(any_step(), 1..40).prop_flat_map(|steps| {
        let rests = steps.iter().filter(|step| matches!(step, Step::Rest)).count();
        let arrivals = proptest::collection::vec(proptest::collection::vec(0..2_usize, 0..4), rests);
        (Just(steps), arrivals)
    })
}

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn dequeues_dropped_in_any_order_follow_the_model((steps, arrivals) in any_script()) {
        let open: Opens = |ctx, name| ctx.dequeue_event(name);
        prop_assert_eq!(
            observe(&steps, &arrivals, open, message),
            predict(&steps, &arrivals, Model::Queues)
        );
    }

    #[test]
    fn signals_follow_the_model((steps, arrivals) in any_script()) {
        let open: Opens = |ctx, name| ctx.schedule_wait(name);
        prop_assert_eq!(
            observe(&steps, &arrivals, open, signal),
            predict(&steps, &arrivals, Model::Signals)
        );
    }
}
