//! Listing instances page by page.

use std::collections::HashMap;
use std::sync::Mutex;

use abide_provider::{
    BlockFilter, DeleteInstanceResult, InstanceOrder, InstancePage, InstanceQuery, InstanceSummary,
    LARGEST_PAGE, PageCursor, Parentage,
};
use async_trait::async_trait;

use crate::bug::{Answer, Bug};
use crate::planted::bugs;
use crate::store::Store;

bugs! {
    /// What is created at the same time as the end of a page is skipped.
    PageSkipsTies => "listing::test_page_ties_of_creation";
    /// The last instance of a page is the first of the next.
    PageRepeatsLast => "listing::test_page_orders";
    /// Every page is the first.
    CursorIgnored => "listing::test_page_orders";
    /// The last page says that there is another.
    LastPageGoesOn => "listing::test_page_ends";
    /// A page of nothing says that there is another.
    EmptyPageGoesOn => "listing::test_page_of_an_empty_store";
    /// A cursor points to an instance: once that is deleted, the listing ends.
    CursorNeedsInstance { last: Mutex<HashMap<String, String>> } => "listing::test_page_cursor_of_a_deleted_instance";
    /// A page has any number of instances.
    AnyPageSize => "listing::test_page_size_is_refused";
    /// A page has as many instances as there are.
    LimitIgnored => "listing::test_page_default_size";
    /// A page can go on in another order.
    OrderOfCursorIgnored => "listing::test_page_cursor_of_another_order_is_refused";
    /// The order of a listing is always the same.
    OrderIgnored => "listing::test_page_orders";
    /// The listing does not look at the name.
    NameNotLookedAt => "listing::test_page_filter_by_name_and_version";
    /// The listing does not look at the version.
    VersionNotLookedAt => "listing::test_page_filter_by_name_and_version";
    /// The listing does not look at the beginning of the id.
    PrefixNotLookedAt => "listing::test_page_filter_by_prefix";
    /// The beginning of the id is looked for anywhere in it.
    PrefixAnywhere => "listing::test_page_filter_by_prefix";
    /// Underscore and percent are wildcards in the beginning of an id.
    PrefixWithWildcards => "listing::test_page_filter_by_prefix";
    /// The listing does not look at parents.
    ParentageNotLookedAt => "listing::test_page_filter_by_parentage";
    /// The listing looks at one of several statuses.
    OneStatusOnly => "listing::test_page_filter_by_status";
    /// What was created at the upper end of a time span is listed.
    CreatedBeforeIncluded => "listing::test_page_filter_by_creation";
    /// What was created at the lower end of a time span is not listed.
    CreatedFromExcluded => "listing::test_page_filter_by_creation";
    /// The listing does not show custom statuses.
    ListingWithoutStatus => "listing::test_page_says_the_custom_status";
    /// The listing does not show what blocks an instance.
    ListingWithoutBlocks => "listing::test_page_says_what_blocks";
    /// The listing does not look at blocks.
    BlockNotLookedAt => "listing::test_page_filter_by_block";
    /// The listing shows an end for an instance that goes on.
    EndOfWhatGoesOn => "listing::test_page_says_what_is_known";
    /// What is deleted while a page is made fails it.
    ListingBesideDeletion => "listing::test_page_beside_deletions";
    /// An instance whose history cannot be read fails the listing.
    ListingReadsHistories => "listing::test_page_with_an_unreadable_history";
    /// The limit is applied before the filter, so a page has less than there is.
    LimitBeforeFilter => "listing::test_page_filters_hold_on_every_page";
}

/// Lists by another query.
macro_rules! lists_by {
    ($bug:ident, $change:expr) => {
        #[async_trait]
        impl Bug for $bug {
            async fn list_instances_page(&self, store: &Store, query: InstanceQuery) -> Answer<InstancePage> {
                let change: fn(InstanceQuery) -> InstanceQuery = $change;
                store.list_instances_page(change(query)).await
            }
        }
    };
}

