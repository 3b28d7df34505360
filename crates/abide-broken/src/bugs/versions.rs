//! Pins and capability filters.

use std::collections::HashMap;
use std::sync::Mutex;

use abide_model::SemverRange;
use abide_provider::{
    Committed, DispatcherCapabilityFilter, InstanceLease, LeaseInstances, Operation, StoreError, TurnCommit,
};
use async_trait::async_trait;
use semver::Version;

use crate::bug::{Bug, StoreAnswer};
use crate::planted::bugs;
use crate::store::Store;

bugs! {
    /// The capability filter is not looked at.
    FilterIgnored => "capability_filtering::test_fetch_with_incompatible_filter_skips_item";
    /// The filter is applied to what is leased already, and what does not pass stays leased.
    FilterAfterLock => "capability_filtering::test_fetch_filter_does_not_lock_skipped_instances";
    /// A fetch says that there is nothing if the oldest instance does not pass the filter.
    FilterEndsSearch => "capability_filtering::test_fetch_filter_skips_incompatible_selects_compatible";
    /// A fetch looks at ten instances for one that passes the filter.
    FilterLooksAtTen => "capability_filtering::test_fetch_filter_finds_compatible_behind_many_incompatible";
    /// A filter that supports nothing takes everything.
    EmptyFilterTakesAll => "capability_filtering::test_filter_with_empty_supported_versions_returns_nothing";
    /// An instance without a pin passes no filter.
    UnpinnedNeverPass => "capability_filtering::test_fetch_filter_null_pinned_version_always_compatible";
    /// Only the lower end of a range is part of it.
    LowerEndOnly => "capability_filtering::test_fetch_with_compatible_filter_returns_item";
    /// The upper end of a range is not part of it.
    UpperEndExcluded => "capability_filtering::test_fetch_filter_boundary_versions";
    /// Histories are read before the filter is applied: one that cannot be read fails the fetch of others.
    HistoryReadBeforeFilter => "capability_filtering::test_fetch_filter_applied_before_history_deserialization";
    /// Versions are compared as text.
    VersionsComparedAsText => "capability_filtering::test_fetch_filter_boundary_versions";
    /// A pin is not stored.
    PinLost => "capability_filtering::test_pinned_version_stored_via_ack_metadata";
    /// A pin is stored for the first execution only.
    PinOfFirstExecution => "capability_filtering::test_continue_as_new_execution_gets_own_pinned_version";
    /// A pin is stored by the first turn of an execution only.
    PinOfFirstTurn => "capability_filtering::test_provider_updates_pinned_version_when_told";
    /// A turn that says nothing about the pin removes it.
    PinForgotten { pins: Mutex<HashMap<String, Option<Version>>> } => "capability_filtering::test_pinned_version_immutable_across_ack_cycles";
    /// A successor without a pin has its predecessor's.
    PinInherited { pins: Mutex<HashMap<String, Version>> } => "capability_filtering::test_successor_without_pin_does_not_inherit_one";
    /// The pin of a refused ack is stored.
    RefusedAckPins { pins: Mutex<HashMap<String, Version>> } => "capability_filtering::test_refused_ack_does_not_change_the_pinned_version";
}

/// The pin of an instance's current execution.
fn pin_of(store: &Store, instance: &str) -> Option<Version> {
    store.dump().instances.remove(instance)?.pin?.parse().ok()
}

fn passes(filter: Option<&DispatcherCapabilityFilter>, pin: Option<&Version>) -> bool {
    match (filter, pin) {
        (None, _) => true,
        (Some(filter), None) => !filter.supported_duroxide_versions.is_empty(),
        (Some(filter), Some(pin)) => filter.is_compatible(pin),
    }
}

/// Leases by other pins than those that are stored.
async fn lease_by(
    store: &Store,
    request: LeaseInstances,
    pin_of: impl Fn(&str) -> Option<Version>,
) -> StoreAnswer<Vec<InstanceLease>> {
    let filter = request.capabilities.clone();
    let request = LeaseInstances { capabilities: None, ..request };
    store
        .lease_instances_but(request, |lease| !passes(filter.as_ref(), pin_of(&lease.instance).as_ref()))
        .await
}

#[async_trait]
impl Bug for FilterIgnored {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        store.lease_instances(LeaseInstances { capabilities: None, ..request }).await
    }
}

#[async_trait]
impl Bug for FilterAfterLock {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        loop {
            let unfiltered = LeaseInstances { capabilities: None, ..request.clone() };
            let leases = store.lease_instances(unfiltered).await?;
            let filter = request.capabilities.as_ref();
            let passing = |lease: &InstanceLease| passes(filter, pin_of(store, &lease.instance).as_ref());
            if leases.is_empty() || leases.iter().any(passing) {
                return Ok(leases.into_iter().filter(passing).collect());
            }
        }
    }
}

#[async_trait]
impl Bug for FilterEndsSearch {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let filter = request.capabilities.clone();
        let leases = store.lease_instances(LeaseInstances { capabilities: None, ..request }).await?;
        let mut passing = Vec::new();
        for lease in leases {
            if passes(filter.as_ref(), pin_of(store, &lease.instance).as_ref()) {
                passing.push(lease);
            } else {
                store.give_back(&lease.token).await;
            }
        }
        Ok(passing)
    }
}

#[async_trait]
impl Bug for FilterLooksAtTen {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let (limit, filter) = (request.limit, request.capabilities.clone());
        let looked_at = LeaseInstances { capabilities: None, limit: limit.max(10), ..request };
        let mut passing = Vec::new();
        for lease in store.lease_instances(looked_at).await? {
            let pin = pin_of(store, &lease.instance);
            if passing.len() < limit && passes(filter.as_ref(), pin.as_ref()) {
                passing.push(lease);
            } else {
                store.give_back(&lease.token).await;
            }
        }
        Ok(passing)
    }
}

