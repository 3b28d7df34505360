//! Where the orders are kept: a file beside the others, or what `--db` says.
//!
//! A store that somebody chose may hold other things. It is used only if it is empty or holds nothing but orders of this demo;
//! those of an earlier day make room for today's.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use crate::shop::orchestrations::{DELIVER, PROCESS_ORDER};
use crate::shop::{MOST_ORDERS, purchases};
use abide::providers::{Address, InstanceQuery, InstanceSummary, OpenError, Provider, ProviderError};
use abide::{ProviderRef, RuntimeOptions};

/// On a server the demo has a schema of its own.
const SCHEMA: &str = "abide_demo";

/// More than a day can leave behind: its orders, and a delivery for each.
const PAGE: u32 = 1_000;

/// What tells the worker which store was chosen. Not its command line: everybody may look at that, and there may be a password in it.
pub(crate) const VARIABLE: &str = "ABIDE_DEMO_DB";

/// The store cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("a store in memory cannot be shared with a worker process: choose a file or a server")]
    InMemory,
    #[error("{address} cannot be read: {source}")]
    Read { address: String, source: ProviderError },
    #[error(
        "{address}: it holds orchestrations that are not of this demo, and was left untouched: choose another store"
    )]
    Foreign { address: String },
}

/// Which store was chosen, as text.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Choice(String);

impl Choice {
    /// Fails if the text is no address of a store, or of one that two processes cannot share.
    pub(crate) fn new(text: &str) -> Result<Self, StoreError> {
        let address: Address = text.parse()?;
        if address.is_embedded() && (text.contains(":memory:") || text.contains("mode=memory")) {
            return Err(StoreError::InMemory);
        }
        Ok(Self(text.to_owned()))
    }

    /// What `--db` says when nobody says it.
    pub(crate) fn in_folder(folder: &Path) -> Self {
        Self(folder.join("shop.db").to_string_lossy().into_owned())
    }

    /// What the shop told its worker.
    pub(crate) fn for_worker(folder: &Path) -> Self {
        std::env::var(VARIABLE).map_or_else(|_| Self::in_folder(folder), Self)
    }

    /// The text, which may hold a password.
    pub(crate) fn secret(&self) -> &str {
        &self.0
    }

    fn address(&self) -> Result<Address, OpenError> {
        Ok(self.0.parse::<Address>()?.schema(SCHEMA))
    }

    /// For people.
    pub(crate) fn shown(&self) -> String {
        self.address().map_or_else(|error| error.to_string(), |address| address.to_string())
    }

    pub(crate) async fn open(&self) -> Result<ProviderRef, OpenError> {
        self.address()?.open().await
    }

    /// How a worker runs on this store.
    ///
    /// That a worker was killed is seen at once on a file. On a server nobody sees it: its leases run out. The default is right for a
    /// network that hiccups, and too long for people who watch.
    pub(crate) fn options(&self) -> RuntimeOptions {
        let usual = RuntimeOptions::default();
        match self.address() {
            Ok(address) if !address.is_embedded() => {
                RuntimeOptions { worker_lock_timeout: Duration::from_secs(3), ..usual }
            }
            Ok(_) | Err(_) => usual,
        }
    }

    /// Removes the orders of an earlier day, also those that no worker has seen yet.
    pub(crate) async fn clear(&self, store: &dyn Provider) -> Result<(), StoreError> {
        let unreadable = |source| StoreError::Read { address: self.shown(), source };
        let Some(admin) = store.as_management_capability() else { return Ok(()) };
        let query = InstanceQuery::new().limit(PAGE);
        let page = admin.list_instances_page(query).await.map_err(unreadable)?;
        let mut ids: BTreeSet<String> =
            purchases(MOST_ORDERS, 0).into_iter().map(|purchase| purchase.order.id).collect();
        let is_ours = |it: &InstanceSummary| match &it.parent_instance_id {
            None => it.orchestration_name == PROCESS_ORDER && ids.contains(&it.instance_id),
            Some(parent) => it.orchestration_name == DELIVER && ids.contains(parent),
        };
        if page.next.is_some() || !page.instances.iter().all(is_ours) {
            return Err(StoreError::Foreign { address: self.shown() });
        }
        ids.extend(page.instances.into_iter().map(|instance| instance.instance_id));
        let ids: Vec<String> = ids.into_iter().collect();
        let _counts = admin.delete_instances_atomic(&ids, true).await.map_err(unreadable)?;
        Ok(())
    }
}

impl std::fmt::Debug for Choice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Choice({})", self.shown())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_a_server_the_demo_has_a_schema_of_its_own_and_shows_no_password() {
        let choice = Choice::new("postgres://ada:secret@db/shop").unwrap();
        assert_eq!(choice.shown(), "PostgreSQL at db/shop (schema abide_demo)");
        assert_eq!(format!("{choice:?}"), "Choice(PostgreSQL at db/shop (schema abide_demo))");
    }

    #[test]
    fn only_where_nobody_sees_the_end_of_a_worker_are_leases_short() {
        let lasts = |text: &str| Choice::new(text).unwrap().options().worker_lock_timeout;
        assert!(lasts("postgres://db/shop") < lasts("./shop.db"));
        assert_eq!(lasts("./shop.db"), RuntimeOptions::default().worker_lock_timeout);
    }
}
