//! Instances page by page: filtered, in order, with what a person wants to see.

mod blocked;
mod filters;
mod pages;
mod summaries;

pub use blocked::*;
pub use filters::*;
pub use pages::*;
pub use summaries::*;

use abide_provider::{InstanceOrder, InstancePage, InstanceQuery, PageCursor};

use crate::suite::area;
use crate::support::Subject;

area! {
    listing;
    test_page_of_an_empty_store: Administration;
    test_page_orders: Administration;
    test_page_by_id_is_byte_by_byte: Administration;
    test_page_ties_of_creation: Administration;
    test_page_ends: Administration;
    test_page_default_size: Administration;
    test_page_while_instances_come_and_go: Administration;
    test_page_beside_deletions: Administration;
    test_page_cursor_of_a_deleted_instance: Administration;
    test_page_cursor_through_text: Administration;
    test_page_size_is_refused: Administration;
    test_page_cursor_of_another_order_is_refused: Administration;
    test_page_filter_by_status: Administration;
    test_page_filter_by_name_and_version: Administration;
    test_page_filter_by_prefix: Administration;
    test_page_filter_by_parentage: Administration;
    test_page_filter_by_creation: Administration;
    test_page_filters_combined: Administration;
    test_page_filters_hold_on_every_page: Administration;
    test_page_says_what_is_known: Administration;
    test_page_times_move: Administration;
    test_page_with_an_unreadable_history: Administration, Need::Hook(crate::Hook::CorruptHistory);
    test_page_says_what_blocks: Administration, Need::Ability(abide_provider::Ability::Blocking);
    test_page_filter_by_block: Administration, Need::Ability(abide_provider::Ability::Blocking);
    // The default listing is made of methods that do not tell a custom status.
    test_page_says_the_custom_status: Administration, Need::Ability(abide_provider::Ability::StatusInPages);
}

/// All orders there are.
pub(crate) const ORDERS: [InstanceOrder; 3] =
    [InstanceOrder::NewestFirst, InstanceOrder::OldestFirst, InstanceOrder::ById];

/// More pages than any test has.
const ENOUGH: usize = 500;

pub(crate) async fn page(store: &Subject<'_>, query: InstanceQuery) -> InstancePage {
    let page = store.admin().list_instances_page(query.clone()).await;
    page.unwrap_or_else(|error| panic!("{query:?} can be listed: {error}"))
}

/// The names on a page.
pub(crate) fn ids(page: &InstancePage) -> Vec<&str> {
    page.instances.iter().map(|instance| instance.instance_id.as_str()).collect()
}

/// The names of everything that the query means, page by page.
pub(crate) async fn all_pages(store: &Subject<'_>, query: InstanceQuery) -> Vec<String> {
    let size = query.page_size().expect("a page of the right size");
    let size = usize::try_from(size).expect("a small number");
    let mut found = Vec::new();
    let mut cursor: Option<PageCursor> = None;
    for _ in 0..ENOUGH {
        let page = page(store, going_on(&query, cursor.take())).await;
        assert!(page.instances.len() <= size, "a page has more than {size} instances: {:?}", ids(&page));
        if page.next.is_some() {
            assert_eq!(page.instances.len(), size, "a page that is not the last is full: {:?}", ids(&page));
        }
        found.extend(page.instances.into_iter().map(|instance| instance.instance_id));
        match page.next {
            Some(next) => cursor = Some(next),
            None => return found,
        }
    }
    panic!("the pages come to no end: {found:?}");
}

/// The same query, behind this place.
pub(crate) fn going_on(query: &InstanceQuery, cursor: Option<PageCursor>) -> InstanceQuery {
    match cursor {
        Some(cursor) => query.clone().after(cursor),
        None => query.clone(),
    }
}
