//! Leases on activities that another process may take away.
//!
//! A turn that cancels an activity removes its row, whoever runs it. Who commits the turn tells its own listeners; another process
//! finds out by looking: what it was granted, and is not there any more after somebody else has written, was taken away, or is
//! over. What is over nobody listens for, so both are told.

use std::collections::BTreeSet;

use abide_provider::{StolenBecause, StolenLease};
use rusqlite::Row;

use super::ground::WriterGround;
use crate::statements::Sql;
use crate::token::{Affinity, WorkKey, WorkToken};

/// So many grants are noted between two looks.
const MOST: usize = 4_096;

/// What this process was granted, while there are others.
#[derive(Debug, Default)]
pub(crate) struct HeldWork {
    /// `None` while there is nobody who could take anything away.
    known: Option<BTreeSet<WorkToken>>,
}

impl HeldWork {
    /// Notes what was granted.
    pub(crate) fn granted(&mut self, tokens: impl Iterator<Item = WorkToken>) {
        if let Some(known) = &mut self.known {
            known.extend(tokens);
        }
    }

    /// Whether so much was granted that it is time to forget what is over.
    pub(crate) fn is_full(&self) -> bool {
        self.known.as_ref().is_some_and(|known| known.len() > MOST)
    }

    /// There is nobody else.
    pub(crate) fn alone(&mut self) {
        self.known = None;
    }

    /// Looks what is left; gives what is not. On an error nothing changes, and the next look finds it.
    pub(crate) fn look(&mut self, ground: &WriterGround<'_, '_>) -> Vec<StolenLease> {
        let owner = ground.shared().owner();
        let Ok(held) = ground.statements().rows(Sql::HeldWork, [owner], read) else { return Vec::new() };
        let held: BTreeSet<WorkToken> = held.into_iter().collect();
        let before = self.known.replace(held);
        let (before, held) =
            (before.unwrap_or_default(), self.known.iter().flatten().collect::<BTreeSet<_>>());
        before
            .iter()
            .filter(|token| !held.contains(token))
            .map(|token| StolenLease { token: token.to_string(), because: StolenBecause::Unknown })
            .collect()
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<WorkToken> {
    let affinity = if row.get::<_, bool>(5)? { Affinity::Session } else { Affinity::Free };
    Ok(WorkToken { key: WorkKey::read(row)?, nonce: row.get(4)?, affinity })
}
