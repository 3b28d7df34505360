//! Nodes that announce themselves. They live while the store that they work through listens.

use abide_provider::{Node, NodeAnnouncement, Operation, StoreError};
use tokio_postgres::Row;

use crate::PostgresProvider;
use crate::encode::{id_column, json, time};
use crate::node::call::Values;
use crate::statements::Sql;
use crate::text::{spelt, unspell};

impl PostgresProvider {
    pub(crate) async fn announce(&self, node: NodeAnnouncement) -> Result<(), StoreError> {
        let operation = Operation::AnnounceNode;
        let id = id_column(operation, &node.id)?;
        let said = spelt(&json(operation, &node)?);
        let values: Values = vec![Box::new(id.clone()), Box::new(self.shared.node), Box::new(said.clone())];
        self.one_row(operation, Sql::AnnounceNode, values).await?;
        self.shared.announced().insert(id, said);
        Ok(())
    }

    pub(crate) async fn forget(&self, id: &str) -> Result<(), StoreError> {
        let id = spelt(id);
        self.shared.announced().remove(&id);
        self.rows(Operation::ForgetNode, Sql::ForgetNode, vec![Box::new(id)]).await.map(drop)
    }

    /// The nodes of stores that listen, and those of this one. What a damaged row says is not known, so it is left out.
    pub(crate) async fn live_nodes(&self, operation: Operation) -> Result<Vec<Node>, StoreError> {
        let rows = self.rows(operation, Sql::ListNodes, vec![Box::new(self.shared.node)]).await?;
        Ok(rows.iter().filter_map(live_node).collect())
    }
}

fn live_node(row: &Row) -> Option<Node> {
    let announcement = serde_json::from_str(&unspell(row.get(0))).ok()?;
    Some(Node { announcement, started: time(row.get(1)), last_seen: time(row.get(2)) })
}
