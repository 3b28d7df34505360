//! A store from which abilities are taken away.

use std::sync::Arc;

use abide_model::Clock as _;
use abide_provider::{
    Abilities, Ability, Authority, Committed, Lane, Operation, Provider, Rejection, StoreError, TurnCommit,
};
use abide_sim::{FaultStore, World};

use crate::support::*;

/// The store of a world, without this ability.
fn without(world: &World, ability: Ability) -> FaultStore {
    let inner: Arc<dyn Provider> = world.memory.clone();
    let left = inner.abilities().without(ability);
    FaultStore::new(inner, world.clock.clone()).with_abilities(left)
}

#[tokio::test(start_paused = true)]
async fn it_has_what_both_have() {
    let world = World::new(1);
    let inner: Arc<dyn Provider> = world.memory.clone();
    let of = |mask| FaultStore::new(inner.clone(), world.clock.clone()).with_abilities(mask).abilities();
    assert_eq!(of(Abilities::NONE), Abilities::NONE);
    assert_eq!(of(Abilities::ALL), inner.abilities(), "nothing is added");
    let one = Abilities::NONE.with(Ability::Parking);
    assert_eq!(of(one), one);
    assert_eq!(FaultStore::new(inner.clone(), world.clock.clone()).abilities(), inner.abilities());
}

#[tokio::test(start_paused = true)]
async fn it_waits_for_nobody() {
    let world = World::new(1);
    let store = without(&world, Ability::Parking);
    assert_eq!(store.lease_instances(instances(HOUR)).await.unwrap().len(), 0);
    assert_eq!(store.lease_work(work(HOUR)).await.unwrap().len(), 0);
    assert!(store.fetch_orchestration_item(LEASE, HOUR, None).await.unwrap().is_none());
    assert_eq!(world.clock.monotonic(), seconds(0));
}

#[tokio::test(start_paused = true)]
async fn it_says_nothing_of_what_was_taken_away_or_becomes_due() {
    let world = World::new(1);
    let store = FaultStore::new(world.memory.clone(), world.clock.clone());
    store.enqueue_for_orchestrator(start("a"), Some(HOUR)).await.unwrap();
    assert!(store.stolen_leases().is_some());
    assert!(store.next_due(Lane::Instances).await.unwrap().is_some());

    assert!(without(&world, Ability::PushedCancellations).stolen_leases().is_none());
    assert!(without(&world, Ability::PushedChanges).changes("a").is_none());
    assert_eq!(without(&world, Ability::DueTimes).next_due(Lane::Instances).await, Ok(None));
}

#[tokio::test(start_paused = true)]
async fn it_fuses_no_steps_and_answers_in_order() {
    let world = World::new(1);
    let store = without(&world, Ability::FusedSteps);
    let held = leased_work(&store, "a").await;
    let leases = leased(&store, &["b", "c"]).await;
    let fused = TurnCommit {
        instance: "a".to_owned(),
        authority: Authority::FinishedWork { token: held.token, expected: leases[0].position },
        ..commit_of(&leases[0])
    };
    let turns = vec![commit_of(&leases[0]), fused, commit_of(&leases[1])];
    let answers = store.commit_turns(turns).await;
    let refusal =
        |answer: &Result<Committed, StoreError>| answer.as_ref().err().and_then(StoreError::rejection);
    let refusals: Vec<_> = answers.iter().map(refusal).collect();
    assert_eq!(refusals, [None, Some(Rejection::Busy), None]);
    assert_eq!(world.memory.dump().work.len(), 1, "the activity is where it was");
    assert_eq!(store.calls().last(), Some(&(Operation::CommitTurn, 2)));
}

#[tokio::test(start_paused = true)]
async fn it_removes_no_timers() {
    for (ability, left) in [(Ability::TimerRemoval, 1), (Ability::PushedChanges, 0)] {
        let world = World::new(1);
        let store = without(&world, ability);
        let lease = leased(&store, &["a"]).await.remove(0);
        let mut commit = commit_of(&lease);
        commit.turn.orchestrator_items.push(timer("a"));
        store.commit_turns(vec![commit]).await.remove(0).unwrap();

        store.enqueue_for_orchestrator(completed("a"), None).await.unwrap();
        let lease = store.lease_instances(instances(seconds(0))).await.unwrap().remove(0);
        let mut commit = commit_of(&lease);
        commit.turn.events.clear();
        commit.turn.removed_timers.push(2);
        store.commit_turns(vec![commit]).await.remove(0).unwrap();
        assert_eq!(world.memory.dump().messages.len(), left, "{ability:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn it_forgets_keys() {
    for (ability, sent) in [(Ability::KeyedRequests, 2), (Ability::PushedChanges, 1)] {
        let world = World::new(1);
        let store = without(&world, ability);
        store.enqueue_once(request(start("a"))).await.unwrap();
        store.enqueue_once(request(start("a"))).await.unwrap();
        assert_eq!(world.memory.dump().messages.len(), sent, "{ability:?}");
    }
}
