//! What cannot run waits, says why, and goes on when it is repaired.

use abide_model::WorkItem;
use abide_provider::{
    Ability, Authority, BATCH_BYTES, BATCH_MESSAGES, Block, BlockInstance, BlockKind, BlockedInstance,
    InstanceLease, MAX_BLOCK_DETAIL, REMEMBERED_REFUSALS, Refusals, Rejection, SUSPECT_AFTER, Turn,
    TurnCommit,
};

use crate::ProviderFactory;
use crate::batches::calls::{
    activities, assert_rejected_as, commit, lease_job, signals, try_commit, under,
};
use crate::suite::area;
use crate::support::{
    Ack, ORCHESTRATION, Subject, activity, assert_left, block, block_of, cancel, completed,
    full_node, hold, identifier, lease_as, lease_one_as, lease_work_as, node, retry_after, signal, start, start_with_input, try_hold,
    without_suspects,
};

area! {
    blocking;
    test_block_ends_the_lease_and_counts_no_attempt: Need::Ability(Ability::Blocking);
    test_block_needs_a_valid_lease: Need::Ability(Ability::Blocking);
    test_blocked_instance_is_left_to_other_builds:
        Need::Ability(Ability::Blocking), Need::Ability(Ability::Serving);
    test_mail_of_a_blocked_instance_stays: Need::Ability(Ability::Blocking);
    test_block_records_nothing: Need::Ability(Ability::Blocking);
    test_lease_tells_the_block: Need::Ability(Ability::Blocking);
    test_commit_ends_the_block_and_keeps_the_refusals:
        Need::Ability(Ability::Blocking), Need::Ability(Ability::Serving);
    test_build_that_refused_and_runs_it_is_forgotten:
        Need::Ability(Ability::Blocking), Need::Ability(Ability::Serving);
    test_end_of_the_execution_forgets_the_refusals:
        Need::Ability(Ability::Blocking), Need::Ability(Ability::Serving);
    test_refusing_build_tries_again_after_a_while:
        Need::Ability(Ability::Blocking), Need::Ability(Ability::Serving);
    test_cancel_comes_before_more_mail_than_one_lease_holds: Need::Ability(Ability::Blocking);
    test_cancel_comes_right_behind_what_starts_an_execution: Need::Ability(Ability::Blocking);
    test_next_block_closes_the_instance_again:
        Need::Ability(Ability::Blocking), Need::Ability(Ability::Serving);
    test_retry_clock_of_a_healed_instance_starts_with_its_mail:
        Need::Ability(Ability::Blocking), Need::Ability(Ability::Serving);
    test_quarantined_instance_is_left_by_everyone: Need::Ability(Ability::Blocking);
    test_ninth_refusal_is_that_of_all_builds:
        Need::Ability(Ability::Blocking), Need::Ability(Ability::Serving);
    test_retry_forgets_refusals_and_attempts:
        Need::Ability(Ability::Blocking), Need::Ability(Ability::Serving);
    test_retry_of_what_is_not_blocked: Need::Ability(Ability::Blocking);
    test_cancel_reaches_a_blocked_instance:
        Need::Ability(Ability::Blocking), Need::Ability(Ability::Serving);
    test_cancel_of_a_blocked_suspect_needs_no_room_for_one:
        Need::Ability(Ability::Blocking), Need::Ability(Ability::Serving);
    test_fused_step_of_a_blocked_instance_is_busy:
        Need::Ability(Ability::Blocking), Need::Ability(Ability::FusedSteps);
    test_blocks_are_listed_and_counted: Need::Ability(Ability::Blocking), Administration;
    test_detail_of_a_block_is_cut: Need::Ability(Ability::Blocking);
    test_deleted_instance_leaves_no_block: Need::Ability(Ability::Blocking), Administration;
    test_held_activity_is_left_and_others_go_on: Need::Ability(Ability::Blocking);
    test_hold_needs_a_valid_lease: Need::Ability(Ability::Blocking);
    test_retry_frees_held_activities: Need::Ability(Ability::Blocking);
    test_held_activity_is_revoked: Need::Ability(Ability::Blocking);
}