lists_by!(NameNotLookedAt, |mut query| {
    query.name = None;
    query
});
lists_by!(VersionNotLookedAt, |mut query| {
    query.version = None;
    query
});
lists_by!(PrefixNotLookedAt, |mut query| {
    query.id_prefix = None;
    query
});
lists_by!(ParentageNotLookedAt, |query| query.parentage(Parentage::Any));
lists_by!(BlockNotLookedAt, |mut query| {
    query.blocked = BlockFilter::Any;
    query
});
lists_by!(OneStatusOnly, |mut query| {
    query.statuses.truncate(1);
    query
});
lists_by!(CreatedBeforeIncluded, |mut query| {
    query.created_before = query.created_before.map(|time| time + 1);
    query
});
lists_by!(CreatedFromExcluded, |mut query| {
    query.created_from = query.created_from.map(|time| time + 1);
    query
});
lists_by!(CursorIgnored, |mut query| {
    query.after = None;
    query
});
lists_by!(LimitIgnored, |mut query| {
    query.limit = query.limit.filter(|limit| !(1..=LARGEST_PAGE).contains(limit)).or(Some(LARGEST_PAGE));
    query
});
lists_by!(AnyPageSize, |mut query| {
    query.limit = query.limit.map(|limit| limit.clamp(1, LARGEST_PAGE));
    query
});
lists_by!(OrderIgnored, |mut query| {
    if query.after.as_ref().is_none_or(|cursor| cursor.order() == InstanceOrder::NewestFirst) {
        query.order = InstanceOrder::NewestFirst;
    }
    query
});
lists_by!(OrderOfCursorIgnored, |mut query| {
    query.order = query.after.as_ref().map_or(query.order, PageCursor::order);
    query
});

/// All that is meant, wherever the page begins, and this page.
async fn whole_and_page(store: &Store, query: InstanceQuery) -> Answer<(Vec<InstanceSummary>, InstancePage)> {
    let mut whole = query.clone();
    (whole.after, whole.limit) = (None, Some(LARGEST_PAGE));
    let whole = store.list_instances_page(whole).await?;
    Ok((whole.instances, store.list_instances_page(query).await?))
}

#[async_trait]
impl Bug for PageSkipsTies {
    async fn list_instances_page(&self, store: &Store, query: InstanceQuery) -> Answer<InstancePage> {
        let after = query.after.clone().filter(|cursor| cursor.order() != InstanceOrder::ById);
        let mut page = store.list_instances_page(query).await?;
        if let Some(cursor) = after {
            page.instances.retain(|instance| instance.created_at != cursor.created_at());
        }
        Ok(page)
    }
}

#[async_trait]
impl Bug for PageRepeatsLast {
    async fn list_instances_page(&self, store: &Store, query: InstanceQuery) -> Answer<InstancePage> {
        let is_first = query.after.is_none();
        let (whole, mut page) = whole_and_page(store, query).await?;
        let first = page.instances.first().and_then(|first| whole.iter().position(|other| other == first));
        if let (false, Some(place @ 1..)) = (is_first, first) {
            page.instances.insert(0, whole[place - 1].clone());
        }
        Ok(page)
    }
}

#[async_trait]
impl Bug for LastPageGoesOn {
    async fn list_instances_page(&self, store: &Store, query: InstanceQuery) -> Answer<InstancePage> {
        let size = usize::try_from(query.page_size().unwrap_or(1)).unwrap_or(usize::MAX);
        let order = query.order;
        let mut page = store.list_instances_page(query).await?;
        if let (None, Some(last)) = (&page.next, page.instances.get(size - 1)) {
            page.next = Some(match order {
                InstanceOrder::ById => PageCursor::id(&last.instance_id),
                InstanceOrder::NewestFirst => PageCursor::created(order, 0, "0"),
                InstanceOrder::OldestFirst => PageCursor::created(order, u64::MAX, "0"),
            });
        }
        Ok(page)
    }
}

#[async_trait]
impl Bug for EmptyPageGoesOn {
    async fn list_instances_page(&self, store: &Store, query: InstanceQuery) -> Answer<InstancePage> {
        let page = store.list_instances_page(query).await?;
        let next = page.next.or_else(|| page.instances.is_empty().then(|| PageCursor::id("")));
        Ok(InstancePage { next, ..page })
    }
}

#[async_trait]
impl Bug for CursorNeedsInstance {
    async fn list_instances_page(&self, store: &Store, query: InstanceQuery) -> Answer<InstancePage> {
        let cursor = query.after.as_ref().map(ToString::to_string);
        let last = cursor.and_then(|cursor| self.last.lock().unwrap().get(&cursor).cloned());
        if last.is_some_and(|last| !store.is_instance(&last)) {
            return Ok(InstancePage::default());
        }
        let page = store.list_instances_page(query).await?;
        if let (Some(next), Some(last)) = (&page.next, page.instances.last()) {
            self.last.lock().unwrap().insert(next.to_string(), last.instance_id.clone());
        }
        Ok(page)
    }
}

