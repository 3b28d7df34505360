//! Who waits for an instance, where its own record does not tell, and for whom it waits.
//!
//! Most stores say with the lease who the parent of an instance is, and which of its events asked. Where that
//! is not known, the parent's own history is asked: of an instance whose history cannot be read, and of
//! children that were started by releases that did not record the parent's execution. Its children are known
//! to the administrative side.

use std::sync::Arc;

use abide_engine::TurnOutput;
use abide_model::{Event, EventKind, WorkItem, build_child_instance_id};
use abide_provider::{InstanceLease, Operation, ParentLink, Provider, ProviderError, StoreError};
use futures_util::FutureExt;

use super::Orchestrator;
use super::load::Hindrance;
use crate::insist::Told;

impl Orchestrator {
    /// The one to tell of the end of the leased instance, if there is one and it can be found.
    pub(super) async fn parent_of(&self, lease: &InstanceLease) -> Result<Option<ParentLink>, Hindrance> {
        self.complete_link(&lease.instance, lease.parent.clone()).await
    }

    /// Addresses answers to parents whose execution is not known: to the one that asked for `child`, if it is
    /// the parent's current execution. Any other has ended, and takes no answers.
    pub(super) async fn address_answers(
        &self,
        child: &str,
        output: &mut TurnOutput,
    ) -> Result<(), Hindrance> {
        for place in std::mem::take(&mut output.unaddressed) {
            let Some(
                WorkItem::SubOrchCompleted { parent_instance, parent_execution_id, parent_id, .. }
                | WorkItem::SubOrchFailed { parent_instance, parent_execution_id, parent_id, .. },
            ) = output.orchestrator_items.get_mut(place)
            else {
                continue;
            };
            let known = ParentLink {
                instance: parent_instance.clone(),
                execution_id: None,
                event_id: Some(*parent_id),
            };
            let link = self.complete_link(child, Some(known)).await?;
            if let Some(execution_id) = link.and_then(|link| link.execution_id) {
                *parent_execution_id = execution_id;
            }
        }
        Ok(())
    }

    /// Fills in what `known` does not say of the parent of `child`, as far as the parent's record tells.
    async fn complete_link(
        &self,
        child: &str,
        known: Option<ParentLink>,
    ) -> Result<Option<ParentLink>, Hindrance> {
        if known.as_ref().is_some_and(|link| link.execution_id.is_some() && link.event_id.is_some()) {
            return Ok(known);
        }
        let (store, child, start) = (Arc::clone(&self.core.store), child.to_owned(), known.clone());
        let call = move || {
            let (store, child, known) = (Arc::clone(&store), child.clone(), start.clone());
            async move { find_parent(&*store, &child, known).await }.boxed()
        };
        match self.core.insist(Operation::GetParentId, call).await {
            Told::Done(parent) => Ok(parent),
            // A parent that cannot be found cannot be told.
            Told::Refused { .. } => Ok(known),
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

async fn find_parent(
    store: &dyn Provider,
    child: &str,
    known: Option<ParentLink>,
) -> Result<Option<ParentLink>, StoreError> {
    let link = match (known, store.as_management_capability()) {
        (Some(link), _) => link,
        (None, None) => return Ok(None),
        (None, Some(admin)) => match or_retry(admin.get_parent_id(child).await)?.flatten() {
            Some(instance) => ParentLink { instance, execution_id: None, event_id: None },
            None => return Ok(None),
        },
    };
    let history = or_retry(store.read(&link.instance).await)?.unwrap_or_default();
    let is_the_ask = |event: &&Event| {
        asks_for(event, child) && link.event_id.is_none_or(|asked_by| asked_by == event.event_id)
    };
    let asked = history.iter().rev().find(is_the_ask);
    Ok(Some(match asked {
        Some(event) => ParentLink {
            execution_id: Some(event.execution_id),
            event_id: Some(event.event_id),
            instance: link.instance,
        },
        None => link,
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