/// A blocked instance named `a`, with a start that build `b1` refused.
async fn blocked_start(store: &Subject<'_>) {
    store.post(start("a")).await;
    let lease = lease_one_as(store, &full_node("b1"), "a").await;
    block(store, block_of(store, &lease, "b1")).await;
}

/// An instance named `a` that runs, and whose signal build `b1` refused.
async fn blocked_turn(store: &Subject<'_>) {
    store.create("a").await;
    store.post(signal("a", "one")).await;
    let lease = lease_one_as(store, &full_node("b1"), "a").await;
    block(store, block_of(store, &lease, "b1")).await;
}

/// A quarantine.
fn quarantine(token: &str) -> BlockInstance {
    BlockInstance {
        token: token.to_owned(),
        kind: BlockKind::Quarantine,
        detail: "the node crashed three times".to_owned(),
        build: "b1".to_owned(),
        event_id: None,
        retry_after: None,
    }
}

async fn blocks(store: &Subject<'_>, instance: &str) -> Vec<Block> {
    let read = store.read_blocks(instance).await;
    let read = read.unwrap_or_else(|error| panic!("blocks of '{instance}' cannot be read: {error}"));
    assert!(read.iter().all(|blocked| blocked.instance == instance), "of another instance: {read:?}");
    read.into_iter().map(|blocked| blocked.block).collect()
}

/// Blocking ends the lease, and is no attempt of the mail.
pub async fn test_block_ends_the_lease_and_counts_no_attempt<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    for round in 0..2 * SUSPECT_AFTER {
        let lease = lease_one_as(&store, &without_suspects(full_node(&format!("b{round}"))), "a").await;
        assert_eq!(lease.attempt, 1, "a block is no attempt");
        block(&store, block_of(&store, &lease, &format!("b{round}"))).await;
        let lost = try_commit(&store, under(&lease, Ack::first("a"))).await;
        assert_rejected_as(&lost, Rejection::LeaseLost, "a commit after the block");
    }
}

/// Without a lease that holds, nothing is blocked.
pub async fn test_block_needs_a_valid_lease<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    let lease = lease_one_as(&store, &full_node("b1"), "a").await;
    store.expire_leases().await;
    let late = store.block_instance(block_of(&store, &lease, "b1")).await;
    assert_rejected_as(&late, Rejection::LeaseLost, "a block under a lease that ran out");
    let unknown = store.block_instance(quarantine("no token of anybody")).await;
    assert_rejected_as(&unknown, Rejection::LeaseLost, "a block under no lease");
    assert_eq!(blocks(&store, "a").await, []);
    lease_one_as(&store, &full_node("b1"), "a").await;
}

/// The build that refused an instance leaves it to others. That holds for a start that never ran as for one that runs.
pub async fn test_blocked_instance_is_left_to_other_builds<F: ProviderFactory>(factory: &F) {
    for runs in [false, true] {
        let store = Subject::new(factory).await;
        if runs {
            blocked_turn(&store).await;
        } else {
            blocked_start(&store).await;
        }
        assert_left(&store, &full_node("b1"), "this build refused it").await;
        lease_one_as(&store, &full_node("b2"), "a").await;
    }
}

/// A build that refused an execution, and runs it now, is no more among those that refuse it. Others are, if the turn says so.
pub async fn test_build_that_refused_and_runs_it_is_forgotten<F: ProviderFactory>(factory: &F) {
    for others in [Refusals::default().with("b2"), Refusals::default()] {
        let store = Subject::new(factory).await;
        blocked_turn(&store).await;
        let lease = lease_one_as(&store, &full_node("b2"), "a").await;
        block(&store, block_of(&store, &lease, "b2")).await;
        store.pass(retry_after(&store)).await;
        let lease = lease_one_as(&store, &full_node("b1"), "a").await;
        let healing = under(&lease, Ack::of("a", 1));
        let turn = Turn { still_refused: Some(others.clone()), ..healing.turn };
        commit(&store, TurnCommit { turn, ..healing }).await;
        assert_eq!(blocks(&store, "a").await, []);
        store.post(signal("a", "two")).await;
        if others.contain("b2") {
            assert_left(&store, &full_node("b2"), "this build still refuses it").await;
        }
        let lease = lease_one_as(&store, &full_node("b1"), "a").await;
        let told = lease.refused.map(|refused| refused.by).unwrap_or_default();
        assert_eq!(told, others, "which builds refuse it");
    }
}

