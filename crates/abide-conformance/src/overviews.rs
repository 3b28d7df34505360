//! One instance at a glance: what it waits for, without its history.

use std::time::Duration;

use abide_model::{EventKind, ExecutionStatus, Timestamp};
use abide_provider::{
    Ability, Authority, Consumed, InstanceOverview, OVERVIEW_OUTPUT, OVERVIEW_ROWS, Turn, TurnCommit,
};

use crate::ProviderFactory;
use crate::batches::calls::{commit, lease, lease_job, under};
use crate::suite::area;
use crate::support::{
    Ack, Subject, activity, activity_with, block, block_of, continue_as_new, hold, signal, start, start_child,
};

area! {
    overviews;
    test_overview_of_what_is_no_instance: Need::Ability(Ability::Overviews);
    test_overview_of_a_start_that_is_queued: Need::Ability(Ability::Overviews);
    test_every_commit_replaces_what_is_waited_for: Need::Ability(Ability::Overviews);
    test_fused_step_replaces_what_is_waited_for: Need::Ability(Ability::Overviews), Need::Ability(Ability::FusedSteps);
    test_overview_of_what_has_ended: Need::Ability(Ability::Overviews);
    test_overview_has_mail_and_leases: Need::Ability(Ability::Overviews);
    test_overview_has_activities_of_the_current_execution: Need::Ability(Ability::Overviews);
    test_overview_has_parent_and_children: Need::Ability(Ability::Overviews);
    test_children_are_told_with_what_blocks_them: Need::Ability(Ability::Overviews), Need::Ability(Ability::Blocking);
}

async fn find(store: &Subject<'_>, instance: &str) -> Option<InstanceOverview> {
    let read = store.read_overview(instance).await;
    read.unwrap_or_else(|error| panic!("the overview of '{instance}' cannot be read: {error}"))
}

async fn overview(store: &Subject<'_>, instance: &str) -> InstanceOverview {
    find(store, instance).await.unwrap_or_else(|| panic!("there is no overview of '{instance}'"))
}

fn saying(commit: TurnCommit, waiting: Option<&str>) -> TurnCommit {
    TurnCommit { turn: Turn { waiting: waiting.map(str::to_owned), ..commit.turn }, ..commit }
}

/// What has neither a turn nor a start has no overview.
pub async fn test_overview_of_what_is_no_instance<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(signal("mail", "early")).await;
    assert_eq!(find(&store, "mail").await, None);
    assert_eq!(find(&store, "unknown").await, None);
    store.create("a").await;
    let found = overview(&store, "a").await;
    assert_eq!((found.execution_id, found.executions), (1, 1));
    assert_eq!(found.status, Some(ExecutionStatus::Running));
    assert_eq!((found.orchestration_name.as_str(), found.orchestration_version.as_str()), ("Order", "1.0.0"));
    assert_eq!(found.created, found.updated);
    assert_eq!((found.waiting, found.starts_at, found.mail), (None, None, 0));
}

/// A queued start says what is to run, and when it becomes visible.
pub async fn test_overview_of_a_start_that_is_queued<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("now")).await;
    let now = overview(&store, "now").await;
    assert_eq!((now.orchestration_name.as_str(), now.orchestration_version.as_str()), ("Order", "1.0.0"));
    assert_eq!((now.execution_id, now.status, now.created), (0, None, None));
    assert_eq!((now.mail, now.starts_at), (1, None));
    let sent = store.enqueue_for_orchestrator(start("later"), Some(Duration::from_secs(3_600))).await;
    sent.expect("a delayed start can be sent");
    let later = overview(&store, "later").await;
    assert_eq!((later.mail, later.orchestration_name.as_str()), (0, "Order"));
    let hour = Timestamp::from_millis(store.now_ms()).saturating_add(Duration::from_secs(3_500));
    assert!(later.starts_at.is_some_and(|time| time > hour), "{later:?}");
    store.post(start_child("child", "parent", 7)).await;
    let parent = overview(&store, "child").await.parent;
    assert_eq!(parent.map(|link| (link.instance, link.event_id)), Some(("parent".to_owned(), Some(7))));
}

