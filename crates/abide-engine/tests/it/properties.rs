//! Properties of the engine, over generated programs in generated worlds.

use std::collections::{BTreeMap, BTreeSet};

use abide_engine::model::{BUILD_VERSION, Event, EventKind, WorkItem};
use abide_engine::{LineLevel, Outcome, TurnOutput};
use proptest::prelude::*;

use crate::program::interpret::interpret;
use crate::program::play::{Episode, Time, feed, play};
use crate::program::program;
use crate::support::cases::cases;
use crate::support::{decisions, forget_version, history_of};

fn moves() -> impl Strategy<Value = Vec<u16>> {
    prop::collection::vec(any::<u16>(), 0..32)
}

proptest! {
    #![proptest_config(cases(3_000))]

    /// Crash anywhere: replaying what was committed appends nothing, does nothing, says nothing.
    #[test]
    fn replaying_a_history_is_silent(program in program(), moves in moves()) {
        let code = interpret(&program);
        for episode in play(&program, &moves, Time::Passing) {
            let mut history = Vec::new();
            for (number, turn) in episode.turns.iter().enumerate() {
                history.extend(turn.events.clone());
                let mut execution = episode.fresh(&code);
                execution.replay(history.clone()).unwrap();
                prop_assert_eq!(execution.mismatch(), None);
                let again = feed(&mut execution, vec![], Time::Passing.of(number + 50));
                prop_assert_eq!(&again.events, &vec![]);
                prop_assert_eq!(&again.lines, &vec![]);
                prop_assert_eq!(again.worker_items.len() + again.orchestrator_items.len(), 0);
                prop_assert_eq!(forget_version(again.outcome), forget_version(turn.outcome.clone()));
            }
        }
    }

    /// An execution that is fed decides, turn by turn, what one decides that replays before each turn.
    #[test]
    fn resident_equals_cold(program in program(), moves in moves()) {
        let code = interpret(&program);
        for episode in play(&program, &moves, Time::Passing) {
            let mut history = Vec::new();
            for (number, turn) in episode.turns.iter().enumerate() {
                let mut execution = episode.fresh(&code);
                execution.replay(history.clone()).unwrap();
                let cold = feed(&mut execution, vec![episode.script[number].clone()], Time::Passing.of(number));
                prop_assert_eq!(decisions(&cold), decisions(turn));
                history.extend(turn.events.clone());
            }
        }
    }

    /// A resident execution that is told what others committed stands where they stand.
    #[test]
    fn a_tail_of_history_can_be_replayed_into_a_resident_execution(
        program in program(), moves in moves(), cut in any::<prop::sample::Index>(),
    ) {
        let code = interpret(&program);
        for episode in play(&program, &moves, Time::Passing) {
            let cut = cut.index(episode.turns.len());
            let mut execution = episode.fresh(&code);
            for (number, turn) in episode.turns[..cut].iter().enumerate() {
                if number % 2 == 0 {
                    execution.replay(turn.events.clone()).unwrap();
                } else {
                    for event in &turn.events {
                        execution.replay(vec![event.clone()]).unwrap();
                    }
                }
            }
            for (number, turn) in episode.turns.iter().enumerate().skip(cut) {
                let fed = feed(&mut execution, vec![episode.script[number].clone()], Time::Passing.of(number));
                prop_assert_eq!(decisions(&fed), decisions(turn));
            }
        }
    }

    /// Cutting the history at any turn boundary and delivering the rest again ends the same.
    #[test]
    fn a_crash_at_any_turn_ends_the_same(
        program in program(), moves in moves(), cut in any::<prop::sample::Index>(),
    ) {
        let code = interpret(&program);
        for episode in play(&program, &moves, Time::Standing) {
            let cut = cut.index(episode.turns.len());
            let committed: Vec<Event> =
                episode.turns[..cut].iter().flat_map(|turn| turn.events.clone()).collect();
            let mut execution = episode.fresh(&code);
            execution.replay(committed.clone()).unwrap();
            let mut history = committed;
            let rest = feed(&mut execution, episode.script[cut..].to_vec(), Time::Standing.of(0));
            history.extend(rest.events);
            prop_assert_eq!(history, episode.history());
            prop_assert_eq!(&rest.outcome, episode.outcome());
        }
    }

    /// At least once: repeating a message that has an identity, soon or late, changes nothing.
    #[test]
    fn repeating_a_message_changes_nothing(
        program in program(), moves in moves(), repeats in prop::collection::vec(any::<(u8, u8)>(), 1..6),
    ) {
        let code = interpret(&program);
        for episode in play(&program, &moves, Time::Standing) {
            let script = with_repeats(&episode.script, &repeats);
            let mut execution = episode.fresh(&code);
            let turns: Vec<TurnOutput> =
                script.into_iter().map(|item| feed(&mut execution, vec![item], Time::Standing.of(0))).collect();
            prop_assert_eq!(history_of(&turns), episode.history());
            prop_assert_eq!(effects(&turns), effects(&episode.turns));
        }
    }

    /// A batch of k messages gives exactly the history and the decisions of k batches of one.
    #[test]
    fn a_batch_decides_what_its_messages_decide_one_by_one(
        program in program(), moves in moves(), cuts in any::<u64>(),
    ) {
        let code = interpret(&program);
        for episode in play(&program, &moves, Time::Standing) {
            let mut execution = episode.fresh(&code);
            let mut turns = Vec::new();
            for batch in batches(&episode.script, cuts) {
                let length = u64::try_from(batch.len()).unwrap();
                let turn = feed(&mut execution, batch, Time::Standing.of(0));
                let consumed: BTreeSet<u64> = turn.consumed.iter().map(|id| id.0).collect();
                prop_assert_eq!(consumed, (0..length).collect::<BTreeSet<_>>());
                turns.push(turn);
            }
            prop_assert_eq!(history_of(&turns), episode.history());
            prop_assert_eq!(effects(&turns), effects(&episode.turns));
            prop_assert_eq!(spoken(&turns), spoken(&episode.turns));
            prop_assert_eq!(&turns.last().unwrap().outcome, episode.outcome());
        }
    }

    /// The same input gives the same output, byte for byte.
    #[test]
    fn the_same_bytes_twice(program in program(), moves in moves()) {
        let once = play(&program, &moves, Time::Passing);
        let twice = play(&program, &moves, Time::Passing);
        prop_assert_eq!(format!("{once:?}"), format!("{twice:?}"));
    }

    /// Whatever happens, what is written is in order, complete, and closed at the end.
    #[test]
    fn histories_are_well_formed(program in program(), moves in moves()) {
        for episode in play(&program, &moves, Time::Passing) {
            check_form(&episode)?;
            check_carriers(&episode)?;
        }
    }

    /// A queue message is read once, or carried over, in order; never lost, never doubled.
    #[test]
    fn queue_messages_are_conserved(program in program(), moves in moves()) {
        for episode in play(&program, &moves, Time::Passing) {
            check_queues(&episode)?;
        }
    }

    /// Messages behind a continue-as-new are left to the successor, whatever they are.
    #[test]
    fn what_follows_a_continue_as_new_stays_queued(program in program(), moves in moves()) {
        let code = interpret(&program);
        for episode in play(&program, &moves, Time::Standing) {
            let mut script = episode.script.clone();
            let used = u64::try_from(script.len()).unwrap();
            // A repeated start of this execution must not become the start of the next.
            let repeated = u64::from(episode.execution_id > 1);
            let opener = episode.script.iter().take(usize::from(episode.execution_id > 1));
            script.extend(opener.chain(episode.script.iter().skip(1).rev()).cloned());
            let turn = feed(&mut episode.fresh(&code), script, Time::Standing.of(0));
            if matches!(episode.outcome(), Outcome::ContinuedAsNew { .. }) {
                let consumed: BTreeSet<u64> = turn.consumed.iter().map(|id| id.0).collect();
                prop_assert_eq!(consumed, (0..used + repeated).collect::<BTreeSet<_>>());
            }
            if episode.outcome().is_terminal() {
                prop_assert_eq!(&turn.events, &episode.history());
            }
        }
    }

    /// The leniencies for older executions let everything pass that the strict rules let pass.
    #[test]
    fn a_strict_history_replays_under_an_older_pin(program in program(), moves in moves()) {
        let code = interpret(&program);
        for episode in play(&program, &moves, Time::Passing) {
            let mut history = episode.history();
            for event in &mut history {
                "0.1.32".clone_into(&mut event.duroxide_version);
            }
            let mut execution = episode.fresh(&code);
            execution.replay(history).unwrap();
            prop_assert_eq!(execution.mismatch(), None);
            let again = feed(&mut execution, vec![], Time::Passing.of(99));
            prop_assert_eq!(&again.events, &vec![]);
        }
    }
}