#[async_trait]
impl Bug for EmptyFilterTakesAll {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let capabilities =
            request.capabilities.filter(|filter| !filter.supported_duroxide_versions.is_empty());
        store.lease_instances(LeaseInstances { capabilities, ..request }).await
    }
}

#[async_trait]
impl Bug for UnpinnedNeverPass {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let is_filtered = request.capabilities.is_some();
        let is_hidden = |lease: &InstanceLease| is_filtered && pin_of(store, &lease.instance).is_none();
        store.lease_instances_but(request, is_hidden).await
    }
}

#[async_trait]
impl Bug for UpperEndExcluded {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let ranges: Vec<SemverRange> = request.capabilities.iter().flat_map(ranges_of).collect();
        let is_end = |pin: Version| ranges.iter().any(|range| range.max == pin);
        let is_hidden = |lease: &InstanceLease| pin_of(store, &lease.instance).is_some_and(is_end);
        store.lease_instances_but(request, is_hidden).await
    }
}

#[async_trait]
impl Bug for LowerEndOnly {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let ranges: Vec<SemverRange> = request.capabilities.iter().flat_map(ranges_of).collect();
        let is_inside = |pin: Version| ranges.iter().all(|range| range.min != pin);
        let is_filtered = request.capabilities.is_some();
        let is_hidden =
            |lease: &InstanceLease| is_filtered && pin_of(store, &lease.instance).is_some_and(is_inside);
        store.lease_instances_but(request, is_hidden).await
    }
}

fn ranges_of(filter: &DispatcherCapabilityFilter) -> Vec<SemverRange> {
    filter.supported_duroxide_versions.clone()
}

#[async_trait]
impl Bug for HistoryReadBeforeFilter {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let all = LeaseInstances { capabilities: None, ..request.clone() };
        for lease in store.lease_instances(all).await? {
            let history = store.read_history_after(&lease, 0).await;
            store.give_back(&lease.token).await;
            if let Err(error) = history
                && request.capabilities.is_some()
            {
                return Err(StoreError::not_applied(Operation::LeaseInstances, error.message));
            }
        }
        store.lease_instances(request).await
    }
}

#[async_trait]
impl Bug for VersionsComparedAsText {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let ranges: Vec<SemverRange> = request.capabilities.iter().flat_map(ranges_of).collect();
        let is_filtered = !ranges.is_empty();
        let is_within = |pin: &str| {
            ranges.iter().any(|range| *range.min.to_string() <= *pin && *pin <= *range.max.to_string())
        };
        let is_hidden = |lease: &InstanceLease| {
            let pin = pin_of(store, &lease.instance).map(|pin| pin.to_string());
            is_filtered && pin.is_some_and(|pin| !is_within(&pin))
        };
        let unfiltered =
            LeaseInstances { capabilities: request.capabilities.clone().filter(|_| !is_filtered), ..request };
        store.lease_instances_but(unfiltered, is_hidden).await
    }
}

#[async_trait]
impl Bug for PinLost {
    async fn commit(&self, store: &Store, mut commit: TurnCommit) -> StoreAnswer<Committed> {
        commit.turn.metadata.pinned_duroxide_version = None;
        store.commit(commit).await
    }
}

#[async_trait]
impl Bug for PinOfFirstExecution {
    async fn commit(&self, store: &Store, mut commit: TurnCommit) -> StoreAnswer<Committed> {
        if commit.turn.execution_id > 1 {
            commit.turn.metadata.pinned_duroxide_version = None;
        }
        store.commit(commit).await
    }
}

#[async_trait]
impl Bug for PinOfFirstTurn {
    async fn commit(&self, store: &Store, mut commit: TurnCommit) -> StoreAnswer<Committed> {
        if store.executions_of(&commit.instance).contains(&commit.turn.execution_id) {
            commit.turn.metadata.pinned_duroxide_version = None;
        }
        store.commit(commit).await
    }
}

#[async_trait]
impl Bug for PinForgotten {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        let pin = commit.turn.metadata.pinned_duroxide_version.clone();
        let instance = commit.instance.clone();
        let committed = store.commit(commit).await?;
        self.pins.lock().unwrap().insert(instance, pin);
        Ok(committed)
    }

    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let pins = self.pins.lock().unwrap().clone();
        lease_by(store, request, |instance| pins.get(instance).cloned().flatten()).await
    }
}

#[async_trait]
impl Bug for PinInherited {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        let pin = commit.turn.metadata.pinned_duroxide_version.clone();
        let instance = commit.instance.clone();
        let committed = store.commit(commit).await?;
        self.pins.lock().unwrap().extend(pin.map(|pin| (instance, pin)));
        Ok(committed)
    }

    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let pins = self.pins.lock().unwrap().clone();
        lease_by(store, request, |instance| pins.get(instance).cloned()).await
    }
}

#[async_trait]
impl Bug for RefusedAckPins {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        let pin = commit.turn.metadata.pinned_duroxide_version.clone();
        let instance = commit.instance.clone();
        let answer = store.commit(commit).await;
        if answer.is_err() {
            self.pins.lock().unwrap().extend(pin.map(|pin| (instance, pin)));
        } else {
            self.pins.lock().unwrap().remove(&instance);
        }
        answer
    }

    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let pins = self.pins.lock().unwrap().clone();
        lease_by(store, request, |instance| pins.get(instance).cloned().or_else(|| pin_of(store, instance)))
            .await
    }
}
