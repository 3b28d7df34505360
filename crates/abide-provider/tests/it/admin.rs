//! The provided part of administration: the tree of an instance, and deleting it.

use std::collections::BTreeMap;

use abide_model::{Event, PruneOptions, PruneResult};
use abide_provider::{
    DeleteInstanceResult, ExecutionInfo, InstanceFilter, InstanceInfo, InstanceTree, ManagementProvider,
    ProviderAdmin, ProviderError, QueueDepths, SystemMetrics,
};
use async_trait::async_trait;
use futures::executor::block_on;

use crate::fake::{Log, Script};

/// The administrative side of a fake store: families, and a list of what was called.
#[derive(Default)]
pub(crate) struct FakeAdmin {
    /// Children by their parent.
    pub(crate) children: BTreeMap<&'static str, Vec<&'static str>>,
    pub(crate) prunes: Script<Result<PruneResult, ProviderError>>,
    pub(crate) calls: Log,
}

fn family(children: &[(&'static str, &[&'static str])]) -> FakeAdmin {
    let children = children.iter().map(|(parent, children)| (*parent, children.to_vec())).collect();
    FakeAdmin { children, ..FakeAdmin::default() }
}

impl FakeAdmin {
    fn knows(&self, instance: &str) -> bool {
        self.children.iter().any(|(parent, children)| *parent == instance || children.contains(&instance))
    }
}

fn not_scripted<T>(operation: &str) -> Result<T, ProviderError> {
    Err(ProviderError::permanent(operation, "not scripted"))
}

#[async_trait]
impl ProviderAdmin for FakeAdmin {
    async fn list_instances(&self) -> Result<Vec<String>, ProviderError> {
        not_scripted("list_instances")
    }

    async fn list_instances_by_status(&self, _status: &str) -> Result<Vec<String>, ProviderError> {
        not_scripted("list_instances_by_status")
    }

    async fn list_executions(&self, _instance: &str) -> Result<Vec<u64>, ProviderError> {
        not_scripted("list_executions")
    }

    async fn read_history_with_execution_id(
        &self,
        _instance: &str,
        _execution_id: u64,
    ) -> Result<Vec<Event>, ProviderError> {
        not_scripted("read_history_with_execution_id")
    }

    async fn read_history(&self, _instance: &str) -> Result<Vec<Event>, ProviderError> {
        not_scripted("read_history")
    }

    async fn latest_execution_id(&self, _instance: &str) -> Result<u64, ProviderError> {
        not_scripted("latest_execution_id")
    }

    async fn get_instance_info(&self, _instance: &str) -> Result<InstanceInfo, ProviderError> {
        not_scripted("get_instance_info")
    }

    async fn get_execution_info(
        &self,
        _instance: &str,
        _execution_id: u64,
    ) -> Result<ExecutionInfo, ProviderError> {
        not_scripted("get_execution_info")
    }

    async fn get_system_metrics(&self) -> Result<SystemMetrics, ProviderError> {
        not_scripted("get_system_metrics")
    }

    async fn get_queue_depths(&self) -> Result<QueueDepths, ProviderError> {
        not_scripted("get_queue_depths")
    }

    async fn list_children(&self, instance_id: &str) -> Result<Vec<String>, ProviderError> {
        if instance_id == "broken" {
            return not_scripted("list_children");
        }
        let children = self.children.get(instance_id).into_iter().flatten();
        Ok(children.map(|child| (*child).to_owned()).collect())
    }

    async fn get_parent_id(&self, instance_id: &str) -> Result<Option<String>, ProviderError> {
        if !self.knows(instance_id) {
            let message = format!("Instance {instance_id} not found");
            return Err(ProviderError::permanent("get_parent_id", message));
        }
        let parent = self.children.iter().find(|(_, children)| children.contains(&instance_id));
        Ok(parent.map(|(parent, _)| (*parent).to_owned()))
    }

    async fn delete_instances_atomic(
        &self,
        ids: &[String],
        force: bool,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        self.calls.write(format!("delete {ids:?} {force}"));
        let instances_deleted = ids.iter().map(|_| 1).sum();
        Ok(DeleteInstanceResult { instances_deleted, ..DeleteInstanceResult::default() })
    }

    async fn delete_instance_bulk(
        &self,
        _filter: InstanceFilter,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        not_scripted("delete_instance_bulk")
    }

