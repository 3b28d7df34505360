//! Leasing work: what is asked of the server, and what is made of its answer.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use abide_model::{ScheduledActivityIdentifier, StepTry, WorkItem};
use abide_provider::unreadable::poison;
use abide_provider::{LeaseWork, Operation, RenewSessions, StoreError, Suspicion, TagFilter, WorkLease};

use crate::PostgresProvider;
use crate::encode::{json, millis, number, owner_column};
use crate::lease::{InHand, LULL, Looked};
use crate::lease_instances::nonces;
use crate::news::News;
use crate::node::call::Values;
use crate::routes::{WorkFilter, suspects};
use crate::rows::LeasedWork;
use crate::search::{Search, Took};
use crate::shared::Shared;
use crate::statements::Sql;
use crate::terms::Terms;
use crate::text::{spell, tag_column, unspell};
use crate::token::WorkToken;

/// A search for work.
pub(crate) struct WorkSearch {
    request: LeaseWork,
    operation: Operation,
    filter: Arc<WorkFilter>,
    owner: Option<String>,
    /// Above which number the last look left work of other nodes to them.
    leaves_above: Option<i64>,
    taken: InHand<WorkLease>,
}

impl WorkSearch {
    pub(crate) fn new(
        operation: Operation,
        request: LeaseWork,
        shared: &Arc<Shared>,
    ) -> Result<Self, StoreError> {
        let (tags, serving) = (tag_columns(&request.tags), request.serving.clone());
        let filter = Arc::new(WorkFilter { tags, serving });
        let owner =
            request.session.as_ref().map(|session| owner_column(operation, &session.owner_id)).transpose()?;
        Ok(Self { request, operation, filter, owner, leaves_above: None, taken: InHand::nothing(shared) })
    }
}

impl Search for WorkSearch {
    type Lease = WorkLease;

    fn terms(&self) -> Terms {
        let (filter, owner) = (Arc::clone(&self.filter), self.owner.clone());
        Terms::Work { lease_ms: millis(self.request.lease_for), filter, owner }
    }

    fn limit(&self) -> usize {
        self.request.limit
    }

    fn wanted(&self) -> usize {
        self.request.limit.saturating_sub(self.taken.leases().len())
    }

    fn sql(&self) -> Sql {
        Sql::LeaseWork
    }

    fn most_for_us(&self, leased: usize, most: usize) -> usize {
        if self.leaves_above.is_some() { leased } else { most }
    }

    fn values(&mut self, shared: &Shared, most: usize) -> Values {
        // Who does not wait is given what there is.
        self.leaves_above = shared.leaves_above().filter(|_| self.request.wait > LULL);
        let admission = shared.routes.admitted_work(&self.filter);
        let is_suspect = |lease: &WorkLease| Suspicion::after(lease.attempt.saturating_sub(1)).is_suspect();
        let had_suspect = self.taken.leases().iter().any(is_suspect);
        let suspects = suspects(self.filter.serving.as_ref()).map(|most| if had_suspect { 0 } else { most });
        let session = self.request.session.as_ref().map(|session| millis(session.lock_timeout));
        let taken: Vec<i64> = self
            .taken
            .leases()
            .iter()
            .filter_map(|lease| WorkToken::parse(&lease.token))
            .map(|token| token.no)
            .collect();
        vec![
            Box::new(i32::try_from(most).unwrap_or(i32::MAX)),
            Box::new(millis(self.request.lease_for)),
            Box::new(nonces(shared, most)),
            Box::new(admission.taken.clone()),
            Box::new(admission.known),
            Box::new(admission.marks),
            Box::new(suspects),
            Box::new(self.owner.clone()),
            Box::new(session),
            Box::new(taken),
            Box::new(shared.prefers()),
            Box::new(self.leaves_above),
        ]
    }

    async fn take(
        &mut self,
        store: &PostgresProvider,
        mut looked: Looked,
    ) -> Result<Took<WorkLease>, StoreError> {
        if !looked.found.unjudged_work.is_empty() {
            store.shared.routes.learn_work(std::mem::take(&mut looked.found.unjudged_work));
            return Ok(Took::LookAgain);
        }
        let mut used_sessions = BTreeSet::new();
        for leased in std::mem::take(&mut looked.found.work) {
            let session = leased.session.clone();
            match readable(leased) {
                Ok(lease) => {
                    used_sessions.extend(session);
                    self.taken.push(lease);
                }
                Err(leased) => looked.found.work.push(*leased),
            }
        }
        let must_look_again = !looked.found.work.is_empty();
        while let Some(mut leased) = looked.found.work.pop() {
            // A session stays claimed only for what can be read.
            leased
                .claim
                .take_if(|_| leased.session.as_ref().is_some_and(|name| used_sessions.contains(name)));
            store.set_work_aside(self.operation, leased).await?;
        }
        if must_look_again && self.taken.leases().len() < self.request.limit {
            return Ok(Took::LookAgain);
        }
        Ok(Took::Leases(self.taken.hand_over(looked.server_time())))
    }
}

