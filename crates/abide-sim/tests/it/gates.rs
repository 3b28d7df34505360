//! Holding others until the test says so.

use std::sync::{Arc, Mutex};

use abide_model::Spawn as _;
use abide_provider::{Operation, Provider as _};
use abide_sim::{FaultPlan, Gate, World};

use crate::support::*;

/// Sends tasks to a gate, which say their number when they are through.
fn send_to(gate: &Gate, world: &World, count: usize) -> Arc<Mutex<Vec<usize>>> {
    let through = Arc::new(Mutex::new(Vec::new()));
    for number in 0..count {
        let (gate, through) = (gate.clone(), through.clone());
        world.tasks.spawn(
            "walker",
            Box::pin(async move {
                gate.pass().await;
                through.lock().unwrap().push(number);
            }),
        );
    }
    through
}

#[tokio::test(start_paused = true)]
async fn a_gate_holds_until_it_is_opened() {
    let (world, gate) = (World::new(1), Gate::closed());
    let through = send_to(&gate, &world, 3);
    gate.waiting_for(3).await;
    assert_eq!((gate.held(), through.lock().unwrap().len()), (3, 0));

    gate.open();
    world.tasks.all_ended().await;
    gate.pass().await;
    assert_eq!((gate.held(), through.lock().unwrap().clone()), (0, vec![0, 1, 2]));
}

#[tokio::test(start_paused = true)]
async fn those_who_are_held_pass_one_by_one_in_their_order() {
    let (world, gate) = (World::new(1), Gate::closed());
    gate.let_one(); // nobody is there, and nothing is kept for who comes
    let through = send_to(&gate, &world, 3);
    gate.waiting_for(3).await;
    for passed in 1..=3 {
        gate.let_one();
        world.clock.sleep(HOUR).await;
        assert_eq!(*through.lock().unwrap(), (0..passed).collect::<Vec<_>>());
    }
}

#[tokio::test(start_paused = true)]
async fn a_gate_can_be_closed_again() {
    let (world, gate) = (World::new(1), Gate::closed());
    gate.open();
    gate.close();
    assert_eq!(within_an_hour(&world, gate.pass()).await, None);
}

#[tokio::test(start_paused = true)]
async fn who_gives_up_is_not_held_and_takes_nobodys_turn() {
    let (world, gate) = (World::new(1), Gate::closed());
    assert_eq!(within_an_hour(&world, gate.pass()).await, None);
    assert_eq!(gate.held(), 0);

    let through = send_to(&gate, &world, 1);
    gate.waiting().await;
    gate.let_one();
    world.tasks.all_ended().await;
    assert_eq!(*through.lock().unwrap(), [0]);
}

#[tokio::test(start_paused = true)]
async fn a_call_is_held_before_its_effect() {
    let (world, gate) = (World::new(1), Gate::closed());
    let store = world.faulty(FaultPlan::none());
    store.hold(Operation::EnqueueOnce, &gate);

    let caller = store.clone();
    world
        .tasks
        .spawn("caller", Box::pin(async move { caller.enqueue_once(request(start("a"))).await.unwrap() }));
    gate.waiting().await;
    store.enqueue_for_worker(activity("a")).await.unwrap(); // others are not held
    assert_eq!(world.memory.dump().messages.len(), 0);

    gate.open();
    world.tasks.all_ended().await;
    assert_eq!((world.memory.dump().messages.len(), world.tasks.panicked()), (1, Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_held_after_the_effect() {
    let (world, gate) = (World::new(1), Gate::closed());
    let store = world.faulty(FaultPlan::none());
    store.hold_answers(Operation::EnqueueOnce, &gate);

    let caller = store.clone();
    world
        .tasks
        .spawn("caller", Box::pin(async move { caller.enqueue_once(request(start("a"))).await.unwrap() }));
    gate.waiting().await;
    assert_eq!((world.memory.dump().messages.len(), world.tasks.running()), (1, 1));

    gate.open();
    world.tasks.all_ended().await;
    assert_eq!(world.tasks.panicked(), Vec::<String>::new());
}