    async fn prune_executions(
        &self,
        instance_id: &str,
        options: PruneOptions,
    ) -> Result<PruneResult, ProviderError> {
        let PruneOptions { keep_last, completed_before } = options;
        self.calls.write(format!("prune {instance_id} {keep_last:?} {completed_before:?}"));
        self.prunes.next().unwrap_or_else(|| Ok(PruneResult::default()))
    }

    async fn prune_executions_bulk(
        &self,
        _filter: InstanceFilter,
        _options: PruneOptions,
    ) -> Result<PruneResult, ProviderError> {
        not_scripted("prune_executions_bulk")
    }
}

#[test]
fn a_tree_names_its_root_first_and_parents_before_children() {
    let admin = family(&[("r", &["a", "b"]), ("a", &["c"]), ("c", &["d"])]);
    let table: [(&str, &[&str]); 4] = [
        ("r", &["r", "a", "b", "c", "d"]),
        ("a", &["a", "c", "d"]),
        ("d", &["d"]),
        ("unknown", &["unknown"]),
    ];
    for (root, expected) in table {
        let tree = block_on(admin.get_instance_tree(root)).unwrap();
        assert_eq!((tree.root_id.as_str(), tree.all_ids.as_slice()), (root, &expected.map_owned()[..]));
        assert_eq!((tree.size(), tree.is_root_only()), (expected.len(), expected.len() == 1));
    }
}

#[test]
fn a_circle_of_parents_has_an_end() {
    let admin = family(&[("a", &["b"]), ("b", &["a", "b"])]);
    assert_eq!(block_on(admin.get_instance_tree("a")).unwrap().all_ids, ["a", "b"]);
}

#[test]
fn a_tree_that_cannot_be_read_is_an_error() {
    let admin = family(&[("a", &["broken"])]);
    assert!(block_on(admin.get_instance_tree("a")).is_err());
}

#[test]
fn deleting_a_root_deletes_its_tree_in_one_call() {
    let admin = family(&[("r", &["a"]), ("a", &["b"])]);
    for force in [false, true] {
        let deleted = block_on(admin.delete_instance("r", force)).unwrap();
        assert_eq!(deleted.instances_deleted, 3);
        assert_eq!(admin.calls.take(), [format!(r#"delete ["r", "a", "b"] {force}"#)]);
    }
}

#[test]
fn a_child_is_deleted_with_its_root_only() {
    let admin = family(&[("r", &["a"])]);
    let error = block_on(admin.delete_instance("a", true)).unwrap_err();
    let text = "Cannot delete sub-orchestration a directly. Delete root instance instead.";
    assert_eq!(error, ProviderError::permanent("delete_instance", text));
    assert_eq!(admin.calls.take(), [""; 0]);
}

#[test]
fn deleting_what_is_not_there_says_so() {
    let error = block_on(family(&[]).delete_instance("ghost", false)).unwrap_err();
    assert_eq!(error.to_string(), "get_parent_id: Instance ghost not found");
}

struct Legacy;

impl ManagementProvider for Legacy {}

#[test]
fn the_older_trait_answers_without_being_implemented() {
    block_on(async {
        assert_eq!(Legacy.list_instances().await, Ok(vec![]));
        assert_eq!(Legacy.list_instances_by_status("Running").await, Ok(vec![]));
        assert_eq!(Legacy.list_executions("i").await, Ok(vec![1]));
        assert_eq!(Legacy.latest_execution_id("i").await, Ok(1));
        let refusal = "not supported for instance: i";
        assert_eq!(Legacy.read_execution("i", 1).await.unwrap_err(), refusal);
        assert_eq!(Legacy.get_instance_info("i").await.unwrap_err(), refusal);
        assert_eq!(Legacy.get_execution_info("i", 1).await.unwrap_err(), refusal);
        assert_eq!(Legacy.get_system_metrics().await.unwrap().total_instances, 0);
        assert_eq!(Legacy.get_queue_depths().await.unwrap().worker_queue, 0);
    });
}

#[test]
fn a_tree_knows_its_size() {
    let tree = |ids: &[&str]| InstanceTree { root_id: "r".to_owned(), all_ids: ids.map_owned() };
    for (ids, size, alone) in [(&["r"][..], 1, true), (&["r", "a"], 2, false)] {
        assert_eq!((tree(ids).size(), tree(ids).is_root_only()), (size, alone));
    }
}

trait MapOwned {
    fn map_owned(&self) -> Vec<String>;
}

impl MapOwned for [&str] {
    fn map_owned(&self) -> Vec<String> {
        self.iter().map(|text| (*text).to_owned()).collect()
    }
}
