//! What those who wait want to know once a call is committed.

use std::collections::BTreeSet;

use abide_provider::StolenLease;

use crate::encode::because_of;

/// What is new.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct News {
    /// An instance can be leased under these routes.
    pub(crate) instances: BTreeSet<i64>,
    /// When a message becomes visible, or the lease on an instance ends, by the server's clock.
    pub(crate) instances_due: Option<i64>,
    /// There is work under these routes.
    pub(crate) work: BTreeSet<i64>,
    /// When hidden work becomes visible.
    pub(crate) work_due: Option<i64>,
    /// Leases on work that were taken away.
    pub(crate) stolen: Vec<StolenLease>,
    /// Instances that look different.
    pub(crate) changed: BTreeSet<String>,
}

impl News {
    pub(crate) fn of_instances(wakes: Option<Vec<i64>>, due: Option<i64>) -> Self {
        let instances = wakes.unwrap_or_default().into_iter().collect();
        Self { instances, instances_due: due, ..Self::default() }
    }

    pub(crate) fn of_work(routes: Option<Vec<i64>>, due: Option<i64>) -> Self {
        let work = routes.unwrap_or_default().into_iter().collect();
        Self { work, work_due: due, ..Self::default() }
    }

    /// What can be seen from outside; the rest is for those who look for something to do.
    pub(crate) fn take_seen(&mut self) -> Self {
        let (stolen, changed) = (std::mem::take(&mut self.stolen), std::mem::take(&mut self.changed));
        Self { stolen, changed, ..Self::default() }
    }

    pub(crate) fn set_work(&mut self, routes: Option<Vec<i64>>) {
        self.work = routes.unwrap_or_default().into_iter().collect();
    }

    pub(crate) fn set_stolen(&mut self, tokens: &[String], because: &[String]) {
        let leases = tokens.iter().zip(because);
        let stolen =
            leases.map(|(token, because)| StolenLease { token: token.clone(), because: because_of(because) });
        self.stolen = stolen.collect();
    }

    pub(crate) fn set_changed(&mut self, instances: impl IntoIterator<Item = String>) {
        self.changed = instances.into_iter().collect();
    }
}