/// Mail that comes while an instance is blocked waits with the rest, in order; a delayed message when its time has come.
pub async fn test_mail_of_a_blocked_instance_stays<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    blocked_turn(&store).await;
    store.post(signal("a", "two")).await;
    let sent = store.enqueue_for_orchestrator(signal("a", "three"), Some(store.lock())).await;
    sent.expect("it can be sent");
    store.expire_leases().await;
    let lease = lease_one_as(&store, &full_node("b2"), "a").await;
    assert_eq!(signals(&lease.messages), ["one", "two", "three"]);
}

/// A block is no part of the history, nor of the status.
pub async fn test_block_records_nothing<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    let (history, status) = (store.history("a").await, store.read_status("a").await.expect("it runs"));
    store.post(signal("a", "one")).await;
    let lease = lease_one_as(&store, &full_node("b1"), "a").await;
    block(&store, block_of(&store, &lease, "b1")).await;
    assert_eq!(store.history("a").await, history);
    assert_eq!(store.read_status("a").await.expect("it runs"), status);
}

/// Whoever leases a blocked instance is told who refused it, and why.
pub async fn test_lease_tells_the_block<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    let lease = lease_one_as(&store, &full_node("b1"), "a").await;
    assert_eq!(lease.refused, None, "nobody refused it");
    block(&store, block_of(&store, &lease, "b1")).await;
    let lease = lease_one_as(&store, &full_node("b2"), "a").await;
    let refused = lease.refused.expect("a build refused it");
    assert_eq!(refused.by, Refusals::default().with("b1"));
    assert_eq!(refused.retry_after, Some(retry_after(&store)));
    assert!(!refused.is_retry_due, "its mail has just come");
    let block = refused.block.expect("it is blocked");
    assert_eq!((block.kind, block.build.as_str(), block.event_id), (BlockKind::Nondeterminism, "b1", Some(2)));
}

/// A build that can run it heals it; the build that refused it leaves it to the others all the same.
pub async fn test_commit_ends_the_block_and_keeps_the_refusals<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    blocked_start(&store).await;
    let lease = lease_one_as(&store, &full_node("b2"), "a").await;
    commit(&store, under(&lease, Ack::first("a"))).await;
    assert_eq!(blocks(&store, "a").await, [], "a turn was committed");
    store.post(signal("a", "go")).await;
    assert_left(&store, &full_node("b1"), "this build refused the execution").await;
    let lease = lease_one_as(&store, &full_node("b2"), "a").await;
    let refused = lease.refused.expect("a build refused the execution");
    assert_eq!((refused.by, refused.block), (Refusals::default().with("b1"), None));
}

/// A block belongs to its execution: the next one begins without it, and so does mail of one that has ended.
pub async fn test_end_of_the_execution_forgets_the_refusals<F: ProviderFactory>(factory: &F) {
    for ends in [Ack::first("a").continuing(2), Ack::first("a").completing(2)] {
        let store = Subject::new(factory).await;
        blocked_start(&store).await;
        let lease = lease_one_as(&store, &full_node("b2"), "a").await;
        commit(&store, under(&lease, ends)).await;
        store.post(signal("a", "go")).await;
        let lease = lease_one_as(&store, &full_node("b1"), "a").await;
        assert_eq!(lease.refused, None, "the execution that was refused is over");
    }
}

/// When its mail has waited long enough, the build that refused it may try again.
pub async fn test_refusing_build_tries_again_after_a_while<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    blocked_start(&store).await;
    store.pass(store.lock()).await;
    assert_left(&store, &full_node("b1"), "this build refused it").await;
    store.pass(retry_after(&store)).await;
    let lease = lease_one_as(&store, &full_node("b1"), "a").await;
    let refused = lease.refused.expect("it is still blocked");
    assert!(refused.is_retry_due, "the build knows that it may try again");
}