/// Each commit says what the instance waits for from then on, also that nothing is known of it.
pub async fn test_every_commit_replaces_what_is_waited_for<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("other").await;
    store.post(start("a")).await;
    let first = lease(&store, "a").await;
    commit(&store, saying(under(&first, Ack::first("a")), Some(r#"[1,[["event",2,"go ü",5]],[]]"#))).await;
    assert_eq!(overview(&store, "a").await.waiting.as_deref(), Some(r#"[1,[["event",2,"go ü",5]],[]]"#));
    for (event, waiting) in [(2, Some("[0,[],[]]")), (3, None), (4, Some("[2,[],[]]"))] {
        store.post(signal("a", "next")).await;
        let next = lease(&store, "a").await;
        commit(&store, saying(under(&next, Ack::of("a", 1).signalled(event)), waiting)).await;
        assert_eq!(overview(&store, "a").await.waiting.as_deref(), waiting);
    }
    assert_eq!(overview(&store, "other").await.waiting, None);
}

/// A fused step is a commit like any other.
pub async fn test_fused_step_replaces_what_is_waited_for<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    let first = lease(&store, "a").await;
    let turn = Ack::first("a").scheduling(activity("a", 2));
    commit(&store, saying(under(&first, turn), Some("[1,[],[]]"))).await;
    let job = lease_job(&store).await;
    let position = abide_provider::Position { execution_id: 1, last_event_id: 2, ..first.position };
    let result = EventKind::ActivityCompleted { result: "done".to_owned() };
    let turn = under(&first, Ack::of("a", 1).event(3, result)).turn;
    let fused = TurnCommit {
        instance: "a".to_owned(),
        authority: Authority::FinishedWork { token: job.token, expected: position },
        consumed: Consumed::All,
        left: Vec::new(),
        turn,
    };
    commit(&store, saying(fused, Some("[3,[],[]]"))).await;
    assert_eq!(overview(&store, "a").await.waiting.as_deref(), Some("[3,[],[]]"));
}

/// What has ended waits for nothing, and its output is cut.
pub async fn test_overview_of_what_has_ended<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let long = "é".repeat(OVERVIEW_OUTPUT + 1);
    let table = [
        ("completed", ExecutionStatus::Completed, "done"),
        ("failed", ExecutionStatus::Failed, "broken"),
        ("long", ExecutionStatus::Completed, long.as_str()),
    ];
    for (instance, status, output) in table {
        store.post(start(instance)).await;
        let first = lease(&store, instance).await;
        let end = Ack::first(instance).ending(2, status, output);
        commit(&store, saying(under(&first, end), Some("[1,[],[]]"))).await;
        let found = overview(&store, instance).await;
        assert_eq!((found.status, found.waiting.as_deref()), (Some(status), None), "{instance}");
        let shown: String = output.chars().take(OVERVIEW_OUTPUT).collect();
        assert_eq!(found.output, Some(shown), "{instance}");
        assert_eq!(found.completed, found.updated, "{instance}");
    }
}

/// Mail that a turn could take, and a lease on the turn while it is valid.
pub async fn test_overview_has_mail_and_leases<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "one")).await;
    store.post(signal("a", "two")).await;
    let hidden = store.enqueue_for_orchestrator(signal("a", "three"), Some(Duration::from_secs(3_600))).await;
    hidden.expect("a delayed message can be sent");
    let before = overview(&store, "a").await;
    assert_eq!((before.mail, before.lease), (2, None));
    let _lease = lease(&store, "a").await;
    let held = overview(&store, "a").await.lease.expect("the lease is told");
    assert!(held.until.as_millis() > store.now_ms(), "{held:?}");
    store.expire_leases().await;
    assert_eq!(overview(&store, "a").await.lease, None, "it ran out");
}

