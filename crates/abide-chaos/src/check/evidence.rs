//! Gathering what there is to see.

use std::collections::BTreeMap;
use std::path::Path;

use abide::{Client, ClientError, Event, OrchestrationStatus};

use super::{Violation, effect, ending, history};
use crate::journal::{self, Line};
use crate::program::{KEPT, Order};

/// Everything there is to see after a run.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    /// What was acknowledged, and what that orders in turn.
    pub orders: Vec<Order>,
    /// What is stored, by instance.
    pub instances: BTreeMap<String, Past>,
    /// What the workers noted, by worker.
    pub journals: BTreeMap<String, Vec<Line>>,
}

/// What is stored of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Past {
    /// Where it stands.
    pub status: OrchestrationStatus,
    /// Its executions, each with its history.
    pub executions: BTreeMap<u64, Vec<Event>>,
    /// What it keeps under [`KEPT`].
    pub kept: Option<String>,
}

/// Why there is no evidence.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvidenceError {
    /// The store does not answer.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// A journal cannot be read.
    #[error(transparent)]
    Journal(#[from] std::io::Error),
}

impl Evidence {
    /// Reads all instances, and all journals of a folder. What the orders order themselves is added to them.
    ///
    /// # Errors
    ///
    /// If something cannot be read.
    pub async fn gather(client: &Client, orders: Vec<Order>, journals: &Path) -> Result<Self, EvidenceError> {
        let heirs: Vec<Order> = orders.iter().flat_map(Order::heirs).collect();
        let mut evidence = Self { orders, ..Self::default() };
        evidence.orders.extend(heirs);
        for instance in client.list_all_instances().await? {
            let past = Past::read(client, &instance).await?;
            evidence.instances.insert(instance, past);
        }
        evidence.journals = journal::read_all(journals)?;
        Ok(evidence)
    }

    /// Every rule that is broken, and how. None is what everybody wants.
    #[must_use]
    pub fn violations(&self) -> Vec<Violation> {
        let pasts = self.instances.iter().flat_map(|(instance, past)| history::violations(instance, past));
        let mut found: Vec<Violation> = pasts.collect();
        found.extend(ending::violations(self));
        found.extend(effect::violations(self));
        found
    }

    pub(super) fn lines(&self) -> impl Iterator<Item = &Line> {
        self.journals.values().flatten()
    }
}

impl Past {
    /// Reads one instance.
    ///
    /// # Errors
    ///
    /// If the store does not answer.
    pub async fn read(client: &Client, instance: &str) -> Result<Self, ClientError> {
        let mut executions = BTreeMap::new();
        for execution in client.list_executions(instance).await? {
            executions.insert(execution, client.read_execution_history(instance, execution).await?);
        }
        let status = client.get_orchestration_status(instance).await?;
        let kept = client.get_kv_value(instance, KEPT).await?;
        Ok(Self { status, executions, kept })
    }

    /// All events, execution by execution.
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        self.executions.values().flatten()
    }
}
