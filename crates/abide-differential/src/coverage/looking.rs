//! Situations of looking at instances and pages.

use abide_provider::{BlockFilter, InstanceOrder, InstanceQuery, PageCursor, Parentage};

use super::{Coverage, Scene};
use crate::admin::LookOp;

impl Coverage {
    pub(super) fn look(&mut self, op: &LookOp, scene: Scene<'_>) {
        let found = scene.is_done() && !["Ok([])", "Ok(None)"].contains(&scene.answer());
        match op {
            LookOp::List => {
                let created = scene.before.instances.values().filter(|instance| instance.is_instance);
                let times: Vec<u64> = created.map(|instance| instance.created).collect();
                self.note("instances were listed", found);
                self.note("instances of one moment were listed", has_ties(&times));
            }
            LookOp::ByStatus { status } => {
                self.note("instances of one status were listed", found);
                self.note("what is no status has no instances", status.is_empty() && !found);
            }
            LookOp::Executions { .. } => self.note("executions were listed", found),
            LookOp::History { .. } => self.note("administration read a history", found),
            LookOp::HistoryOf { .. } => self.note("administration read an execution", found),
            LookOp::Latest { .. } => {
                self.note("the latest execution was told", found);
                self.note("the latest execution of nobody was not told", scene.is_refused());
            }
            LookOp::Info { .. } => {
                self.note("an instance was described", found);
                self.note("nobody was not described", scene.is_refused());
            }
            LookOp::ExecutionInfo { .. } => {
                let says = |text: &str| scene.is_refused_as(text);
                self.note("an execution was described", found);
                self.note("an execution that is not there was not described", says("Execution"));
                self.note("an execution of nobody was not described", says("info: Instance"));
            }
            LookOp::Metrics => {
                let gap = |status: &Option<String>| status.as_deref() == Some("ContinuedAsNew");
                let mut instances = scene.before.instances.values();
                let is_between = instances.any(|instance| gap(&instance.status));
                self.note("everything was counted", found);
                self.note("everything was counted with one between two executions", is_between);
            }
            LookOp::QueueDepths => self.queue_depths(scene),
            LookOp::Children { .. } => self.note("children were listed", found),
            LookOp::Parent { .. } => {
                self.note("a parent was told", found);
                self.note("a root has no parent", scene.answer() == "Ok(None)");
                self.note("nobody has no parent to tell", scene.is_refused());
            }
            LookOp::Tree { .. } => {
                let size = scene.done.memory.trees.first().map_or(0, Vec::len);
                self.note("a tree was told", size > 1);
                self.note("a tree of three was told", size > 2);
            }
            LookOp::Pages { query, .. } => self.pages(query, scene),
        }
    }

    fn queue_depths(&mut self, scene: Scene<'_>) {
        let Scene { before, .. } = scene;
        let timers = before.messages.values().filter(|message| message.class == "Timer");
        let has_later = timers.clone().any(|timer| timer.visible_at.is_some());
        let is_partly_leased = before.instances.iter().any(|(name, mailbox)| {
            let of_it = before.messages.iter().filter(|(_, message)| message.mailbox == *name);
            let (held, free): (Vec<_>, Vec<_>) =
                of_it.partition(|(number, _)| mailbox.batch.contains(number));
            !held.is_empty() && !free.is_empty()
        });
        let work = || before.work.values().map(|work| work.leased_until.is_some());
        self.note("queues were measured with a timer to come", has_later);
        self.note("queues were measured with a mailbox leased in part", is_partly_leased);
        self.note(
            "queues were measured with work leased in part",
            work().any(|is| is) && work().any(|is| !is),
        );
    }

    fn pages(&mut self, query: &InstanceQuery, scene: Scene<'_>) {
        let pages = &scene.done.memory.pages;
        let found = pages.iter().any(|page| !page.instances.is_empty());
        self.note("a page was read", found);
        self.note("a page was not the last", pages.iter().any(|page| page.next.is_some()));
        self.note("several pages were read", pages.len() > 1);
        self.note("a page of some statuses was read", found && !query.statuses.is_empty());
        self.note("a page of one orchestration was read", found && query.name.is_some());
        self.note("a page of one version was read", found && query.version.is_some());
        self.note("a page of a prefix was read", found && query.id_prefix.is_some());
        self.note("a page of roots was read", found && query.parentage == Parentage::Root);
        let of_parent = matches!(query.parentage, Parentage::ChildOf(_));
        self.note("a page of children was read", found && of_parent);
        let in_time = query.created_from.is_some() || query.created_before.is_some();
        self.note("a page of a time was read", found && in_time);
        self.note("a page of blocked instances was read", found && query.blocked == BlockFilter::Blocked);
        let of_kind = matches!(query.blocked, BlockFilter::By(_));
        self.note("a page of one kind of block was read", found && of_kind);
        let blocks = pages.iter().flat_map(|page| &page.instances).filter_map(|instance| instance.block);
        self.note("a page told of a held activity", blocks.into_iter().any(|block| block.holds_activity));
        self.note("a page by id was read", found && query.order == InstanceOrder::ById);
        self.note("a page size was refused", scene.is_refused_as("a page has"));
        self.note("a cursor of another order was refused", scene.is_refused_as("the page before was"));
        self.note("nonsense was refused as a cursor", scene.is_refused_as("is not a cursor"));
        self.page_ends(query, scene);
    }

    fn page_ends(&mut self, query: &InstanceQuery, scene: Scene<'_>) {
        let pages = &scene.done.memory.pages;
        let at = |index: usize, page: usize| {
            let instances = pages.get(page).map(|page| &page.instances);
            instances.and_then(|instances| instances.get(index)).map(|instance| instance.created_at)
        };
        let splits_a_moment = (1..pages.len()).any(|page| {
            let last = pages[page - 1].instances.last().map(|instance| instance.created_at);
            last.is_some() && last == at(0, page) && query.order != InstanceOrder::ById
        });
        self.note("a page ended between instances of one moment", splits_a_moment);
        let of_nobody = query.after.as_ref().is_some_and(|cursor| is_of_nobody(cursor, scene));
        let found = pages.iter().any(|page| !page.instances.is_empty());
        self.note("a page began behind an instance that is gone", of_nobody && found);
    }
}

/// Whether what the page before ended with is not there any more.
fn is_of_nobody(cursor: &PageCursor, Scene { before, .. }: Scene<'_>) -> bool {
    match cursor.order() {
        InstanceOrder::ById => !before.instances.contains_key(cursor.tie()),
        InstanceOrder::NewestFirst | InstanceOrder::OldestFirst => {
            cursor.tie().parse::<u64>().is_ok_and(|number| {
                number > 0 && before.instances.values().all(|instance| instance.incarnation != number)
            })
        }
    }
}

fn has_ties(times: &[u64]) -> bool {
    times.iter().collect::<std::collections::BTreeSet<_>>().len() < times.len()
}
