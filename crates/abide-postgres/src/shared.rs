//! What the callers of a store share with the thread that talks to the server.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use abide_provider::{ChangeListeners, StolenBecause, StolenLease, WaitingMailWarnings};

use crate::encode::column;
use crate::hatch::Hatch;
use crate::horizon::Horizon;
use crate::news::News;
use crate::node::desk::Desk;
use crate::node::outbox::{Outbox, Pace};
use crate::node::removal::Removals;
use crate::node::sessions::Sessions;
use crate::options::Settings;
use crate::routes::Routes;
use crate::schema::Schema;
use crate::statements::{Sql, Texts};
use crate::stolen::Listeners;
use crate::token::WorkToken;
use crate::waiters::{Kind, Lane, Waiters};

/// What the callers of a store share with the thread that talks to the server.
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    pub(crate) schema: Schema,
    pub(crate) texts: Texts,
    pub(crate) desk: Desk,
    pub(crate) routes: Routes,
    pub(crate) waiters: Waiters,
    pub(crate) hatch: Hatch,
    pub(crate) horizon: Horizon,
    pub(crate) outbox: Outbox,
    pub(crate) stolen: Listeners,
    pub(crate) changes: ChangeListeners,
    pub(crate) counts: Counts,
    pub(crate) warnings: WaitingMailWarnings,
    pub(crate) sessions: Sessions,
    pub(crate) removals: Removals,
    pub(crate) is_unreachable: AtomicBool,
    /// The server has canceled a read whose answer may have any size.
    pub(crate) has_slow_answers: AtomicBool,
    /// What an acknowledged commit survives, as the server said when the store was opened.
    pub(crate) durability: OnceLock<String>,
    /// A number for this node, by which its work is known.
    pub(crate) node: i64,
    /// What other nodes tell is heard, and what they told before was found.
    pub(crate) is_listening: AtomicBool,
    /// Leases on work that were granted here and not yet ended here.
    held: Mutex<BTreeSet<WorkToken>>,
    /// What the nodes of this store said of themselves, by their ids, as columns hold it.
    announced: Mutex<BTreeMap<String, String>>,
}

/// Looks that were before this say nothing about the slots of this node.
const RECENT: Duration = Duration::from_millis(100);

impl Shared {
    pub(crate) fn new(settings: Settings, schema: Schema) -> Self {
        let connections = settings.connections;
        Self {
            texts: Texts::of(&schema),
            node: column(settings.entropy.next_u64() >> 1),
            settings,
            schema,
            desk: Desk::default(),
            routes: Routes::default(),
            waiters: Waiters::default(),
            hatch: Hatch::default(),
            horizon: Horizon::default(),
            outbox: Outbox::default(),
            stolen: Listeners::default(),
            changes: ChangeListeners::default(),
            counts: Counts::default(),
            warnings: WaitingMailWarnings::default(),
            sessions: Sessions::new(connections),
            removals: Removals::default(),
            is_unreachable: AtomicBool::new(false),
            has_slow_answers: AtomicBool::new(false),
            durability: OnceLock::new(),
            is_listening: AtomicBool::new(false),
            held: Mutex::default(),
            announced: Mutex::default(),
        }
    }

    /// Whose work comes first for somebody who asks for some: that of this node, unless there is no other.
    pub(crate) fn prefers(&self) -> Option<i64> {
        (!self.outbox.is_silent()).then_some(self.node)
    }

    /// Above which number work of other nodes is left to them for a while, if it is.
    pub(crate) fn leaves_above(&self) -> Option<i64> {
        self.prefers().and_then(|_| self.horizon.young_above(self.settings.clock.monotonic()))
    }

    /// Tells everybody here, and leaves for the other nodes what concerns them. Called when what is told of is committed.
    pub(crate) fn tell(&self, mut news: News) {
        for stolen in &news.stolen {
            if let Some(token) = WorkToken::parse(&stolen.token) {
                self.forget_lease(token);
            }
        }
        self.stolen.tell(news.stolen.clone());
        for instance in &news.changed {
            self.changes.tell(instance);
        }
        // What somebody here will take, the others need not look for.
        if !news.instances.is_empty() {
            let wanted_here = self.waiters.call_for(Lane::Instances(&news.instances), &self.routes);
            news.instances.retain(|route| !wanted_here.contains(route));
        }
        let mut spare = News::default();
        if !news.work.is_empty() {
            let wanted_here = self.waiters.call_for(Lane::Work(&news.work), &self.routes);
            news.work.retain(|route| !wanted_here.contains(route));
            let since = self.settings.clock.monotonic().saturating_sub(RECENT);
            if self.waiters.leave_some(&news.work, since, &self.routes) {
                spare.work = std::mem::take(&mut news.work);
            }
        }
        self.announce_due(&news);
        self.outbox.put(news);
        self.outbox.put_with(spare, Pace::InTime);
    }

    /// Takes in what another node tells.
    pub(crate) fn hear(&self, news: News) {
        for stolen in &news.stolen {
            if let Some(token) = WorkToken::parse(&stolen.token) {
                self.forget_lease(token);
            }
        }
        self.stolen.tell(news.stolen);
        if !news.instances.is_empty() {
            self.waiters.hint(Lane::Instances(&news.instances), &self.routes);
        }
        if !news.work.is_empty() {
            self.waiters.hint(Lane::Work(&news.work), &self.routes);
        }
        self.announce_due(&News { stolen: Vec::new(), ..news });
    }

    fn announce_due(&self, news: &News) {
        if let Some(due) = news.instances_due {
            self.waiters.announce(Kind::Instances, due);
        }
        if let Some(due) = news.work_due {
            self.waiters.announce(Kind::Work, due);
        }
    }

    pub(crate) fn announced(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        lock(&self.announced)
    }

    pub(crate) fn note_lease(&self, token: WorkToken) {
        lock(&self.held).insert(token);
    }

    pub(crate) fn forget_lease(&self, token: WorkToken) {
        lock(&self.held).remove(&token);
    }

    pub(crate) fn count_leases(&self) -> usize {
        lock(&self.held).len()
    }

    pub(crate) fn held_leases(&self) -> Vec<WorkToken> {
        lock(&self.held).iter().copied().collect()
    }

    /// These leases are not there any more, and nobody said why.
    pub(crate) fn lose_leases(&self, lost: impl Iterator<Item = WorkToken>) {
        let stolen = lost.map(|token| {
            self.forget_lease(token);
            StolenLease { token: token.to_string(), because: StolenBecause::Unknown }
        });
        let stolen: Vec<StolenLease> = stolen.collect();
        self.stolen.tell(stolen);
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("place", &self.settings.target.place)
            .field("schema", &self.schema)
            .finish_non_exhaustive()
    }
}

/// Costs that can be counted.
#[derive(Debug, Default)]
pub(crate) struct Counts(Mutex<BTreeMap<Sql, u64>>);

impl Counts {
    pub(crate) fn statement(&self, sql: Sql) {
        *lock(&self.0).entry(sql).or_default() += 1;
    }

    pub(crate) fn statements(&self) -> Vec<(&'static str, u64)> {
        lock(&self.0).iter().map(|(sql, count)| (sql.name(), *count)).collect()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing can panic while it is held, and what it guards cannot be half changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