/// A lease holds so many messages. A cancel behind these comes first, so that it reaches an instance that is blocked.
pub async fn test_cancel_comes_before_more_mail_than_one_lease_holds<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    blocked_start(&store).await;
    let lease = lease_one_as(&store, &full_node("b2"), "a").await;
    commit(&store, under(&lease, Ack::first("a"))).await;
    for _ in 0..=BATCH_MESSAGES {
        store.post(signal("a", "go")).await;
    }
    store.post(cancel("a")).await;
    let lease = lease_one_as(&store, &full_node("b2"), "a").await;
    assert_eq!(lease.messages.len(), BATCH_MESSAGES);
    assert_eq!(lease.messages[0].item, cancel("a"));
    assert!(lease.messages[1..].iter().all(|message| message.item == signal("a", "go")));
    commit(&store, under(&lease, Ack::of("a", 1))).await;
    let lease = lease_one_as(&store, &full_node("b2"), "a").await;
    assert_eq!(lease.messages.len(), 2, "the rest, and no second cancel");
}

/// What starts an execution comes first, however large it is. A cancel for which no room is left comes right behind it.
pub async fn test_cancel_comes_right_behind_what_starts_an_execution<F: ProviderFactory>(factory: &F) {
    let large = "x".repeat(BATCH_BYTES);
    // The start alone fills a batch.
    let store = Subject::new(factory).await;
    let first = start_with_input("a", &large);
    let others = [signal("a", "go"), cancel("a"), cancel("a")];
    for item in [&first].into_iter().chain(&others) {
        store.post(item.clone()).await;
    }
    let lease = lease_one_as(&store, &full_node("b1"), "a").await;
    assert_handed_out(&lease, &[&first, &cancel("a")]);
    // Both are of the lease: both count the crash, and the commit consumes both.
    store.expire_leases_on(BATCH_BYTES).await;
    let lease = lease_one_as(&store, &full_node("b1"), "a").await;
    assert_eq!(lease.messages.iter().map(|message| message.attempt).collect::<Vec<u32>>(), [2, 2]);
    commit(&store, under(&lease, Ack::first("a"))).await;
    let lease = lease_one_as(&store, &full_node("b1"), "a").await;
    assert_handed_out(&lease, &[&signal("a", "go"), &cancel("a")]);

    // So does a successor.
    let store = Subject::new(factory).await;
    let mut continuing = Ack::first("a").continuing(2);
    for item in &mut continuing.orchestrator_items {
        if let WorkItem::ContinueAsNew { input, .. } = item {
            input.clone_from(&large);
        }
    }
    let next = continuing.orchestrator_items[0].clone();
    store.begin(continuing).await;
    store.post(cancel("a")).await;
    let lease = lease_one_as(&store, &full_node("b1"), "a").await;
    assert_handed_out(&lease, &[&next, &cancel("a")]);

    // The start comes behind more mail than a lease holds, and the cancel in the middle of it.
    let store = Subject::new(factory).await;
    for number in 0..=BATCH_MESSAGES {
        store.post(signal("a", &number.to_string())).await;
    }
    for item in [cancel("a"), signal("a", "last"), start("a")] {
        store.post(item).await;
    }
    let lease = lease_one_as(&store, &full_node("b1"), "a").await;
    assert_eq!(lease.messages.len(), BATCH_MESSAGES);
    assert_handed_out(&lease, &[&start("a"), &cancel("a"), &signal("a", "0"), &signal("a", "1")]);
    commit(&store, under(&lease, Ack::first("a"))).await;
    let lease = lease_one_as(&store, &full_node("b1"), "a").await;
    assert_eq!(signals(&lease.messages), ["998", "999", "1000", "last"], "the rest, in order and once");
    assert_eq!(lease.messages.len(), 4, "and no second cancel");
}

/// The messages of a lease begin with these.
#[track_caller]
fn assert_handed_out(lease: &InstanceLease, expected: &[&WorkItem]) {
    let items: Vec<&WorkItem> = lease.messages.iter().map(|message| &message.item).take(expected.len()).collect();
    // Not `assert_eq`: the message would have megabytes.
    let kinds: Vec<&str> = lease.messages.iter().take(5).map(|message| abide_model::kind_of(&message.item)).collect();
    assert!(items == expected, "the lease begins with {kinds:?}");
}

