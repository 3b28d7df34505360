//! Committing turns on a store that can only take a whole batch.

use std::time::Duration;

use abide_model::{EventKind, PruneOptions, Retry, ScheduledActivityIdentifier, StepTry, WorkItem};
use abide_provider::{
    AppendConflict, Authority, Committed, Consumed, ErrorKind, ExecutionMetadata, MessageId, Operation,
    Position, Provider, ProviderError, PruneResult, Rejection, StoreError, Turn, TurnCommit,
};
use futures::executor::block_on;

use crate::admin::FakeAdmin;
use crate::fake::{Fake, Script};
use crate::items::{activity, cancel, continue_as_new, history, queued, signal};

/// A commit of a turn that sends these messages, under a lease, with everything consumed.
fn commit(orchestrator_items: Vec<WorkItem>) -> TurnCommit {
    TurnCommit {
        instance: "i".to_owned(),
        authority: Authority::Lease { token: "token".to_owned() },
        consumed: Consumed::All,
        left: Vec::new(),
        turn: Turn { execution_id: 1, orchestrator_items, ..Turn::default() },
    }
}

/// The mail of the only ack.
fn mail_sent_by(commit: TurnCommit) -> String {
    let store = Fake::default();
    assert_eq!(block_on(store.commit_turns(vec![commit])), [Ok(Committed::default())]);
    let calls = store.calls();
    assert_eq!(calls.len(), 1, "{calls:?}");
    let (_, mail) = calls[0].split_once("mail [").unwrap();
    mail.rsplit_once("], status").unwrap().0.to_owned()
}

#[test]
fn a_commit_is_an_ack_of_everything_the_turn_wrote() {
    let store = Fake::default();
    let cancelled = ScheduledActivityIdentifier { instance: "i".to_owned(), execution_id: 1, activity_id: 9 };
    let turn = Turn {
        execution_id: 2,
        events: history([EventKind::KeyValuesCleared]),
        worker_items: vec![activity(2)],
        retries: vec![Retry { event_id: 2, step: StepTry { first_event_id: 1, number: 2 } }],
        orchestrator_items: vec![signal("x")],
        timer_slack: Duration::ZERO,
        waiting: None,
        still_refused: None,
        metadata: ExecutionMetadata { status: Some("Running".to_owned()), ..ExecutionMetadata::default() },
        cancelled_activities: vec![cancelled],
        removed_timers: vec![4],
        prune: None,
        next: None,
    };
    assert_eq!(
        block_on(store.commit_turns(vec![TurnCommit { turn, ..commit(vec![]) }])),
        [Ok(Committed::default())]
    );
    assert_eq!(
        store.calls(),
        ["ack token: execution 2, events [1], work [ActivityExecute], mail [signal x], status Running, \
          cancelled [9]"]
    );
}

#[test]
fn what_a_turn_left_unread_is_sent_again() {
    let some = || Consumed::These(vec![MessageId(1)]);
    let left = || vec![queued("a"), cancel(), queued("b"), signal("c")];
    let table = [
        ("all are consumed", vec![signal("x")], Consumed::All, vec![], "signal x"),
        ("nothing is left", vec![signal("x")], some(), vec![], "signal x"),
        (
            "it goes on: all behind what the turn sends",
            vec![signal("x")],
            some(),
            left(),
            "signal x, queue a, CancelInstance, queue b, signal c",
        ),
        (
            "it continues as new: queue messages are carried, the rest goes behind the start",
            vec![signal("x"), continue_as_new(&[])],
            some(),
            left(),
            "signal x, continue[a b], CancelInstance, signal c",
        ),
        (
            "what the code carries over itself comes first",
            vec![continue_as_new(&["old"]), signal("x")],
            some(),
            left(),
            "continue[old a b], signal x, CancelInstance, signal c",
        ),
    ];
    for (why, sent, consumed, left, expected) in table {
        let commit = TurnCommit { consumed, left, ..commit(sent) };
        assert_eq!(mail_sent_by(commit), expected, "{why}");
    }
}

#[test]
fn a_position_admits_what_comes_behind_it() {
    let at = Position { incarnation: 1, execution_id: 3, last_event_id: 5 };
    let recorded = |event_id| Err(AppendConflict::Recorded { execution_id: 3, event_id, last: 5 });
    let table = [
        (2, None, Err(AppendConflict::Over { execution_id: 2, current: 3 })),
        (2, Some(9), Err(AppendConflict::Over { execution_id: 2, current: 3 })),
        (3, None, Ok(())),
        (3, Some(4), recorded(4)),
        (3, Some(5), recorded(5)),
        (3, Some(6), Ok(())),
        (4, None, Ok(())),
        (4, Some(1), Ok(())),
    ];
    for (execution_id, first_event_id, expected) in table {
        assert_eq!(at.admits(execution_id, first_event_id), expected, "{execution_id} {first_event_id:?}");
    }
    for conflict in [AppendConflict::Over { execution_id: 2, current: 3 }, recorded(4).unwrap_err()] {
        assert!(conflict.to_string().starts_with("Failed to append history: "), "{conflict}");
    }
}

