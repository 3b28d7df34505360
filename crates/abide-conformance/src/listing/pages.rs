//! Order, size, and where a page begins.

use std::collections::BTreeSet;

use abide_provider::{Force, DEFAULT_PAGE, InstanceOrder, InstancePage, InstanceQuery, LARGEST_PAGE, PageCursor};

use crate::ProviderFactory;
use crate::deletion::{completed_root, delete_beside_others, moment};
use crate::listing::{ORDERS, all_pages, going_on, ids, page};
use crate::support::{Subject, assert_refused, beside, start};

/// A store without instances has one page, which is empty. A start in the queue is no instance.
pub async fn test_page_of_an_empty_store<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("unborn")).await;
    for order in ORDERS {
        let page = page(&store, InstanceQuery::new().order(order)).await;
        assert_eq!(page, InstancePage::default(), "an empty page, and nothing behind it");
    }
}

/// Newest first unless something else is asked for; oldest first is the reverse; by id is by id. For every size of a page.
pub async fn test_page_orders<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for id in ["c", "a", "e", "b", "d"] {
        completed_root(&store, id).await;
        moment(&store).await;
    }
    assert_eq!(InstanceQuery::new().order, InstanceOrder::NewestFirst);
    let expected = [
        (InstanceOrder::NewestFirst, ["d", "b", "e", "a", "c"]),
        (InstanceOrder::OldestFirst, ["c", "a", "e", "b", "d"]),
        (InstanceOrder::ById, ["a", "b", "c", "d", "e"]),
    ];
    for (order, expected) in expected {
        for size in 1..=6 {
            let found = all_pages(&store, InstanceQuery::new().order(order).limit(size)).await;
            assert_eq!(found, expected, "{order:?} with {size} a page");
        }
    }
}

/// By id means by the bytes of the id: no language, no numbers, no case.
pub async fn test_page_by_id_is_byte_by_byte<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let mut names = [
        "a", "B", "b", "A", "a1", "a10", "a2", "a-1", "a_1", "a.1", "a b", "é", "e", "z", "Z", "ß", "ss",
        "名", "🔑", "a%", "aa", "~", " lead",
    ];
    for id in names {
        completed_root(&store, id).await;
    }
    names.sort_unstable();
    for size in [1, 4, 100] {
        let found = all_pages(&store, InstanceQuery::new().order(InstanceOrder::ById).limit(size)).await;
        assert_eq!(found, names, "{size} a page");
    }
}

/// Instances that were created at the same time have an order, too: pages of any size show each of them once, and the order is
/// the same for every size.
pub async fn test_page_ties_of_creation<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let mut names = Vec::new();
    for number in 0..12 {
        let id = format!("instance {}", (number * 7) % 12);
        completed_root(&store, &id).await;
        names.push(id);
    }
    names.sort();
    for order in ORDERS {
        let whole = all_pages(&store, InstanceQuery::new().order(order).limit(100)).await;
        for size in [1, 2, 3, 5, 11, 12] {
            let found = all_pages(&store, InstanceQuery::new().order(order).limit(size)).await;
            assert_eq!(found, whole, "{order:?}: the order depends on the size {size} of a page");
        }
        let mut sorted = whole;
        sorted.sort();
        assert_eq!(sorted, names, "{order:?}: an instance is missing, or comes twice");
    }
}

/// The last page says that it is the last, also if it is full.
pub async fn test_page_ends<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for id in ["a", "b", "c", "d"] {
        completed_root(&store, id).await;
    }
    for order in ORDERS {
        let query = InstanceQuery::new().order(order);
        for size in [4, 5, LARGEST_PAGE] {
            let whole = page(&store, query.clone().limit(size)).await;
            assert_eq!((whole.instances.len(), whole.next), (4, None), "{order:?}, {size} a page");
        }
        let first = page(&store, query.clone().limit(2)).await;
        let next = first.next.clone().expect("two of four leave something");
        let second = page(&store, query.clone().limit(2).after(next)).await;
        assert_eq!(
            (second.instances.len(), second.next),
            (2, None),
            "{order:?}: a full last page is the last"
        );
    }
}

/// A page has a hundred instances if nothing is said.
pub async fn test_page_default_size<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for number in 0..=DEFAULT_PAGE {
        completed_root(&store, &format!("instance {number:03}")).await;
    }
    let first = page(&store, InstanceQuery::new().order(InstanceOrder::ById)).await;
    assert_eq!(first.instances.len(), usize::try_from(DEFAULT_PAGE).expect("a small number"));
    let next = first.next.expect("there is one more");
    let second = page(&store, InstanceQuery::new().order(InstanceOrder::ById).after(next)).await;
    assert_eq!((ids(&second), &second.next), (vec!["instance 100"], &None));
}

/// What is there from the first page to the last is listed once, whatever comes and goes meanwhile; what is gone is not listed
/// any more; nothing is listed twice.
pub async fn test_page_while_instances_come_and_go<F: ProviderFactory>(factory: &F) {
    for order in ORDERS {
        let store = Subject::new(factory).await;
        let staying: BTreeSet<String> = (0..8).map(|number| format!("stays {number}")).collect();
        for (number, id) in staying.iter().enumerate() {
            completed_root(&store, id).await;
            completed_root(&store, &format!("goes {number}")).await;
            if number % 3 == 0 {
                moment(&store).await;
            }
        }
        let query = InstanceQuery::new().order(order).limit(3);
        let mut found: Vec<String> = Vec::new();
        let mut cursor: Option<PageCursor> = None;
        for round in 0..100 {
            let page = page(&store, going_on(&query, cursor.take())).await;
            found.extend(page.instances.into_iter().map(|instance| instance.instance_id));
            let Some(next) = page.next else { break };
            cursor = Some(next);
            if round < 8 {
                let gone = format!("goes {round}");
                store.admin().delete_instance(&gone, false).await.expect("it has ended");
                completed_root(&store, &format!("a newcomer {round}")).await;
                completed_root(&store, &format!("z newcomer {round}")).await;
            }
        }
        let distinct: BTreeSet<&String> = found.iter().collect();
        assert_eq!(distinct.len(), found.len(), "{order:?}: an instance is listed twice: {found:?}");
        let missing: Vec<_> = staying.iter().filter(|id| !distinct.contains(id)).collect();
        assert!(missing.is_empty(), "{order:?}: {missing:?} were skipped: {found:?}");
    }
}