/// A build that tries again and refuses again waits again, and so do the others that refused it. The instance is
/// blocked since the first refusal.
pub async fn test_next_block_closes_the_instance_again<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    blocked_start(&store).await;
    let first = store.read_blocks("a").await.expect("blocks can be read");
    store.pass(retry_after(&store) + store.lock()).await;
    let lease = lease_one_as(&store, &full_node("b2"), "a").await;
    block(&store, block_of(&store, &lease, "b2")).await;
    let second = store.read_blocks("a").await.expect("blocks can be read");
    assert_eq!(second[0].block.build, "b2");
    assert_eq!(second[0].block.since, first[0].block.since, "it was blocked all the time");
    for build in ["b1", "b2"] {
        assert_left(&store, &full_node(build), "these builds refused it").await;
    }
    let lease = lease_one_as(&store, &full_node("b3"), "a").await;
    let refused = lease.refused.expect("two builds refused it");
    assert_eq!(refused.by, Refusals::default().with("b1").with("b2"));
}

/// After another build healed it, the clock of the build that refused it stands still until mail waits.
pub async fn test_retry_clock_of_a_healed_instance_starts_with_its_mail<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    blocked_start(&store).await;
    let lease = lease_one_as(&store, &full_node("b2"), "a").await;
    commit(&store, under(&lease, Ack::first("a"))).await;
    store.pass(2 * retry_after(&store)).await;
    store.post(signal("a", "go")).await;
    assert_left(&store, &full_node("b1"), "its mail has just come").await;
    store.pass(retry_after(&store) + store.lock()).await;
    lease_one_as(&store, &full_node("b1"), "a").await;
}

/// A quarantine is for every build, and for calls that say nothing of their node; and no time ends it.
pub async fn test_quarantined_instance_is_left_by_everyone<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    let lease = lease_one_as(&store, &full_node("b1"), "a").await;
    block(&store, quarantine(&lease.token)).await;
    for _ in 0..2 {
        for build in ["b1", "b2"] {
            assert_left(&store, &full_node(build), "it is quarantined").await;
        }
        store.assert_no_turn("it is quarantined").await;
        store.pass(3 * retry_after(&store)).await;
    }
}

/// Eight builds are remembered; with the ninth, every build counts as refusing.
pub async fn test_ninth_refusal_is_that_of_all_builds<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    for number in 0..=REMEMBERED_REFUSALS {
        let build = format!("b{number}");
        let lease = lease_one_as(&store, &full_node(&build), "a").await;
        block(&store, block_of(&store, &lease, &build)).await;
    }
    assert_left(&store, &full_node("another"), "too many builds refused it").await;
    store.assert_no_turn("too many builds refused it").await;
}

/// An operator's retry opens a blocked instance to every build, as if it had never crashed.
pub async fn test_retry_forgets_refusals_and_attempts<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    for _ in 0..SUSPECT_AFTER {
        lease_one_as(&store, &full_node("b1"), "a").await;
        store.expire_leases().await;
    }
    let lease = lease_one_as(&store, &full_node("b1"), "a").await;
    block(&store, quarantine(&lease.token)).await;
    assert!(store.retry_blocked("a").await.expect("it can be retried"), "it was blocked");
    assert_eq!(blocks(&store, "a").await, []);
    let lease = lease_one_as(&store, &without_suspects(full_node("b1")), "a").await;
    assert_eq!((lease.attempt, lease.refused), (1, None));
}

/// A retry says whether anything was blocked.
pub async fn test_retry_of_what_is_not_blocked<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    for instance in ["a", "unknown"] {
        assert!(!store.retry_blocked(instance).await.expect("it is no error"), "'{instance}' is not blocked");
    }
    assert_eq!(blocks(&store, "unknown").await, []);
}

/// A cancel reaches a blocked instance through any node, whatever it serves and refused.
pub async fn test_cancel_reaches_a_blocked_instance<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    blocked_turn(&store).await;
    let nodes = [full_node("b1"), node("b2", &[], &[])];
    for node in &nodes {
        assert_left(&store, node, "it is not to be canceled yet").await;
    }
    store.post(cancel("a")).await;
    for node in &nodes {
        let lease = lease_one_as(&store, node, "a").await;
        assert!(lease.refused.as_ref().is_some_and(|refused| !refused.is_retry_due), "only to cancel it");
        let given = store.abandon_orchestration_item(&lease.token, None, true).await;
        given.expect("the lease is held");
    }
}