#[test]
fn a_fused_step_is_refused_as_busy_and_nothing_is_called() {
    let store = Fake::default();
    let fused = Authority::FinishedWork {
        token: "work".to_owned(),
        expected: Position { incarnation: 1, execution_id: 1, last_event_id: 3 },
    };
    let answers = block_on(store.commit_turns(vec![TurnCommit { authority: fused, ..commit(vec![]) }]));
    let message = "this store has no fused steps: finish the activity, then commit under a lease";
    assert_eq!(answers, [Err(StoreError::rejected(Operation::CommitTurn, Rejection::Busy, message))]);
    assert_eq!(store.calls(), [""; 0]);
}

#[test]
fn every_turn_has_its_own_answer() {
    let store = Fake {
        writes: Script::of([
            Ok(()),
            Err(ProviderError::retryable("ack", "busy")),
            Err(ProviderError::permanent("ack", "Invalid lock token")),
            Ok(()),
        ]),
        ..Fake::default()
    };
    let named = |token: &str| TurnCommit {
        authority: Authority::Lease { token: token.to_owned() },
        ..commit(vec![])
    };
    let answers = block_on(store.commit_turns(["a", "b", "c", "d"].map(named).to_vec()));
    let failed = |kind, message: &str| {
        Err(StoreError { operation: Operation::CommitTurn, kind, message: message.to_owned() })
    };
    assert_eq!(
        answers,
        [
            Ok(Committed::default()),
            failed(ErrorKind::Unknown, "ack: busy"),
            failed(ErrorKind::Rejected(Rejection::Invalid), "ack: Invalid lock token"),
            Ok(Committed::default()),
        ]
    );
    let tokens: Vec<_> = store.calls().into_iter().map(|call| call[..5].to_owned()).collect();
    assert_eq!(tokens, ["ack a", "ack b", "ack c", "ack d"]);
    assert_eq!(block_on(store.commit_turns(Vec::new())), []);
}

#[test]
fn a_prune_follows_the_ack_and_one_that_fails_is_not_said_to_be_done() {
    let prune = PruneOptions { keep_last: Some(2), completed_before: None };
    let pruning = || {
        let mut pruning = commit(vec![]);
        pruning.turn.prune = Some(prune.clone());
        pruning
    };
    let second_call = |store: &Fake| store.calls().get(1).cloned();
    let prunes = "prune i Some(2) None";

    let store = Fake { admin: Some(FakeAdmin::default()), ..Fake::default() };
    assert_eq!(
        block_on(store.commit_turns(vec![pruning()])),
        [Ok(Committed::with_pruned(Some(PruneResult::default())))]
    );
    assert_eq!(second_call(&store).as_deref(), Some(prunes));

    let failing = FakeAdmin { prunes: Script::of([Err("disk full".into())]), ..FakeAdmin::default() };
    let store = Fake { admin: Some(failing), ..Fake::default() };
    assert_eq!(
        block_on(store.commit_turns(vec![pruning()])),
        [Ok(Committed::default())],
        "the turn is committed"
    );
    assert_eq!(second_call(&store).as_deref(), Some(prunes));

    let refusing = Script::of([Err(ProviderError::permanent("ack", "no"))]);
    let store = Fake { writes: refusing, admin: Some(FakeAdmin::default()), ..Fake::default() };
    assert!(block_on(store.commit_turns(vec![pruning()]))[0].is_err());
    assert_eq!(second_call(&store), None, "what was not committed prunes nothing");

    let store = Fake::default();
    assert_eq!(
        block_on(store.commit_turns(vec![pruning()])),
        [Ok(Committed::default())],
        "a store without administration"
    );
    assert_eq!(second_call(&store), None);
}

#[test]
fn timers_that_are_to_stay_hidden_for_longer_say_so() {
    let timer =
        |fire_at_ms| WorkItem::TimerFired { instance: "i".to_owned(), execution_id: 1, id: 2, fire_at_ms };
    // What a turn sends, how far its time may be behind, what it leaves unread, and what is sent.
    let cases = [
        (timer(100), Duration::ZERO, None, "timer 100"),
        (timer(100), Duration::from_micros(6_001), None, "timer 107"),
        (timer(u64::MAX), Duration::from_secs(1), None, "timer 18446744073709551615"),
        (timer(100), Duration::from_millis(7), Some(timer(50)), "timer 107, timer 50"),
        (signal("x"), Duration::from_secs(1), None, "signal x"),
    ];
    for (item, timer_slack, left, sent) in cases {
        let mut sends = commit(vec![item]);
        sends.turn.timer_slack = timer_slack;
        if left.is_some() {
            (sends.consumed, sends.left) = (Consumed::These(vec![]), left.into_iter().collect());
        }
        assert_eq!(mail_sent_by(sends), sent);
    }
}