/// The script with some messages delivered again, somewhere behind the first time.
fn with_repeats(script: &[WorkItem], repeats: &[(u8, u8)]) -> Vec<WorkItem> {
    let mut repeated = script.to_vec();
    for (which, later) in repeats {
        let place = usize::from(*which) % script.len();
        let has_identity =
            !matches!(script[place], WorkItem::ExternalRaised { .. } | WorkItem::QueueMessage { .. });
        // A cancel has one too, but a second one after another end is just a message after the end.
        if has_identity {
            let original = repeated.iter().position(|item| *item == script[place]).unwrap();
            let target = (original + 1 + usize::from(*later)).min(repeated.len());
            repeated.insert(target, script[place].clone());
        }
    }
    repeated
}

/// The script in batches: a set bit ends one.
fn batches(script: &[WorkItem], cuts: u64) -> Vec<Vec<WorkItem>> {
    let mut batches = vec![Vec::new()];
    for (place, item) in script.iter().enumerate() {
        batches.last_mut().unwrap().push(item.clone());
        if cuts >> (place % 64) & 1 == 1 {
            batches.push(Vec::new());
        }
    }
    batches.retain(|batch| !batch.is_empty());
    batches
}

fn spoken(turns: &[TurnOutput]) -> Vec<abide_engine::LogLine> {
    turns.iter().flat_map(|turn| turn.lines.clone()).collect()
}

