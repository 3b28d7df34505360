//! Nodes that announce themselves, each with the process it is in.

use abide_model::Timestamp;
use abide_provider::{Node, NodeAnnouncement};
use rusqlite::params;

use super::Tx;
use crate::encode::number;
use crate::statements::{Sql, Statements};
use crate::text::lossy;

/// A node as stored, and what tells whether its process lives.
#[derive(Debug)]
pub(crate) struct StoredNode {
    pub(crate) node: Node,
    pub(crate) owner: i64,
    pub(crate) lock_file: Option<String>,
}

impl Tx<'_, '_> {
    /// Makes a node known, or replaces what it said; `said` is its announcement as JSON.
    pub(crate) fn announce_node(&self, id: &str, said: &str) -> rusqlite::Result<()> {
        self.sql.execute(Sql::AnnounceNode, params![id, self.owner, said, self.now])?;
        Ok(())
    }

    pub(crate) fn forget_node(&self, id: &str) -> rusqlite::Result<()> {
        self.sql.execute(Sql::ForgetNode, [id])?;
        Ok(())
    }
}

impl Statements<'_> {
    /// All nodes, by their ids. What a damaged row says is not known, so it is left out.
    pub(crate) fn nodes(&self) -> rusqlite::Result<Vec<StoredNode>> {
        let stored = self.rows(Sql::ListNodes, [], |row| {
            let Ok(announcement) = serde_json::from_str::<NodeAnnouncement>(&lossy(row, 0)?) else {
                return Ok(None);
            };
            let time = |column| Ok::<_, rusqlite::Error>(Timestamp::from_millis(number(row.get(column)?)));
            let node = Node { announcement, started: time(1)?, last_seen: time(2)? };
            Ok(Some(StoredNode { node, owner: row.get(3)?, lock_file: row.get(4)? }))
        })?;
        Ok(stored.into_iter().flatten().collect())
    }
}
