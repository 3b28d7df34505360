//! Making one administrative call of one store. Here the wording counts: all stores refuse in the same words.

use std::fmt::Debug;

use abide_provider::{
    Force, InstancePage, InstanceQuery, LARGEST_PAGE, PageCursor, ProviderAdmin, ProviderError,
};

use crate::admin::{DeleteOp, LookOp};
use crate::apply::{Answer, Caller};
use crate::numbering::Numbering;

impl Caller<'_> {
    pub(crate) fn admin(&self) -> &dyn ProviderAdmin {
        self.provider.as_management_capability().expect("both stores can be administered")
    }

    pub(crate) async fn look(self, op: &LookOp) -> Answer {
        let admin = self.admin();
        match op {
            LookOp::List => in_words(admin.list_instances().await),
            LookOp::ByStatus { status } => in_words(admin.list_instances_by_status(status).await),
            LookOp::Executions { instance } => in_words(admin.list_executions(instance).await),
            // What cannot be read is told in each store's own words.
            LookOp::History { instance } => Answer::of(admin.read_history(instance).await),
            LookOp::HistoryOf { instance, execution_id } => {
                Answer::of(admin.read_history_with_execution_id(instance, *execution_id).await)
            }
            LookOp::Latest { instance } => in_words(admin.latest_execution_id(instance).await),
            LookOp::Info { instance } => in_words(admin.get_instance_info(instance).await),
            LookOp::ExecutionInfo { instance, execution_id } => {
                in_words(admin.get_execution_info(instance, *execution_id).await)
            }
            LookOp::Metrics => match admin.count_running_instances().await {
                Ok(running) => in_words(admin.get_system_metrics().await.map(|metrics| (metrics, running))),
                Err(error) => in_words::<()>(Err(error)),
            },
            LookOp::QueueDepths => in_words(admin.get_queue_depths().await),
            LookOp::Children { instance } => in_words(admin.list_children(instance).await),
            LookOp::Parent { instance } => in_words(admin.get_parent_id(instance).await),
            LookOp::Tree { instance } => {
                let tree = admin.get_instance_tree(instance).await;
                let ids = tree.iter().map(|tree| tree.all_ids.clone()).collect();
                Answer { trees: ids, ..in_words(tree) }
            }
            LookOp::Pages { query, most } => pages(admin, query, *most, self.numbering()).await,
        }
    }

    pub(crate) async fn delete(self, op: &DeleteOp) -> Answer {
        let admin = self.admin();
        match op.clone() {
            DeleteOp::One { instance, force } => {
                in_words(admin.delete_instance(&instance, force == Force::Yes).await)
            }
            DeleteOp::Set { ids, force } => {
                in_words(admin.delete_instances_atomic(&ids, force == Force::Yes).await)
            }
            DeleteOp::Bulk(filter) => in_words(admin.delete_instance_bulk(filter).await),
            DeleteOp::Orphans(filter) => in_words(admin.cleanup_orphaned_instances(filter).await),
            DeleteOp::Retention(retention) => in_words(admin.enforce_retention(retention).await),
            DeleteOp::Prune { instance, options } => {
                in_words(admin.prune_executions(&instance, options).await)
            }
            DeleteOp::PruneBulk { filter, options } => {
                in_words(admin.prune_executions_bulk(filter, options).await)
            }
        }
    }
}

fn in_words<T: Debug>(result: Result<T, ProviderError>) -> Answer {
    let result = result.map_err(|error| format!("{} retryable: {}", error, error.retryable));
    Answer { text: format!("{result:?}"), results: vec![result.map(drop)], ..Answer::default() }
}

/// Pages one after the other, as a browser would ask for them.
async fn pages(
    admin: &dyn ProviderAdmin,
    query: &InstanceQuery,
    most: usize,
    numbering: &Numbering,
) -> Answer {
    let mut query = query.clone();
    query.after = query.after.map(|cursor| numbering.cursor_of_subject(cursor));
    let mut read: Vec<InstancePage> = Vec::new();
    for _ in 0..most {
        let page = match admin.list_instances_page(query.clone()).await {
            Ok(page) => page,
            Err(error) => return Answer { pages: read, ..in_words::<()>(Err(error)) },
        };
        let next = page.next.clone();
        read.push(page);
        let Some(next) = next else { break };
        query.after = Some(by_text(&next));
    }
    let contradiction = contradiction(admin, query, &read).await;
    let read: Vec<InstancePage> = read.into_iter().map(|page| numbering.page_of_model(page)).collect();
    let mut answer = in_words(Ok(&read));
    answer.contradictions.extend(contradiction);
    answer.pages = read;
    answer
}

/// The way of a cursor through a browser.
fn by_text(cursor: &PageCursor) -> PageCursor {
    let text = cursor.to_string();
    let back: PageCursor = text.parse().expect("a cursor can be read");
    assert_eq!(back, *cursor);
    back
}

/// Several small pages must be one large one, cut into pieces.
async fn contradiction(
    admin: &dyn ProviderAdmin,
    mut query: InstanceQuery,
    read: &[InstancePage],
) -> Option<String> {
    if read.len() < 2 || read.last().is_some_and(|page| page.next.is_some()) {
        return None;
    }
    let in_pieces: Vec<_> = read.iter().flat_map(|page| page.instances.clone()).collect();
    query.limit = Some(LARGEST_PAGE);
    query.after = None;
    let InstancePage { instances: all, next: None } = admin.list_instances_page(query).await.ok()? else {
        return None;
    };
    (!all.ends_with(&in_pieces)).then(|| format!("pages {in_pieces:?} of {all:?}"))
}