/// What all turns together set in motion, net of what they took back again.
fn effects(turns: &[TurnOutput]) -> BTreeMap<String, i64> {
    let mut net = BTreeMap::new();
    let mut count = |key: String, by: i64| {
        *net.entry(key).or_insert(0) += by;
    };
    for turn in turns {
        for item in turn.worker_items.iter().chain(&turn.orchestrator_items) {
            match item {
                WorkItem::ActivityExecute { id, .. } => count(format!("activity {id}"), 1),
                WorkItem::TimerFired { id, fire_at_ms, .. } => count(format!("timer {id} {fire_at_ms}"), 1),
                WorkItem::StartOrchestration { instance, parent_id: Some(_), .. } => {
                    count(format!("child {instance}"), 1);
                }
                WorkItem::CancelInstance { instance, .. } => count(format!("child {instance}"), -1),
                other => count(format!("{other:?}"), 1),
            }
        }
    }
    net.retain(|_, count| *count != 0);
    // What was set in motion and cancelled later is not the same as what never was, but nets to it.
    let cancelled: BTreeSet<u64> = turns
        .iter()
        .flat_map(|turn| &turn.cancelled_activities)
        .map(|cancelled| cancelled.activity_id)
        .collect();
    let removed: BTreeSet<u64> = turns.iter().flat_map(|turn| turn.removed_timers.clone()).collect();
    net.retain(|key, _| {
        let id = key.split(' ').nth(1).and_then(|id| id.parse().ok());
        !(key.starts_with("activity ") && id.is_some_and(|id| cancelled.contains(&id))
            || key.starts_with("timer ") && id.is_some_and(|id| removed.contains(&id)))
    });
    net
}

