//! What can be seen of an instance without leasing it, to be compared before and after.

use std::collections::BTreeMap;

use abide_model::{Event, SystemStats};

use crate::support::Subject;

/// The executions that are looked at: more than the tests that compare make.
const EXECUTIONS: std::ops::RangeInclusive<u64> = 1..=3;

/// Everything that can be read of an instance.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Observed {
    current: Vec<Event>,
    executions: Vec<Vec<Event>>,
    custom_status: Option<(Option<String>, u64)>,
    values: BTreeMap<String, String>,
    stats: Option<SystemStats>,
    record: Option<Record>,
}

/// What an administrative side says about it. No times: a clock may run on.
#[derive(Debug, Clone, PartialEq)]
struct Record {
    name: String,
    version: String,
    execution: u64,
    status: String,
    output: Option<String>,
    parent: Option<String>,
}

impl Observed {
    pub(crate) async fn of(store: &Subject<'_>, instance: &str) -> Self {
        let mut executions = Vec::new();
        for execution_id in EXECUTIONS {
            let history = store.read_with_execution(instance, execution_id).await;
            executions.push(history.unwrap_or_else(|error| panic!("history of '{instance}': {error}")));
        }
        let values = store.get_kv_all_values(instance).await;
        Self {
            current: store.history(instance).await,
            executions,
            custom_status: store.get_custom_status(instance, 0).await.expect("a custom status can be read"),
            values: values.expect("values can be read").into_iter().collect(),
            stats: store.get_instance_stats(instance).await.expect("stats can be read"),
            record: record(store, instance).await,
        }
    }
}

async fn record(store: &Subject<'_>, instance: &str) -> Option<Record> {
    let info = store.as_management_capability()?.get_instance_info(instance).await.ok()?;
    Some(Record {
        name: info.orchestration_name,
        version: info.orchestration_version,
        execution: info.current_execution_id,
        status: info.status,
        output: info.output,
        parent: info.parent_instance_id,
    })
}
