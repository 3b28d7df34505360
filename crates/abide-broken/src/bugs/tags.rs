//! Tags: which activities a worker gets.

use std::collections::HashSet;
use std::time::Duration;

use abide_model::WorkItem;
use abide_provider::{LeaseWork, TagFilter, WorkLease};
use async_trait::async_trait;

use crate::bug::{Answer, Bug, StoreAnswer};
use crate::planted::bugs;
use crate::store::Store;

bugs! {
    /// A worker that takes any tag gets no activities without one.
    AnyExcludesUntagged => "tag_filtering::test_any_filter_fetches_everything";
    /// A worker that takes no tags gets activities without one.
    NoneTakesUntagged => "tag_filtering::test_none_filter_returns_nothing";
    /// A worker that takes activities without a tag gets all.
    DefaultTakesTagged => "tag_filtering::test_default_only_fetches_untagged";
    /// A worker that takes some tags gets activities without one too.
    TagsTakeUntagged => "tag_filtering::test_tags_fetches_only_matching";
    /// A worker that takes some tags and activities without one gets only the tagged.
    DefaultAndLosesUntagged => "tag_filtering::test_default_and_fetches_untagged_and_matching";
    /// Only one of several tags is looked at.
    OneTagOnly => "tag_filtering::test_multi_tag_filter";
    /// An empty tag is none.
    EmptyTagIsNone => "tag_filtering::test_empty_tag_is_a_tag";
    /// Tags are compared without regard to case.
    TagsIgnoreCase => "tag_filtering::test_tag_is_compared_exactly";
    /// A fetch says that there is nothing if the oldest activity has another tag.
    TagEndsSearch => "tag_filtering::test_unwanted_tags_do_not_hold_up_what_is_wanted";
    /// An activity loses its tag when it is given back.
    AbandonLosesTag => "tag_filtering::test_tag_survives_abandon_and_refetch";
    /// An activity that is skipped for its tag counts an attempt.
    SkippedWorkCounts => "tag_filtering::test_unwanted_activities_keep_their_attempts";
    /// The tag does not come with the activity.
    TagNotHandedOut => "tag_filtering::test_tag_round_trip_preservation";
}

fn tag_of(item: &WorkItem) -> Option<&str> {
    let WorkItem::ActivityExecute { tag, .. } = item else { return None };
    tag.as_deref()
}

#[async_trait]
impl Bug for AnyExcludesUntagged {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let is_any = request.tags == TagFilter::Any;
        store.lease_work_but(request, |lease| is_any && tag_of(&lease.item).is_none()).await
    }
}

/// Leases with another filter instead of the one asked for.
async fn lease_with(
    store: &Store,
    mut request: LeaseWork,
    change: impl Fn(&mut TagFilter),
) -> StoreAnswer<Vec<WorkLease>> {
    change(&mut request.tags);
    store.lease_work(request).await
}

#[async_trait]
impl Bug for NoneTakesUntagged {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        lease_with(store, request, |filter| {
            if *filter == TagFilter::None {
                *filter = TagFilter::DefaultOnly;
            }
        })
        .await
    }
}

#[async_trait]
impl Bug for DefaultTakesTagged {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        lease_with(store, request, |filter| {
            if *filter == TagFilter::DefaultOnly {
                *filter = TagFilter::Any;
            }
        })
        .await
    }
}

#[async_trait]
impl Bug for TagsTakeUntagged {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        lease_with(store, request, |filter| {
            if let TagFilter::Tags(tags) = filter {
                *filter = TagFilter::DefaultAnd(std::mem::take(tags));
            }
        })
        .await
    }
}

#[async_trait]
impl Bug for DefaultAndLosesUntagged {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        lease_with(store, request, |filter| {
            if let TagFilter::DefaultAnd(tags) = filter {
                *filter = TagFilter::Tags(std::mem::take(tags));
            }
        })
        .await
    }
}

#[async_trait]
impl Bug for OneTagOnly {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        lease_with(store, request, |filter| {
            if let TagFilter::Tags(tags) | TagFilter::DefaultAnd(tags) = filter {
                *tags = std::mem::take(tags).into_iter().min().into_iter().collect();
            }
        })
        .await
    }
}

#[async_trait]
impl Bug for EmptyTagIsNone {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let wanted = request.tags.clone();
        let is_hidden =
            |lease: &WorkLease| !wanted.matches(tag_of(&lease.item).filter(|tag| !tag.is_empty()));
        store.lease_work_but(LeaseWork { tags: TagFilter::Any, ..request }, is_hidden).await
    }
}

#[async_trait]
impl Bug for TagsIgnoreCase {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let wanted = request.tags.clone();
        let lower = |tags: &HashSet<String>| tags.iter().map(|tag| tag.to_lowercase()).collect();
        let wanted = match &wanted {
            TagFilter::Tags(tags) => TagFilter::Tags(lower(tags)),
            TagFilter::DefaultAnd(tags) => TagFilter::DefaultAnd(lower(tags)),
            TagFilter::DefaultOnly | TagFilter::Any | TagFilter::None => wanted,
        };
        let is_hidden =
            |lease: &WorkLease| !wanted.matches(tag_of(&lease.item).map(str::to_lowercase).as_deref());
        store.lease_work_but(LeaseWork { tags: TagFilter::Any, ..request }, is_hidden).await
    }
}

#[async_trait]
impl Bug for TagEndsSearch {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let work = store.dump().work;
        let oldest = work.values().find(|work| work.leased_until.is_none() && work.visible_at.is_none());
        if oldest.is_some_and(|work| !request.tags.matches(work.tag.as_deref())) {
            return Ok(Vec::new());
        }
        store.lease_work(request).await
    }
}

#[async_trait]
impl Bug for AbandonLosesTag {
    async fn abandon_work_item(
        &self,
        store: &Store,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Answer<()> {
        if let Some(mut item) = store.job(token).map(|job| job.lease.item)
            && let WorkItem::ActivityExecute { tag: tag @ Some(_), .. } = &mut item
        {
            *tag = None;
            store.ack_work_item(token, None).await?;
            return store.enqueue_for_worker(item).await;
        }
        store.abandon_work_item(token, delay, ignore_attempt).await
    }
}

#[async_trait]
impl Bug for SkippedWorkCounts {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let (limit, tags) = (request.limit, request.tags.clone());
        let all = LeaseWork { tags: TagFilter::Any, limit: 100, ..request };
        let mut wanted = Vec::new();
        for lease in store.lease_work(all).await? {
            if !tags.matches(tag_of(&lease.item)) {
                store.abandon_work_item(&lease.token, None, false).await.expect("the lease is held");
            } else if wanted.len() < limit {
                wanted.push(lease);
            } else {
                store.give_work_back(&lease.token).await;
            }
        }
        Ok(wanted)
    }
}

#[async_trait]
impl Bug for TagNotHandedOut {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let mut leases = store.lease_work(request).await?;
        for lease in &mut leases {
            if let WorkItem::ActivityExecute { tag, .. } = &mut lease.item {
                *tag = None;
            }
        }
        Ok(leases)
    }
}