impl PostgresProvider {
    /// Extends the sessions of these owners by the first of these times, unless they were idle for the second. Leaves out
    /// those in which only work waits that the owners cannot run.
    pub(crate) async fn renew_sessions_of(
        &self,
        owners: &[&str],
        (extend_for, idle_timeout): (Duration, Duration),
        served: ServedWork,
    ) -> Result<usize, StoreError> {
        let operation = Operation::RenewSessionLock;
        let owners =
            owners.iter().map(|owner| owner_column(operation, owner)).collect::<Result<Vec<_>, _>>()?;
        let values: Values = vec![
            Box::new(owners),
            Box::new(millis(extend_for)),
            Box::new(millis(idle_timeout)),
            Box::new(served.activities),
            Box::new(served.tags),
        ];
        let row = self.urgent_row(operation, Sql::RenewSessions, values).await?;
        Ok(usize::try_from(row.get::<_, i64>(0)).unwrap_or(0))
    }

    /// Ends a lease on work that cannot be read, and hides it for a while; whoever waits for it is told in the end.
    async fn set_work_aside(&self, operation: Operation, leased: LeasedWork) -> Result<(), StoreError> {
        let token = leased.token();
        self.shared.forget_lease(token);
        let instance = leased.instance.map(unspell).unwrap_or_default();
        let (execution_id, activity_id) = (number(leased.execution), number(leased.activity));
        let attempts = u32::try_from(leased.attempts).unwrap_or(u32::MAX);
        let activity = ScheduledActivityIdentifier { instance, execution_id, activity_id };
        let told = json(operation, &poison(&activity, attempts))?;
        let values: Values = vec![
            Box::new(token.no),
            Box::new(token.mailbox),
            Box::new(token.nonce),
            Box::new(told),
            Box::new(leased.claim),
            Box::new(leased.former_owner),
            Box::new(leased.former_lock),
            Box::new(leased.former_activity),
        ];
        let row = self.one_row(operation, Sql::SetWorkAside, values).await?;
        if row.get("is_dead") {
            tracing::warn!(target: "abide::postgres", instance = %activity.instance, activity = activity_id, attempts,
                "a work item cannot be read and was moved to the dead letters");
        }
        self.shared.tell(News::of_instances(row.get("wakes"), row.get("due_at")));
        Ok(())
    }
}

/// A lease, if what was leased can be read and somebody knows whose it is.
fn readable(leased: LeasedWork) -> Result<WorkLease, Box<LeasedWork>> {
    let item = serde_json::from_str::<WorkItem>(&leased.item).ok().filter(|_| leased.instance.is_some());
    let Some(item) = item else { return Err(Box::new(leased)) };
    Ok(WorkLease {
        item,
        step: StepTry {
            first_event_id: number(leased.first_try.unwrap_or(leased.activity)),
            number: leased.try_no.map_or(1, |number| u32::try_from(number).unwrap_or(u32::MAX)),
        },
        token: leased.token().to_string(),
        orchestration_name: leased.name.map(unspell).unwrap_or_default(),
        orchestration_version: leased.version.map(unspell).unwrap_or_default(),
        attempt: u32::try_from(leased.attempts).unwrap_or(u32::MAX),
        store_time: None,
        store_time_slack: Duration::ZERO,
    })
}

/// Which work the owner of sessions can run, as columns hold names and tags; every one if there is no list.
#[derive(Debug, Default)]
pub(crate) struct ServedWork {
    pub(crate) activities: Option<Vec<String>>,
    pub(crate) tags: Option<Vec<String>>,
}

impl ServedWork {
    pub(crate) fn of(request: &RenewSessions) -> Self {
        let names = request.serving.as_ref().and_then(|serving| serving.handlers.activities.as_ref());
        let column = |name: &String| format!("={}", spell(name));
        Self {
            activities: names.map(|names| names.iter().map(column).collect()),
            tags: tag_columns(&request.tags).map(|tags| tags.into_iter().collect()),
        }
    }
}

/// The wanted tags as columns; no list for all.
fn tag_columns(filter: &TagFilter) -> Option<BTreeSet<String>> {
    let named =
        |tags: &std::collections::HashSet<String>| tags.iter().map(|tag| tag_column(Some(tag))).collect();
    match filter {
        TagFilter::None => Some(BTreeSet::new()),
        TagFilter::DefaultOnly => Some(BTreeSet::from([String::new()])),
        TagFilter::Tags(tags) => Some(named(tags)),
        TagFilter::DefaultAnd(tags) => {
            let mut all: BTreeSet<String> = named(tags);
            all.insert(String::new());
            Some(all)
        }
        TagFilter::Any => None,
    }
}