/// Lists by something else than the beginning of the id.
async fn list_by_id(
    store: &Store,
    mut query: InstanceQuery,
    is_meant: impl Fn(&str, &str) -> bool,
) -> Answer<InstancePage> {
    let Some(prefix) = query.id_prefix.take() else { return store.list_instances_page(query).await };
    let mut page = store.list_instances_page(query).await?;
    page.instances.retain(|instance| is_meant(&prefix, &instance.instance_id));
    Ok(page)
}

#[async_trait]
impl Bug for PrefixAnywhere {
    async fn list_instances_page(&self, store: &Store, query: InstanceQuery) -> Answer<InstancePage> {
        list_by_id(store, query, |prefix, id| id.contains(prefix)).await
    }
}

#[async_trait]
impl Bug for PrefixWithWildcards {
    async fn list_instances_page(&self, store: &Store, query: InstanceQuery) -> Answer<InstancePage> {
        let is_like = |wanted: char, found: char| wanted == '_' || wanted == found;
        list_by_id(store, query, |prefix, id| {
            let beginning = prefix.split('%').next().unwrap_or_default();
            id.chars().count() >= beginning.chars().count()
                && beginning.chars().zip(id.chars()).all(|(wanted, found)| is_like(wanted, found))
        })
        .await
    }
}

#[async_trait]
impl Bug for ListingWithoutStatus {
    async fn list_instances_page(&self, store: &Store, query: InstanceQuery) -> Answer<InstancePage> {
        let mut page = store.list_instances_page(query).await?;
        page.instances.iter_mut().for_each(|instance| instance.custom_status = None);
        Ok(page)
    }
}

#[async_trait]
impl Bug for ListingWithoutBlocks {
    async fn list_instances_page(&self, store: &Store, query: InstanceQuery) -> Answer<InstancePage> {
        let mut page = store.list_instances_page(query).await?;
        page.instances.iter_mut().for_each(|instance| instance.block = None);
        Ok(page)
    }
}

#[async_trait]
impl Bug for EndOfWhatGoesOn {
    async fn list_instances_page(&self, store: &Store, query: InstanceQuery) -> Answer<InstancePage> {
        let mut page = store.list_instances_page(query).await?;
        for instance in &mut page.instances {
            instance.completed_at.get_or_insert(instance.updated_at);
        }
        Ok(page)
    }
}

#[async_trait]
impl Bug for ListingBesideDeletion {
    async fn delete_instance(
        &self,
        store: &Store,
        instance: &str,
        force: bool,
    ) -> Answer<DeleteInstanceResult> {
        let _moment = store.moment().await;
        store.delete_instance(instance, force).await
    }

    async fn list_instances_page(&self, store: &Store, query: InstanceQuery) -> Answer<InstancePage> {
        let moment = store.moment().await;
        let page = store.list_instances_page(query).await?;
        drop(moment);
        // Twice: somebody who deletes in the order of the page may be one behind all the time.
        for instance in page.instances.iter().chain(&page.instances) {
            tokio::task::yield_now().await;
            let _moment = store.moment().await;
            let _found = store.get_instance_info(&instance.instance_id).await?;
        }
        Ok(page)
    }
}

#[async_trait]
impl Bug for ListingReadsHistories {
    async fn list_instances_page(&self, store: &Store, query: InstanceQuery) -> Answer<InstancePage> {
        let page = store.list_instances_page(query).await?;
        for instance in &page.instances {
            let _history = store.read(&instance.instance_id).await?;
        }
        Ok(page)
    }
}

#[async_trait]
impl Bug for LimitBeforeFilter {
    async fn list_instances_page(&self, store: &Store, query: InstanceQuery) -> Answer<InstancePage> {
        let mut all = InstanceQuery::new().order(query.order);
        (all.limit, all.after) = (query.limit, query.after.clone());
        let mut page = store.list_instances_page(all).await?;
        page.instances.retain(|instance| query.admits(instance));
        Ok(page)
    }
}