/// What an activity of a blocked instance brings waits: its step is not taken as a fused one.
pub async fn test_fused_step_of_a_blocked_instance_is_busy<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").scheduling(activity("a", 2))).await;
    store.post(signal("a", "one")).await;
    let lease = lease_one_as(&store, &full_node("b1"), "a").await;
    let expected = lease.position;
    block(&store, block_of(&store, &lease, "b1")).await;
    let job = lease_job(&store).await;
    let mut step = under(&lease, Ack::of("a", 1).signalled(3));
    step.authority = Authority::FinishedWork { token: job.token.clone(), expected };
    assert_rejected_as(&try_commit(&store, step).await, Rejection::Busy, "a fused step");
    store.ack_work_item(&job.token, Some(completed("a", 2))).await.expect("its result waits");
    let lease = lease_one_as(&store, &full_node("b2"), "a").await;
    assert_eq!(lease.messages.len(), 2, "the signal and the result");
}

fn told(instance: &str, orchestration: &str, block: Block) -> BlockedInstance {
    let (instance, orchestration_name) = (instance.to_owned(), orchestration.to_owned());
    BlockedInstance { instance, orchestration_name, block }
}

/// Blocked instances and held activities are listed, oldest first, and counted by kind.
pub async fn test_blocks_are_listed_and_counted<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let limit = |limit: usize| store.admin().list_blocked(limit);
    assert_eq!(limit(5).await.expect("it can be listed"), []);
    store.create("b").await;
    blocked_start(&store).await;
    let first = blocks(&store, "a").await.remove(0);
    store.pass(store.lock()).await;
    for id in [3, 2] {
        store.post_work(activity("b", id)).await;
        let job = lease_job(&store).await;
        hold(&store, &job, "b1").await;
    }
    store.post(signal("b", "one")).await;
    let lease = lease_one_as(&store, &full_node("b1"), "b").await;
    block(&store, block_of(&store, &lease, "b1")).await;
    let of_b = blocks(&store, "b").await;
    let seen: Vec<_> = of_b.iter().map(|block| (block.kind, block.event_id, block.holds_activity)).collect();
    let kinds = [(BlockKind::Nondeterminism, Some(2), false), (BlockKind::Quarantine, Some(2), true)];
    assert_eq!(seen, [kinds[0], kinds[1], (BlockKind::Quarantine, Some(3), true)]);
    let all = limit(10).await.expect("it can be listed");
    let oldest = told("a", "", first);
    assert_eq!(all.first(), Some(&oldest), "it never ran, so its orchestration is not known");
    assert_eq!(all.len(), 4);
    assert!(all.iter().skip(1).all(|each| each.orchestration_name == ORCHESTRATION), "{all:?}");
    assert!(all.is_sorted_by_key(|each| each.block.since), "those blocked first first: {all:?}");
    assert_eq!(limit(1).await.expect("it can be listed"), std::slice::from_ref(&oldest));
    let counts = store.admin().count_blocked().await.expect("it can be counted");
    let mut by_kind: Vec<_> = counts.by_kind.into_iter().filter(|(_, count)| *count > 0).collect();
    by_kind.sort_unstable();
    assert_eq!(by_kind, [(BlockKind::Nondeterminism, 2), (BlockKind::Quarantine, 2)]);
    assert_eq!(counts.oldest, Some(oldest));
}

/// A long detail is cut, not refused.
pub async fn test_detail_of_a_block_is_cut<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    let lease = lease_one_as(&store, &full_node("b1"), "a").await;
    let long = BlockInstance { detail: "é".repeat(MAX_BLOCK_DETAIL), ..block_of(&store, &lease, "b1") };
    block(&store, long).await;
    let kept = blocks(&store, "a").await.remove(0).detail;
    assert_eq!(kept, "é".repeat(MAX_BLOCK_DETAIL / 2));
}

