//! Leases on activities that another process may take away.
//!
//! A turn that cancels an activity removes its row, whoever runs it. Who commits the turn tells its own listeners; another process
//! finds out by looking. So this process knows what it was granted and has not ended itself: every transaction says so
//! ([`LeaseChange`]). What of that is not there any more after somebody else has written was taken away by them.
//!
//! Nothing is noted while nobody listens; who begins to listen finds what is held by then in the database.

use std::collections::BTreeMap;

use abide_provider::{StolenBecause, StolenLease};
use rusqlite::Row;

use super::ground::WriterGround;
use crate::statements::Sql;
use crate::token::{Affinity, LeaseChange, WorkKey, WorkToken};

/// What this process holds; `None` while nobody wants to know.
#[derive(Debug, Default)]
pub(crate) struct HeldWork {
    known: Option<BTreeMap<WorkKey, WorkToken>>,
}

impl HeldWork {
    /// Somebody listens. What is known already stays; otherwise it is what the database says. On an error the next look
    /// tries again.
    pub(crate) fn begin(&mut self, ground: &WriterGround<'_, '_>) {
        if self.known.is_some() || !ground.shared().watches_leases() {
            return;
        }
        let owner = ground.shared().owner();
        let held = ground.statements().rows(Sql::HeldWork, [owner], read);
        self.known = held.ok().map(|held| held.into_iter().map(|token| (token.key, token)).collect());
    }

    /// What transactions did, in their order; `None` if one of them did not say.
    pub(crate) fn note(&mut self, changes: Option<Vec<LeaseChange>>) {
        let Some(changes) = changes else {
            self.known = None;
            return;
        };
        let Some(known) = &mut self.known else { return };
        for change in changes {
            match change {
                LeaseChange::Granted(token) => known.insert(token.key, token),
                LeaseChange::Ended(key) => known.remove(&key),
            };
        }
    }

    /// Looks what is left; gives what others took. On an error the next look goes on.
    pub(crate) fn look(&mut self, ground: &WriterGround<'_, '_>) -> Vec<StolenLease> {
        self.begin(ground);
        let Some(known) = &mut self.known else { return Vec::new() };
        let mut stolen = Vec::new();
        known.retain(|key, token| {
            let lease =
                ground.statements().row(Sql::LeaseOfWork, key.columns(), |row| row.get::<_, Option<i64>>(0));
            match lease {
                Ok(Some(lease)) => lease == Some(token.nonce), // if not, it ran out
                Ok(None) => {
                    stolen.push(StolenLease { token: token.to_string(), because: StolenBecause::Unknown });
                    false
                }
                Err(_) => true,
            }
        });
        stolen
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<WorkToken> {
    let affinity = if row.get::<_, bool>(5)? { Affinity::Session } else { Affinity::Free };
    Ok(WorkToken { key: WorkKey::read(row)?, nonce: row.get(4)?, affinity })
}