fn check_form(episode: &Episode) -> Result<(), TestCaseError> {
    let history = episode.history();
    let mut opened: BTreeMap<u64, &'static str> = BTreeMap::new();
    let mut closed: BTreeSet<u64> = BTreeSet::new();
    let mut cancelled: BTreeSet<u64> = BTreeSet::new();
    for (place, event) in history.iter().enumerate() {
        prop_assert_eq!(event.event_id, u64::try_from(place).unwrap() + 1);
        prop_assert_eq!(event.duroxide_version.as_str(), BUILD_VERSION);
        prop_assert_eq!(matches!(event.kind, EventKind::OrchestrationStarted { .. }), place == 0);
        prop_assert!(!event.is_terminal() || place + 1 == history.len(), "the terminal event is the last");
        if let Some(family) = opens(&event.kind) {
            opened.insert(event.event_id, family);
        }
        if let Some(source) = event.source_event_id {
            prop_assert!(source < event.event_id);
            let family = opened.get(&source).copied();
            prop_assert_eq!(family, answers(&event.kind).or(cancels(&event.kind)));
            if answers(&event.kind).is_some() {
                prop_assert!(closed.insert(source), "answered twice: {}", source);
            } else {
                prop_assert!(cancelled.insert(source), "cancelled twice: {}", source);
                prop_assert!(!closed.contains(&source), "cancelled after its answer: {}", source);
            }
        }
    }
    check_turns(episode)?;
    prop_assert_eq!(episode.outcome().is_terminal(), history.last().is_some_and(Event::is_terminal));
    if episode.outcome().is_terminal() {
        for (id, family) in opened {
            let needs_closing = matches!(family, "activity" | "child");
            prop_assert!(!needs_closing || closed.contains(&id) || cancelled.contains(&id), "{} is open", id);
        }
    }
    Ok(())
}

/// Every event carries the time of its turn; stale messages and timers nobody waits for leave no trace.
fn check_turns(episode: &Episode) -> Result<(), TestCaseError> {
    let mut removed: BTreeSet<u64> = BTreeSet::new();
    for (number, turn) in episode.turns.iter().enumerate() {
        for event in &turn.events {
            prop_assert_eq!(event.timestamp_ms, Time::Passing.of(number).as_millis());
            let fired = event.source_event_id.filter(|_| answers(&event.kind) == Some("timer"));
            prop_assert!(!fired.is_some_and(|timer| removed.contains(&timer)), "{:?} was dropped", fired);
        }
        if meant_for(&episode.script[number]).is_some_and(|execution| execution != episode.execution_id) {
            prop_assert_eq!(&turn.events, &vec![]);
        }
        removed.extend(&turn.removed_timers);
    }
    Ok(())
}

/// The execution a message is meant for, if it is meant for one.
fn meant_for(item: &WorkItem) -> Option<u64> {
    match item {
        WorkItem::ActivityCompleted { execution_id, .. }
        | WorkItem::ActivityFailed { execution_id, .. }
        | WorkItem::TimerFired { execution_id, .. } => Some(*execution_id),
        WorkItem::SubOrchCompleted { parent_execution_id, .. }
        | WorkItem::SubOrchFailed { parent_execution_id, .. } => Some(*parent_execution_id),
        _ => None,
    }
}

/// Each open ask is on its way somewhere, exactly once; nothing is on its way that nobody asked for.
fn check_carriers(episode: &Episode) -> Result<(), TestCaseError> {
    let net = effects(&episode.turns);
    let history = episode.history();
    let cancelled: BTreeSet<u64> = history
        .iter()
        .filter(|event| cancels(&event.kind).is_some())
        .filter_map(|event| event.source_event_id)
        .collect();
    for event in &history {
        if let EventKind::ActivityScheduled { .. } = event.kind {
            let expected = i64::from(!cancelled.contains(&event.event_id));
            let sent = net.get(&format!("activity {}", event.event_id)).copied().unwrap_or(0);
            prop_assert_eq!(sent, expected, "activity {}", event.event_id);
        }
        if let EventKind::SubOrchestrationScheduled { instance, .. } = &event.kind
            && instance.starts_with("sub::")
        {
            let expected = i64::from(!cancelled.contains(&event.event_id));
            let sent = net.get(&format!("child i::{instance}")).copied().unwrap_or(0);
            prop_assert_eq!(sent, expected, "child {}", instance);
        }
        if let EventKind::OrchestrationChained { .. } = event.kind {
            let starts =
                episode.turns.iter().flat_map(|turn| &turn.orchestrator_items).filter(|item| {
                    matches!(item, WorkItem::StartOrchestration { parent_instance: None, .. })
                });
            let chained =
                history.iter().filter(|event| matches!(event.kind, EventKind::OrchestrationChained { .. }));
            prop_assert_eq!(starts.count(), chained.count());
        }
    }
    Ok(())
}