/// Deleting a blocked instance takes its block along: another of its name begins without it.
pub async fn test_deleted_instance_leaves_no_block<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    blocked_turn(&store).await;
    store.admin().delete_instance("a", true).await.expect("it can be deleted");
    assert_eq!(blocks(&store, "a").await, []);
    assert_eq!(store.admin().list_blocked(5).await.expect("it can be listed"), []);
    store.post(start("a")).await;
    lease_one_as(&store, &full_node("b1"), "a").await;
}

/// A held activity is leased by nobody, for whatever time; the other activities and the turns of its instance go on.
pub async fn test_held_activity_is_left_and_others_go_on<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").scheduling(activity("a", 2)).scheduling(activity("a", 3))).await;
    let job = lease_job(&store).await;
    hold(&store, &job, "b1").await;
    let lost = store.ack_work_item(&job.token, Some(completed("a", 2))).await;
    assert!(lost.is_err(), "its lease ended");
    assert_eq!(activities(&lease_work_as(&store, &full_node("b2"), 5).await), [3]);
    store.assert_no_work("it is held").await;
    store.post(signal("a", "go")).await;
    let turn = lease_one_as(&store, &full_node("b1"), "a").await;
    commit(&store, under(&turn, Ack::of("a", 1).signalled(4))).await;
    store.pass(3 * retry_after(&store)).await;
    assert_eq!(activities(&lease_work_as(&store, &full_node("b1"), 5).await), [3], "only its lease ran out");
    let held = blocks(&store, "a").await;
    assert_eq!(held.len(), 1, "a commit of its instance does not free it: {held:?}");
}

/// Without a lease that holds, no activity is held.
pub async fn test_hold_needs_a_valid_lease<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post_work(activity("a", 2)).await;
    let job = lease_job(&store).await;
    store.expire_leases().await;
    for token in [job.token.as_str(), "no token of anybody"] {
        assert_rejected_as(&try_hold(&store, token, "b1").await, Rejection::LeaseLost, "a hold without a lease");
    }
    assert_eq!(activities(&lease_work_as(&store, &full_node("b1"), 5).await), [2]);
}

/// An operator's retry frees held activities, as if they had never been tried.
pub async fn test_retry_frees_held_activities<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post_work(activity("a", 2)).await;
    for _ in 0..SUSPECT_AFTER {
        lease_job(&store).await;
        store.expire_leases().await;
    }
    let job = lease_job(&store).await;
    hold(&store, &job, "b1").await;
    assert!(store.retry_blocked("a").await.expect("it can be retried"), "an activity was held");
    assert_eq!(blocks(&store, "a").await, []);
    let freed = lease_work_as(&store, &without_suspects(full_node("b1")), 5).await;
    assert_eq!((activities(&freed), freed[0].attempt), (vec![2], 1));
}

/// A held activity is taken back like any other.
pub async fn test_held_activity_is_revoked<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").scheduling(activity("a", 2))).await;
    let job = lease_job(&store).await;
    hold(&store, &job, "b1").await;
    store.step(Ack::of("a", 1).cancelling(identifier("a", 2))).await;
    assert_eq!(blocks(&store, "a").await, []);
    assert!(!store.retry_blocked("a").await.expect("it is no error"), "nothing is held any more");
    store.assert_no_work("it was taken back").await;
    assert!(lease_as(&store, &full_node("b1"), 5).await.is_empty());
}

/// A turn that came to a block did not crash: its mail is no suspect any more, so a node that runs a suspect takes its cancel.
pub async fn test_cancel_of_a_blocked_suspect_needs_no_room_for_one<F: ProviderFactory>(factory: &F) {
    for is_quarantined in [false, true] {
        let store = Subject::new(factory).await;
        store.post(start("a")).await;
        for _ in 0..SUSPECT_AFTER {
            lease_one_as(&store, &full_node("b1"), "a").await;
            store.expire_leases().await;
        }
        let lease = lease_one_as(&store, &full_node("b1"), "a").await;
        let request = if is_quarantined { quarantine(&lease.token) } else { block_of(&store, &lease, "b1") };
        block(&store, request).await;
        store.post(cancel("a")).await;
        let lease = lease_one_as(&store, &without_suspects(full_node("b1")), "a").await;
        assert_eq!(lease.attempt, 1, "its last turn came to an end");
    }
}
