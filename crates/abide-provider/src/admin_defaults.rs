//! The provided methods of administration, in terms of the required ones: right, and as slow as asking for every instance.

use std::cmp::Ordering;

use abide_model::{ExecutionStatus, INITIAL_EXECUTION_ID};

use crate::{
    AdminRefusal, BlockSummary, DeleteInstanceResult, InstanceInfo, InstanceOrder, InstancePage,
    InstanceQuery, InstanceSummary, InstanceTree, Operation, OrphanFilter, PageCursor, ParentLink,
    ProviderAdmin, ProviderError, Retention,
};

pub(crate) async fn list_page<A: ProviderAdmin + ?Sized>(
    admin: &A,
    query: InstanceQuery,
) -> Result<InstancePage, ProviderError> {
    let refused = |error| AdminRefusal::Query(error).provider_error(Operation::ListInstancesPage);
    let size = usize::try_from(query.page_size().map_err(refused)?).unwrap_or(usize::MAX);
    let start = query.start().map_err(refused)?;
    let mut found = Vec::new();
    let blocked = admin.list_blocked(usize::MAX).await?;
    for id in admin.list_instances().await? {
        let Some(mut summary) = summary_of(admin, &id).await? else { continue };
        let blocks = blocked.iter().filter(|blocked| blocked.instance == id).map(|blocked| &blocked.block);
        summary.block = BlockSummary::first(blocks);
        let is_behind = start.is_none_or(|cursor| {
            precedes(query.order, (cursor.created_at(), cursor.tie()), key_of(&summary)) == Ordering::Less
        });
        if is_behind && query.admits(&summary) {
            found.push(summary);
        }
    }
    found.sort_by(|one, other| precedes(query.order, key_of(one), key_of(other)));
    let has_more = found.len() > size;
    found.truncate(size);
    let last = found.last().filter(|_| has_more);
    let next = last.map(|last| match query.order {
        InstanceOrder::ById => PageCursor::id(&last.instance_id),
        InstanceOrder::NewestFirst | InstanceOrder::OldestFirst => {
            PageCursor::created(query.order, last.created_at, &last.instance_id)
        }
    });
    Ok(InstancePage { instances: found, next })
}

/// What is known about an instance; nothing if it was deleted meanwhile.
async fn summary_of<A: ProviderAdmin + ?Sized>(
    admin: &A,
    id: &str,
) -> Result<Option<InstanceSummary>, ProviderError> {
    match known_summary_of(admin, id).await {
        Ok(summary) => Ok(Some(summary)),
        Err(error) if error.is_retryable() => Err(error),
        Err(_) if admin.list_executions(id).await?.is_empty() => Ok(None),
        // It has moved on between two questions: once more.
        Err(_) => known_summary_of(admin, id).await.map(Some),
    }
}

async fn known_summary_of<A: ProviderAdmin + ?Sized>(
    admin: &A,
    id: &str,
) -> Result<InstanceSummary, ProviderError> {
    let info = admin.get_instance_info(id).await?;
    let execution = admin.get_execution_info(id, info.current_execution_id).await?;
    let status = status_of(&info)?;
    Ok(InstanceSummary {
        instance_id: info.instance_id,
        orchestration_name: info.orchestration_name,
        orchestration_version: info.orchestration_version,
        execution_id: info.current_execution_id,
        status,
        custom_status: None,
        created_at: info.created_at,
        updated_at: info.updated_at,
        completed_at: execution.completed_at.filter(|_| status.is_end()),
        parent_instance_id: info.parent_instance_id,
        block: None,
    })
}

fn status_of(info: &InstanceInfo) -> Result<ExecutionStatus, ProviderError> {
    info.status.parse().map_err(|error| {
        let operation = Operation::GetInstanceInfo.as_str();
        ProviderError::permanent(operation, format!("instance {}: {error}", info.instance_id))
    })
}

fn key_of(summary: &InstanceSummary) -> (u64, &str) {
    (summary.created_at, &summary.instance_id)
}

/// Ids tell apart what was created at the same time.
fn precedes(order: InstanceOrder, one: (u64, &str), other: (u64, &str)) -> Ordering {
    match order {
        InstanceOrder::NewestFirst => other.cmp(&one),
        InstanceOrder::OldestFirst => one.cmp(&other),
        InstanceOrder::ById => one.1.cmp(other.1),
    }
}

