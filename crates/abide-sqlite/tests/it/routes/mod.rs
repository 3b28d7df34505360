//! Who leases what: routes in the tables of this store, beyond what the suite for every store tries.

mod costs;
mod nodes;
mod parked;
mod version_one;

use std::sync::Arc;

use abide_provider::{Handlers, LeaseInstances, LeaseWork, ServedVersions, Serving};

use crate::support::store::*;

/// A node that runs these orchestrations in version 1.0.0, and these activities.
fn node(build: &str, orchestrations: &[&str], activities: &[&str]) -> Serving {
    let served = ServedVersions { exact: ["1.0.0".parse().unwrap()].into(), resolves_unversioned: true };
    let handlers = Handlers {
        build: build.to_owned(),
        orchestrations: Some(
            orchestrations.iter().map(|name| ((*name).to_owned(), served.clone())).collect(),
        ),
        activities: Some(activities.iter().map(|name| (*name).to_owned()).collect()),
        pins: None,
    };
    Serving { handlers: Arc::new(handlers), takes_suspect: true }
}

fn instances_of(serving: &Serving) -> LeaseInstances {
    LeaseInstances { serving: Some(serving.clone()), ..lease_instances(9) }
}

fn work_of(serving: &Serving) -> LeaseWork {
    LeaseWork { serving: Some(serving.clone()), ..lease_work_of_sessions(9, "me", LEASE) }
}
