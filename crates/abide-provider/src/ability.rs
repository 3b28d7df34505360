//! What a store does beyond the required methods.

/// Something that a provided method does only in stores that replace its default.
///
/// Batches are none: a lease or a commit of several at once is the same as several, so nobody needs to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Ability {
    /// A lease call that finds nothing waits in the store until there is something. Otherwise the caller polls.
    Parking,
    /// [`Authority::FinishedWork`](crate::Authority::FinishedWork) is understood.
    FusedSteps,
    /// [`Provider::stolen_leases`](crate::Provider::stolen_leases) tells of leases taken away, as a hint that is sooner than
    /// the next renewal, which decides.
    PushedCancellations,
    /// Messages that a commit did not consume stay where they are, with their attempt given back. Otherwise they are
    /// sent again.
    UnreadMailStays,
    /// A commit removes timers that nobody waits for. Otherwise they fire into nothing.
    TimerRemoval,
    /// A commit prunes in its own transaction. Otherwise pruning follows it.
    PruneWithCommit,
    /// [`Provider::enqueue_once`](crate::Provider::enqueue_once) knows a repetition from a new message.
    KeyedRequests,
    /// [`Provider::next_due`](crate::Provider::next_due) knows.
    DueTimes,
    /// A deleted instance is told from another one of the same name: a lease carries its
    /// [incarnation](crate::Position::incarnation), the store's time and the parent, and one on work the name and version.
    Incarnations,
    /// A [page](crate::ProviderAdmin::list_instances_page) says the custom status of its instances. The default cannot know it.
    StatusInPages,
    /// Deleting an instance takes along the starts of its children that are still in the queue. Otherwise they come to life
    /// without a parent.
    UnbornChildren,
    /// [`Provider::start_once`](crate::Provider::start_once) and
    /// [`Provider::enqueue_existing`](crate::Provider::enqueue_existing) look and send in one transaction.
    /// The defaults may start an instance that another caller starts at the same time, or send to one that
    /// another caller deletes.
    AtomicStarts,
    /// [`Provider::changes`](crate::Provider::changes) tells. Otherwise whoever waits for an instance polls.
    PushedChanges,
    /// Lease calls obey [`Serving`](crate::Serving): a node is granted only what it can run. Otherwise it meets what it
    /// cannot run and gives it back.
    Serving,
    /// [`Provider::block_instance`](crate::Provider::block_instance) and
    /// [`Provider::hold_work`](crate::Provider::hold_work) remember. Otherwise the work is tried again after a while.
    Blocking,
    /// [`Provider::announce_node`](crate::Provider::announce_node) and
    /// [`Provider::nodes`](crate::Provider::nodes) know the live nodes.
    Nodes,
    /// [`Provider::read_overview`](crate::Provider::read_overview) tells what an instance waits for. The
    /// default cannot know it.
    Overviews,
    /// Work keeps which [try](abide_model::StepTry) of its step it is, and a lease tells it. Otherwise each
    /// retry of an activity is a step of its own, with its own idempotency key.
    StepTries,
    /// [`Provider::revoke_work`](crate::Provider::revoke_work) takes back the activities of an execution,
    /// whatever their ids are. Otherwise a commit must name each id that may be one.
    RevokedExecutions,
}

impl Ability {
    const fn bit(self) -> u32 {
        match self {
            Self::Parking => 1 << 0,
            Self::FusedSteps => 1 << 1,
            Self::PushedCancellations => 1 << 2,
            Self::UnreadMailStays => 1 << 3,
            Self::TimerRemoval => 1 << 4,
            Self::PruneWithCommit => 1 << 5,
            Self::KeyedRequests => 1 << 6,
            Self::DueTimes => 1 << 7,
            Self::Incarnations => 1 << 8,
            Self::StatusInPages => 1 << 9,
            Self::UnbornChildren => 1 << 10,
            Self::AtomicStarts => 1 << 11,
            Self::PushedChanges => 1 << 12,
            Self::Serving => 1 << 13,
            Self::Blocking => 1 << 14,
            Self::Nodes => 1 << 15,
            Self::Overviews => 1 << 16,
            Self::StepTries => 1 << 17,
            Self::RevokedExecutions => 1 << 18,
        }
    }
}

/// A set of abilities.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Abilities(u32);

impl Abilities {
    /// Nothing beyond the defaults.
    pub const NONE: Self = Self(0);

    /// Everything there is, for the stores of this project. Others name what they have: this set grows.
    #[doc(hidden)]
    pub const ALL: Self = Self::NONE
        .with(Ability::Parking)
        .with(Ability::FusedSteps)
        .with(Ability::PushedCancellations)
        .with(Ability::UnreadMailStays)
        .with(Ability::TimerRemoval)
        .with(Ability::PruneWithCommit)
        .with(Ability::KeyedRequests)
        .with(Ability::DueTimes)
        .with(Ability::Incarnations)
        .with(Ability::StatusInPages)
        .with(Ability::UnbornChildren)
        .with(Ability::AtomicStarts)
        .with(Ability::PushedChanges)
        .with(Ability::Serving)
        .with(Ability::Blocking)
        .with(Ability::Nodes)
        .with(Ability::Overviews)
        .with(Ability::StepTries)
        .with(Ability::RevokedExecutions);

    /// The same, with one more.
    #[must_use]
    pub const fn with(self, ability: Ability) -> Self {
        Self(self.0 | ability.bit())
    }

    /// The same, without one.
    #[must_use]
    pub const fn without(self, ability: Ability) -> Self {
        Self(self.0 & !ability.bit())
    }

    /// Whether this one is among them.
    #[must_use]
    pub const fn has(self, ability: Ability) -> bool {
        self.0 & ability.bit() != 0
    }
}