/// A listing beside deletions and creations answers: it has everything that stays, and no instance twice.
pub async fn test_page_beside_deletions<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for number in 0..5 {
        completed_root(&store, &format!("stays {number}")).await;
    }
    let going: Vec<String> = (0..40).map(|number| format!("goes {number}")).collect();
    for id in &going {
        completed_root(&store, id).await;
    }
    let provider = store.shared();
    let deleting = beside(async move {
        for id in going {
            let deleted = delete_beside_others(provider.as_ref(), &id, Force::No).await;
            deleted.unwrap_or_else(|error| panic!("'{id}' has ended: {error}"));
            tokio::task::yield_now().await;
        }
    });
    for round in 0..30 {
        let order = ORDERS[round % ORDERS.len()];
        let listed = store.admin().list_instances_page(InstanceQuery::new().order(order)).await;
        let listed = match listed {
            Ok(listed) => listed,
            Err(error) if error.is_retryable() => continue,
            Err(error) => panic!("what is deleted meanwhile makes no listing fail: {error}"),
        };
        let distinct: BTreeSet<&str> = ids(&listed).into_iter().collect();
        assert_eq!(distinct.len(), listed.instances.len(), "an instance is listed twice: {:?}", ids(&listed));
        let staying = distinct.iter().filter(|id| id.starts_with("stays")).count();
        assert_eq!(staying, 5, "what stays is listed: {distinct:?}");
        tokio::task::yield_now().await;
    }
    deleting.await.expect("every deletion answers");
    assert_eq!(page(&store, InstanceQuery::new()).await.instances.len(), 5);
}

/// A cursor is a place, not an instance: the next page is the same if the last instance of the page before is gone, or has come
/// again.
pub async fn test_page_cursor_of_a_deleted_instance<F: ProviderFactory>(factory: &F) {
    for order in ORDERS {
        let store = Subject::new(factory).await;
        for id in ["a", "b", "c", "d", "e"] {
            completed_root(&store, id).await;
            moment(&store).await;
        }
        let query = InstanceQuery::new().order(order).limit(2);
        let first = page(&store, query.clone()).await;
        let next = first.next.clone().expect("two of five leave something");
        let query = query.after(next);
        let expected: Vec<String> =
            ids(&page(&store, query.clone()).await).into_iter().map(str::to_owned).collect();
        for id in ids(&first) {
            store.admin().delete_instance(id, false).await.expect("it has ended");
            let second = page(&store, query.clone()).await;
            assert_eq!(ids(&second), expected, "{order:?}: the place is where it was");
        }
    }
}

/// The text of a cursor is the cursor: it can leave the process, and whatever ids are like, the next page is the same.
pub async fn test_page_cursor_through_text<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let names = ["a.b", ".", "n1.2", "per%cent", "ключ", "sp ace", "quote'", "o0.x", "tail."];
    for id in names {
        completed_root(&store, id).await;
    }
    for order in ORDERS {
        let query = InstanceQuery::new().order(order).limit(1);
        let mut found = Vec::new();
        let mut cursor: Option<PageCursor> = None;
        for _ in names {
            let page = page(&store, going_on(&query, cursor.take())).await;
            found.extend(ids(&page).into_iter().map(str::to_owned));
            let Some(next) = page.next else { break };
            let text = next.to_string();
            let read: PageCursor =
                text.parse().unwrap_or_else(|error| panic!("{text:?} is a cursor: {error}"));
            assert_eq!(read, next, "the text {text:?} is another cursor");
            cursor = Some(read);
        }
        assert_eq!(found, all_pages(&store, InstanceQuery::new().order(order)).await, "{order:?}");
    }
    for text in ["", "n", "x1.2", "n1", "nx.2", "1.2", "n-1.2", "N1.2"] {
        assert!(text.parse::<PageCursor>().is_err(), "{text:?} is no cursor");
    }
}

/// A page of none, and one of more than a thousand, are refused.
pub async fn test_page_size_is_refused<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    completed_root(&store, "a").await;
    for size in [0, LARGEST_PAGE + 1, u32::MAX] {
        let refused = store.admin().list_instances_page(InstanceQuery::new().limit(size)).await;
        assert_refused(&refused, "a page of the wrong size");
    }
    for size in [1, LARGEST_PAGE] {
        assert_eq!(ids(&page(&store, InstanceQuery::new().limit(size)).await), ["a"]);
    }
}

/// Two pages in different orders have no common place to go on: the cursor of another order is refused.
pub async fn test_page_cursor_of_another_order_is_refused<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for id in ["a", "b", "c"] {
        completed_root(&store, id).await;
    }
    for before in ORDERS {
        let first = page(&store, InstanceQuery::new().order(before).limit(1)).await;
        let next = first.next.expect("one of three leaves something");
        for order in ORDERS {
            let query = InstanceQuery::new().order(order).limit(1).after(next.clone());
            let answer = store.admin().list_instances_page(query).await;
            if order == before {
                assert_eq!(answer.expect("the order is the same").instances.len(), 1);
            } else {
                assert_refused(&answer, "the cursor of another order");
            }
        }
    }
}