pub(crate) async fn cleanup_orphaned_instances<A: ProviderAdmin + ?Sized>(
    admin: &A,
    filter: OrphanFilter,
) -> Result<DeleteInstanceResult, ProviderError> {
    let ends = filter
        .ends()
        .map_err(|error| AdminRefusal::Orphans(error).provider_error(Operation::CleanupOrphanedInstances))?;
    let mut total = DeleteInstanceResult::default();
    let mut left = filter.at_most();
    for child in ended_children(admin, &ends).await? {
        if left == 0 {
            break;
        }
        if !is_orphan(admin, &child, filter.parent_completed_before).await? {
            continue;
        }
        let tree = admin.get_instance_tree(&child.instance_id).await?;
        match admin.delete_instances_atomic(&tree.all_ids, false).await {
            Ok(deleted) if deleted.instances_deleted == 0 => {} // went with another's tree
            Ok(deleted) => {
                total.add(&deleted);
                left -= 1;
            }
            Err(error) if error.is_retryable() => return Err(error),
            // Something below it runs, or has come since: another time. Anything else is the caller's to know.
            Err(error) if tree_is_finished(admin, &tree).await? => return Err(error),
            Err(_) => {}
        }
    }
    Ok(total)
}

/// Whether this is still the whole tree, and all of it is finished.
async fn tree_is_finished<A: ProviderAdmin + ?Sized>(
    admin: &A,
    tree: &InstanceTree,
) -> Result<bool, ProviderError> {
    if admin.get_instance_tree(&tree.root_id).await?.all_ids != tree.all_ids {
        return Ok(false);
    }
    for id in &tree.all_ids {
        if summary_of(admin, id).await?.is_none_or(|member| !member.status.is_end()) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Children that ended like this, those that did so first first.
async fn ended_children<A: ProviderAdmin + ?Sized>(
    admin: &A,
    ends: &[ExecutionStatus],
) -> Result<Vec<InstanceSummary>, ProviderError> {
    let mut found = Vec::new();
    for id in admin.list_instances().await? {
        let summary = summary_of(admin, &id).await?;
        found.extend(
            summary.filter(|child| child.parent_instance_id.is_some() && ends.contains(&child.status)),
        );
    }
    found.sort_by_key(|child| child.completed_at);
    Ok(found)
}

async fn is_orphan<A: ProviderAdmin + ?Sized>(
    admin: &A,
    child: &InstanceSummary,
    completed_before: Option<u64>,
) -> Result<bool, ProviderError> {
    let Some(parent) = &child.parent_instance_id else { return Ok(false) };
    let Some(asked_in) = asking_execution(admin, &child.instance_id).await? else {
        return Ok(false);
    };
    // Asked for, and not read from an error: nothing is deleted because something went wrong.
    let ended_at = if admin.list_executions(parent).await?.contains(&asked_in) {
        match admin.get_execution_info(parent, asked_in).await {
            Ok(asking) => asking.completed_at,
            Err(error) if error.is_retryable() => return Err(error),
            Err(_) => None, // gone just now, or unreadable: another time
        }
    } else {
        child.completed_at
    };
    Ok(ended_at.is_some_and(|ended_at| completed_before.is_none_or(|before| ended_at < before)))
}

/// The parent's execution that asked for a child: its first one if the child does not know, none if nobody can read it.
async fn asking_execution<A: ProviderAdmin + ?Sized>(
    admin: &A,
    id: &str,
) -> Result<Option<u64>, ProviderError> {
    match admin.read_history(id).await {
        Ok(history) => {
            let link = history.first().and_then(|event| ParentLink::of_event(&event.kind));
            Ok(Some(link.and_then(|link| link.execution_id).unwrap_or(INITIAL_EXECUTION_ID)))
        }
        Err(error) if error.is_retryable() => Err(error),
        Err(_) => Ok(None),
    }
}

pub(crate) async fn enforce_retention<A: ProviderAdmin + ?Sized>(
    admin: &A,
    retention: Retention,
) -> Result<DeleteInstanceResult, ProviderError> {
    admin.delete_instance_bulk(retention.filter(retention.host_time)).await
}
