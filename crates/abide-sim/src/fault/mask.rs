//! Taking abilities away from a store.

use abide_provider::{
    Abilities, Ability, Authority, Committed, Operation, Rejection, StoreError, TurnCommit,
};

/// What can be taken away. An ability that is not here yet is never left when something is.
const KNOWN: [Ability; 19] = [
    Ability::Parking,
    Ability::FusedSteps,
    Ability::PushedCancellations,
    Ability::UnreadMailStays,
    Ability::TimerRemoval,
    Ability::PruneWithCommit,
    Ability::KeyedRequests,
    Ability::DueTimes,
    Ability::Incarnations,
    Ability::StatusInPages,
    Ability::UnbornChildren,
    Ability::AtomicStarts,
    Ability::PushedChanges,
    Ability::Serving,
    Ability::Blocking,
    Ability::Nodes,
    Ability::Overviews,
    Ability::StepTries,
    Ability::RevokedExecutions,
];

/// What is in both; everything there is if nothing is taken away.
pub(super) fn common(there: Abilities, mask: Option<Abilities>) -> Abilities {
    let Some(mask) = mask else { return there };
    let both = KNOWN.into_iter().filter(|ability| there.has(*ability) && mask.has(*ability));
    both.fold(Abilities::NONE, Abilities::with)
}

/// What of a batch reaches the store, and the refusals of the rest in their places.
pub(super) fn sift(
    turns: Vec<TurnCommit>,
    abilities: Abilities,
) -> (Vec<TurnCommit>, Vec<Option<StoreError>>) {
    let (mut passed, mut refusals) = (Vec::new(), Vec::new());
    for mut commit in turns {
        if !abilities.has(Ability::TimerRemoval) {
            commit.turn.removed_timers.clear();
        }
        if !abilities.has(Ability::StepTries) {
            commit.turn.retries.clear();
        }
        match &commit.authority {
            Authority::FinishedWork { .. } if !abilities.has(Ability::FusedSteps) => {
                refusals.push(Some(no_fusing()));
            }
            Authority::FinishedWork { .. } | Authority::Lease { .. } => {
                refusals.push(None);
                passed.push(commit);
            }
        }
    }
    (passed, refusals)
}

/// The answers of the store and the refusals, in order of the turns.
pub(super) fn merge(
    refusals: Vec<Option<StoreError>>,
    answers: Vec<Result<Committed, StoreError>>,
) -> Vec<Result<Committed, StoreError>> {
    let mut answers = answers.into_iter();
    let in_place =
        |refusal: Option<StoreError>| refusal.map_or_else(|| answers.next(), |error| Some(Err(error)));
    refusals.into_iter().filter_map(in_place).collect()
}

fn no_fusing() -> StoreError {
    StoreError::rejected(
        Operation::CommitTurn,
        Rejection::Busy,
        "fused steps were taken away from this store",
    )
}
