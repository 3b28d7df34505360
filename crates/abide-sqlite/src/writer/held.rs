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

/// What this process was granted, while somebody listens.
#[derive(Debug, Default)]
pub(crate) struct HeldWork {
    known: BTreeSet<WorkToken>,
}

impl HeldWork {
    /// Notes what was granted.
    pub(crate) fn granted(&mut self, tokens: &[WorkToken]) {
        self.known.extend(tokens);
    }

    /// Whether so much was granted that it is time to forget what is over.
    pub(crate) fn is_full(&self) -> bool {
        self.known.len() > MOST
    }

    /// Nobody wants to know.
    pub(crate) fn forget(&mut self) {
        self.known.clear();
    }

    /// Looks what is left; gives what is not. On an error nothing changes, and the next look finds it.
    pub(crate) fn look(&mut self, ground: &WriterGround<'_, '_>) -> Vec<StolenLease> {
        let owner = ground.shared().owner();
        let Ok(held) = ground.statements().rows(Sql::HeldWork, [owner], read) else { return Vec::new() };
        let before = std::mem::replace(&mut self.known, held.into_iter().collect());
        let gone = before.difference(&self.known);
        gone.map(|token| StolenLease { token: token.to_string(), because: StolenBecause::Unknown }).collect()
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<WorkToken> {
    let affinity = if row.get::<_, bool>(5)? { Affinity::Session } else { Affinity::Free };
    Ok(WorkToken { key: WorkKey::read(row)?, nonce: row.get(4)?, affinity })
}