/// Activities of the current execution by their events, with attempts and leases; a bounded number of them.
pub async fn test_overview_has_activities_of_the_current_execution<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("other").await;
    let item = |event| activity_with("a", event, None, (event == 3).then_some("gpu"));
    let first = (2..22).fold(Ack::first("a"), |turn, event| turn.scheduling(item(event)));
    store.begin(first).await;
    let job = lease_job(&store).await;
    assert_eq!(job.item, activity("a", 2));
    let work = overview(&store, "a").await.work;
    let events: Vec<u64> = work.iter().map(|work| work.event_id).collect();
    assert_eq!(events, (2..22).take(OVERVIEW_ROWS).collect::<Vec<_>>());
    let told: Vec<_> = work.iter().map(|work| (work.attempts, work.lease.is_some(), work.is_held)).collect();
    assert_eq!(told.first(), Some(&(1, true, false)));
    assert_eq!(told.get(1), Some(&(0, false, false)));
    assert!(work.iter().all(|work| work.name == "Charge"), "{work:?}");
    let tags: Vec<_> = work.iter().take(3).map(|work| work.tag.as_deref()).collect();
    assert_eq!(tags, [None, Some("gpu"), None]);
    store.step(Ack::of("a", 1).continuing(22)).await;
    assert_eq!(overview(&store, "a").await.status, Some(ExecutionStatus::ContinuedAsNew));
    let next = lease(&store, "a").await;
    assert!(next.messages.iter().any(|message| message.item == continue_as_new("a")));
    commit(&store, under(&next, Ack::first_of("a", 2))).await;
    let second = overview(&store, "a").await;
    assert_eq!((second.execution_id, second.executions, second.work), (2, 2, Vec::new()));
    assert_eq!(overview(&store, "other").await.work, []);
}

/// Whose child it is, and its children: the oldest by name, all by number.
pub async fn test_overview_has_parent_and_children<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("parent").await;
    let mut names = Vec::new();
    for number in 0..OVERVIEW_ROWS + 4 {
        let name = format!("child-{number:02}");
        store.post(start_child(&name, "parent", 2)).await;
        let first = lease(&store, &name).await;
        commit(&store, under(&first, Ack::first(&name).child_of("parent"))).await;
        names.push(name);
        store.pass(Duration::from_millis(2)).await;
    }
    let parent = overview(&store, "parent").await;
    assert_eq!(parent.children, names.iter().take(OVERVIEW_ROWS).cloned().collect::<Vec<_>>());
    assert_eq!(parent.child_count, u64::try_from(names.len()).expect("a few"));
    let child = overview(&store, "child-03").await;
    assert_eq!(child.parent.map(|link| link.instance), Some("parent".to_owned()));
    assert_eq!((child.children, child.child_count), (Vec::new(), 0));
}

/// What the children of an instance run and what blocks them, in the order of the ids.
pub async fn test_children_are_told_with_what_blocks_them<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("runs").await;
    let two = Ack::first("held").scheduling(activity("held", 2)).scheduling(activity("held", 3));
    store.begin(two).await;
    for _ in 0..2 {
        hold(&store, &lease_job(&store).await, "b1").await;
    }
    store.post(start("ended")).await;
    let first = lease(&store, "ended").await;
    commit(&store, under(&first, Ack::first("ended").ending(2, ExecutionStatus::Completed, "done"))).await;
    for instance in ["leased", "blocked"] {
        store.create(instance).await;
    }
    store.post(signal("leased", "one")).await;
    let _turn = lease(&store, "leased").await;
    store.post(signal("blocked", "one")).await;
    let turn = lease(&store, "blocked").await;
    block(&store, block_of(&store, &turn, "b1")).await;
    store.post(start("queued")).await;
    store.post(signal("mail", "early")).await;
    let ids = ["queued", "unknown", "blocked", "mail", "held", "runs", "ended", "leased"].map(str::to_owned);
    let read = store.read_children(&ids).await;
    let found = read.unwrap_or_else(|error| panic!("children cannot be read: {error}"));
    let running = Some(ExecutionStatus::Running);
    let told: Vec<_> = found
        .iter()
        .map(|child| {
            let about = child.block.as_ref().map(|block| (block.holds_activity, block.event_id));
            (child.instance.as_str(), child.status, child.is_leased, about)
        })
        .collect();
    let expected = [
        ("queued", None, false, None),
        ("blocked", running, false, Some((false, Some(2)))),
        ("held", running, false, Some((true, Some(2)))),
        ("runs", running, false, None),
        ("ended", Some(ExecutionStatus::Completed), false, None),
        ("leased", running, true, None),
    ];
    assert_eq!(told, expected);
    for child in found {
        let overview = overview(&store, &child.instance).await;
        assert_eq!(child.orchestration_name, overview.orchestration_name, "{}", child.instance);
        assert_eq!(child.orchestration_version, overview.orchestration_version, "{}", child.instance);
        assert_eq!(child.pin, overview.pin, "{}", child.instance);
    }
    store.expire_leases().await;
    let later = store.read_children(&["leased".to_owned()]).await.expect("children can be read");
    assert_eq!(later.first().map(|child| child.is_leased), Some(false), "its lease ran out");
}