fn check_queues(episode: &Episode) -> Result<(), TestCaseError> {
    let history = episode.history();
    let delivered: Vec<&String> = history
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::QueueEventDelivered { data, .. } => Some(data),
            _ => None,
        })
        .collect();
    let read: Vec<String> = spoken(&episode.turns)
        .into_iter()
        .filter(|line| line.level == LineLevel::Debug)
        .filter_map(|line| line.message.strip_prefix("read ").map(str::to_owned))
        .collect();
    let distinct: BTreeSet<&String> = read.iter().collect();
    prop_assert_eq!(distinct.len(), read.len(), "read twice: {:?}", read);
    let carried =
        episode.turns.iter().flat_map(|turn| &turn.orchestrator_items).find_map(|item| match item {
            WorkItem::ContinueAsNew { carry_forward_events, .. } => Some(carry_forward_events),
            _ => None,
        });
    if let Some(carried) = carried {
        // What came here but was not taken yet, because the execution ended first, is carried too.
        let inherited = history.first().and_then(|event| match &event.kind {
            EventKind::OrchestrationStarted { carry_forward_events, .. } => carry_forward_events.clone(),
            _ => None,
        });
        let taken = delivered
            .iter()
            .filter(|data| inherited.iter().flatten().any(|(_, inherited)| inherited == **data));
        let untaken = inherited.iter().flatten().skip(taken.count()).map(|(_, data)| data.clone());
        let expected: Vec<String> = delivered
            .iter()
            .filter(|data| !distinct.contains(**data))
            .map(|data| (*data).clone())
            .chain(untaken)
            .collect();
        let carried: Vec<String> = carried.iter().map(|(_, data)| data.clone()).collect();
        prop_assert_eq!(carried, expected);
    }
    Ok(())
}

fn opens(kind: &EventKind) -> Option<&'static str> {
    match kind {
        EventKind::ActivityScheduled { .. } => Some("activity"),
        EventKind::TimerCreated { .. } => Some("timer"),
        EventKind::SubOrchestrationScheduled { .. } => Some("child"),
        EventKind::ExternalSubscribed { .. } => Some("wait"),
        EventKind::QueueSubscribed { .. } => Some("dequeue"),
        EventKind::HistoryPruneRequested { .. } => Some("prune"),
        _ => None,
    }
}

fn answers(kind: &EventKind) -> Option<&'static str> {
    match kind {
        EventKind::ActivityCompleted { .. } | EventKind::ActivityFailed { .. } => Some("activity"),
        EventKind::TimerFired { .. } => Some("timer"),
        EventKind::SubOrchestrationCompleted { .. } | EventKind::SubOrchestrationFailed { .. } => {
            Some("child")
        }
        EventKind::HistoryPruned { .. } => Some("prune"),
        _ => None,
    }
}

fn cancels(kind: &EventKind) -> Option<&'static str> {
    match kind {
        EventKind::ActivityCancelRequested { .. } => Some("activity"),
        EventKind::SubOrchestrationCancelRequested { .. } => Some("child"),
        EventKind::ExternalSubscribedCancelled { .. } => Some("wait"),
        EventKind::QueueSubscriptionCancelled { .. } => Some("dequeue"),
        _ => None,
    }
}
