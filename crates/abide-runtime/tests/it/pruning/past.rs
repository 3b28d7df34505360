//! What is left of an instance, on any store, and whether anything is half done.

use std::collections::BTreeMap;

use abide_memory::Dump;
use abide_model::{Event, EventKind};
use abide_provider::ProviderAdmin;

/// The executions of an instance that are left.
#[derive(Debug)]
pub(super) struct Past {
    current: u64,
    executions: BTreeMap<u64, Vec<Event>>,
}

impl Past {
    /// What is in memory; `None` if there is no such instance.
    pub(super) fn in_memory(dump: &Dump, instance: &str) -> Option<Self> {
        let current = dump.instances.get(instance).filter(|it| it.is_instance)?.execution;
        let of_it = dump.executions.iter().filter(|((name, _), _)| name == instance);
        let event = |json: &String| serde_json::from_str(json).unwrap();
        let executions =
            of_it.map(|((_, id), execution)| (*id, execution.events.iter().map(event).collect())).collect();
        Some(Self { current, executions })
    }

    /// What a store has, if nobody writes meanwhile.
    pub(super) async fn read(admin: &dyn ProviderAdmin, instance: &str) -> Option<Self> {
        let mut executions = BTreeMap::new();
        for id in admin.list_executions(instance).await.unwrap() {
            let events = admin.read_history_with_execution_id(instance, id).await.unwrap();
            executions.insert(id, events);
        }
        let current = admin.latest_execution_id(instance).await.ok()?;
        Some(Self { current, executions })
    }

    pub(super) fn ids(&self) -> Vec<u64> {
        self.executions.keys().copied().collect()
    }

    /// The history of the current execution.
    pub(super) fn current(&self) -> &[Event] {
        self.executions.get(&self.current).map_or(&[], Vec::as_slice)
    }

    pub(super) fn has(&self, like: impl Fn(&EventKind) -> bool) -> bool {
        self.current().iter().any(|event| like(&event.kind))
    }

    /// Whether the current execution has ended for good.
    pub(super) fn has_ended(&self) -> bool {
        self.current().last().is_some_and(Event::is_terminal) && !self.is_between()
    }

    /// Whether it has continued as new, and its successor has not begun.
    fn is_between(&self) -> bool {
        is_continued(self.current())
    }

    /// Everything that must hold at any moment: nothing is missing but what came before the rest, and no history has a gap.
    pub(super) fn whole(&self) -> Result<(), String> {
        let ids = self.ids();
        let first = ids.first().copied().unwrap_or(0);
        require(ids == (first..=self.current).collect::<Vec<_>>(), || {
            format!("the current one is {}, and there are {ids:?}", self.current)
        })?;
        for (id, events) in &self.executions {
            let numbers = events.iter().map(Event::event_id);
            let is_complete = !events.is_empty() && numbers.eq(1..=u64::try_from(events.len()).unwrap());
            require(is_complete, || format!("execution {id} has {events:#?}"))?;
            require(*id == self.current || is_continued(events), || format!("execution {id} has not ended"))?;
        }
        Ok(())
    }

    /// What is there if every execution that continued has kept so many that ended, itself included.
    pub(super) fn expected(&self, keep: u64) -> Vec<u64> {
        let last_ended = if self.is_between() { self.current } else { self.current - 1 };
        let first = (last_ended + 1).saturating_sub(keep).max(1);
        (first..=self.current).collect()
    }
}

fn is_continued(events: &[Event]) -> bool {
    let last = events.last().map(|event| &event.kind);
    matches!(last, Some(EventKind::OrchestrationContinuedAsNew { .. }))
}

/// An error if it is not so.
#[expect(clippy::fn_params_excessive_bools, reason = "this is what an assertion takes")]
pub(super) fn require(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}
