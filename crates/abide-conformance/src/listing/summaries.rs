//! What a page says about an instance.

use abide_model::{EventKind, ExecutionStatus};
use abide_provider::{InstanceQuery, InstanceSummary};

use crate::ProviderFactory;
use crate::deletion::{
    CHILD, completed_child, completed_root, ended_at, eternal_root, failed_root, moment,
    root_between_executions,
};
use crate::listing::{ids, page};
use crate::support::{Ack, ORCHESTRATION, Subject, VERSION, signal};

/// Name, version, execution, status, parent, and whether and when it ended: the same as asking for one instance.
pub async fn test_page_says_what_is_known<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    eternal_root(&store, "eternal", 3).await;
    moment(&store).await;
    completed_root(&store, "completed").await;
    failed_root(&store, "failed").await;
    completed_child(&store, "child", "eternal").await;
    root_between_executions(&store, "continued").await;
    let expected = [
        ("eternal", ORCHESTRATION, 3, ExecutionStatus::Running, None),
        ("completed", ORCHESTRATION, 1, ExecutionStatus::Completed, None),
        ("failed", ORCHESTRATION, 1, ExecutionStatus::Failed, None),
        ("child", CHILD, 1, ExecutionStatus::Completed, Some("eternal")),
        ("continued", ORCHESTRATION, 1, ExecutionStatus::ContinuedAsNew, None),
    ];
    for (id, name, execution, status, parent) in expected {
        let summary = summary(&store, id).await;
        assert_eq!(
            (summary.orchestration_name.as_str(), summary.orchestration_version.as_str()),
            (name, VERSION)
        );
        assert_eq!((summary.execution_id, summary.status), (execution, status), "'{id}'");
        assert_eq!(summary.parent_instance_id.as_deref(), parent, "the parent of '{id}'");
        assert_eq!(summary.custom_status, None, "'{id}' has no custom status");
        let info = store.admin().get_instance_info(id).await.expect("it exists");
        assert_eq!((summary.created_at, summary.updated_at), (info.created_at, info.updated_at), "'{id}'");
        let ended = match status {
            ExecutionStatus::Completed | ExecutionStatus::Failed => Some(ended_at(&store, id, 1).await),
            // One that continued as new has not ended.
            ExecutionStatus::Running | ExecutionStatus::ContinuedAsNew => None,
        };
        assert_eq!(summary.completed_at, ended, "the end of '{id}'");
    }
}

/// Times come from the store's clock, and move with what happens.
pub async fn test_page_times_move<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let before = store.now_ms();
    moment(&store).await;
    store.create("a").await;
    let created = summary(&store, "a").await;
    assert!(created.created_at > before, "{} is not later than {before}", created.created_at);
    moment(&store).await;
    let after = store.now_ms();
    assert!((created.created_at..after).contains(&created.updated_at), "it changed last when it was created");
    assert_eq!(created.completed_at, None, "what runs has not ended");
    store.step(Ack::of("a", 1).signalled(2)).await;
    let updated = summary(&store, "a").await;
    assert_eq!(updated.created_at, created.created_at);
    assert!(updated.updated_at > created.updated_at, "a commit is a change");
    moment(&store).await;
    store.step(Ack::of("a", 1).completing(3)).await;
    let ended = summary(&store, "a").await;
    assert!(ended.completed_at > Some(updated.updated_at), "it ended later than it changed before");
    assert!(ended.updated_at > updated.updated_at, "the end is a change");
    assert_eq!(ended.created_at, created.created_at);
}

/// The custom status is the one that can be read: as it was set last, and none after a reset.
pub async fn test_page_says_the_custom_status<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let status = |text: Option<&str>| EventKind::CustomStatusUpdated { status: text.map(str::to_owned) };
    store.begin(Ack::first("a").event(2, status(Some("busy")))).await;
    store.create("b").await;
    assert_eq!(summary(&store, "a").await.custom_status.as_deref(), Some("busy"));
    assert_eq!(summary(&store, "b").await.custom_status, None);
    store.step(Ack::of("a", 1).event(3, status(Some(""))).continuing(4)).await;
    assert_eq!(summary(&store, "a").await.custom_status.as_deref(), Some(""), "an empty status is one");
    let turn = store.fetch("a").await;
    store.ack(&turn.token, Ack::first_of("a", 2)).await;
    assert_eq!(summary(&store, "a").await.custom_status.as_deref(), Some(""), "it is the instance's");
    store.step(Ack::of("a", 2).event(2, status(None))).await;
    assert_eq!(summary(&store, "a").await.custom_status, None, "after a reset there is none");
}

/// A history that cannot be read is listed like any other, and harms no page.
pub async fn test_page_with_an_unreadable_history<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    completed_root(&store, "a").await;
    failed_root(&store, "bad").await;
    completed_root(&store, "c").await;
    factory.corrupt_instance_history("bad").await;
    store.post(signal("bad", "late")).await;
    let mut listed =
        ids(&page(&store, InstanceQuery::new()).await).into_iter().map(str::to_owned).collect::<Vec<_>>();
    listed.sort();
    assert_eq!(listed, ["a", "bad", "c"]);
    let bad = summary(&store, "bad").await;
    assert_eq!((bad.status, bad.orchestration_name.as_str()), (ExecutionStatus::Failed, ORCHESTRATION));
}

async fn summary(store: &Subject<'_>, id: &str) -> InstanceSummary {
    let page = page(store, InstanceQuery::new()).await;
    let found = page.instances.iter().find(|summary| summary.instance_id == id);
    found.cloned().unwrap_or_else(|| panic!("'{id}' exists, and is not listed: {:?}", ids(&page)))
}
