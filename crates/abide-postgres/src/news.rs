//! What those who wait want to know once a call is committed.

use std::collections::BTreeSet;

use abide_provider::StolenLease;

use crate::encode::because_of;

/// What is new.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct News {
    /// An instance can be leased.
    pub(crate) instances: bool,
    /// When a message becomes visible, or the lease on an instance ends, by the server's clock.
    pub(crate) instances_due: Option<i64>,
    /// There is work under these tags, as columns hold them.
    pub(crate) tags: BTreeSet<String>,
    /// When hidden work becomes visible.
    pub(crate) work_due: Option<i64>,
    /// Leases on work that were taken away.
    pub(crate) stolen: Vec<StolenLease>,
    /// Instances that look different.
    pub(crate) changed: BTreeSet<String>,
}

impl News {
    pub(crate) fn of_instances(wakes: Option<bool>, due: Option<i64>) -> Self {
        Self { instances: wakes.unwrap_or(false), instances_due: due, ..Self::default() }
    }

    pub(crate) fn of_work(tags: Option<Vec<String>>, due: Option<i64>) -> Self {
        let tags = tags.unwrap_or_default().into_iter().collect();
        Self { tags, work_due: due, ..Self::default() }
    }

    /// What can be seen from outside; the rest is for those who look for something to do.
    pub(crate) fn take_seen(&mut self) -> Self {
        let (stolen, changed) = (std::mem::take(&mut self.stolen), std::mem::take(&mut self.changed));
        Self { stolen, changed, ..Self::default() }
    }

    pub(crate) fn set_tags(&mut self, tags: Option<Vec<String>>) {
        self.tags = tags.unwrap_or_default().into_iter().collect();
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
