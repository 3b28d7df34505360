//! Who waits for an instance whose history cannot be read, and for whom it waits.
//!
//! Most stores say with the lease who its parent is. Of one that knows the parent's name only, the parent's own history is
//! asked. Its children are known to the administrative side.

use std::sync::Arc;

use abide_model::{Event, EventKind, build_child_instance_id};
use abide_provider::{InstanceLease, Operation, ParentLink, Provider, ProviderError, StoreError};
use futures_util::FutureExt;

use super::Orchestrator;
use super::load::Hindrance;
use crate::insist::Told;

impl Orchestrator {
    /// The one to tell of the end of the leased instance, if there is one and it can be found.
    pub(super) async fn parent_of(&self, lease: &InstanceLease) -> Result<Option<ParentLink>, Hindrance> {
        if lease.parent.is_some() {
            return Ok(lease.parent.clone());
        }
        let (store, child) = (Arc::clone(&self.core.store), lease.instance.clone());
        let call = move || {
            let (store, child) = (Arc::clone(&store), child.clone());
            async move { find_parent(&*store, &child).await }.boxed()
        };
        match self.core.insist(Operation::GetParentId, call).await {
            Told::Done(parent) => Ok(parent),
            // Whoever cannot be found cannot be told.
            Told::Refused { .. } => Ok(None),
            Told::GivenUp => Err(Hindrance::GivenUp),
        }
    }
}

impl Orchestrator {
    /// The children of the leased instance, as far as the store can tell.
    pub(super) async fn children_of(&self, lease: &InstanceLease) -> Result<Vec<String>, Hindrance> {
        let (store, parent) = (Arc::clone(&self.core.store), lease.instance.clone());
        let call = move || {
            let (store, parent) = (Arc::clone(&store), parent.clone());
            async move {
                let Some(admin) = store.as_management_capability() else { return Ok(Vec::new()) };
                Ok(or_retry(admin.list_children(&parent).await)?.unwrap_or_default())
            }
            .boxed()
        };
        match self.core.insist(Operation::ListChildren, call).await {
            Told::Done(children) => Ok(children),
            Told::Refused { .. } => Ok(Vec::new()),
            Told::GivenUp => Err(Hindrance::GivenUp),
        }
    }
}

async fn find_parent(store: &dyn Provider, child: &str) -> Result<Option<ParentLink>, StoreError> {
    let Some(admin) = store.as_management_capability() else { return Ok(None) };
    let parent = or_retry(admin.get_parent_id(child).await)?.flatten();
    let Some(instance) = parent else { return Ok(None) };
    let history = or_retry(store.read(&instance).await)?.unwrap_or_default();
    let asked = history.iter().rev().find(|event| asks_for(event, child));
    Ok(asked.map(|event| ParentLink {
        execution_id: Some(event.execution_id),
        event_id: Some(event.event_id),
        instance: instance.clone(),
    }))
}

fn asks_for(event: &Event, child: &str) -> bool {
    if let EventKind::SubOrchestrationScheduled { instance, .. } = &event.kind {
        build_child_instance_id(&event.instance_id, instance) == child
    } else {
        false
    }
}

/// An answer; none if there will never be one; an error if it may come later.
fn or_retry<T>(answer: Result<T, ProviderError>) -> Result<Option<T>, StoreError> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if error.is_retryable() => {
            Err(StoreError::not_applied(Operation::GetParentId, error.message))
        }
        Err(_) => Ok(None),
    }
}
