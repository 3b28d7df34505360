//! Tags: which activities a worker takes.

use abide_provider::{LeaseWork, TagFilter};

use crate::support::items::*;
use crate::support::store::*;

/// Activities 2 to 9: four tags, and no tag; half of them of a session.
fn with_tagged_work(store: &Store) {
    let tags = [None, Some("gpu"), Some("eu"), Some("")];
    for (id, tag) in (2..).zip(tags) {
        store.enqueue_work(activity_with("a", id, None, tag));
    }
    for (id, tag) in (6..).zip(tags) {
        store.enqueue_work(activity_with("a", id, Some("s"), tag));
    }
}

#[test]
fn a_filter_takes_what_it_names_in_the_order_of_numbers() {
    let cases: [(TagFilter, &[u64], &[u64]); 8] = [
        (TagFilter::DefaultOnly, &[2], &[2, 6]),
        (TagFilter::tags(["gpu"]), &[3], &[3, 7]),
        (TagFilter::tags(["gpu", "eu", "none has this"]), &[3, 4], &[3, 4, 7, 8]),
        (TagFilter::tags([""]), &[5], &[5, 9]),
        (TagFilter::default_and(["eu"]), &[2, 4], &[2, 4, 6, 8]),
        (TagFilter::Any, &[2, 3, 4, 5], &[2, 3, 4, 5, 6, 7, 8, 9]),
        (TagFilter::None, &[], &[]),
        (TagFilter::tags(["g", "gp", "gpu2", "GPU", "=gpu"]), &[], &[]),
    ];
    for (tags, plain, all) in cases {
        on_both(|store| {
            with_tagged_work(store);
            let request = LeaseWork { tags: tags.clone(), ..lease_work_of_sessions(9, "me", LEASE) };
            assert_eq!(activities(&store.lease_work_with(request)), all, "{tags:?} with sessions");
        });
        on_both(|store| {
            with_tagged_work(store);
            let request = LeaseWork { tags: tags.clone(), ..lease_work(9) };
            assert_eq!(activities(&store.lease_work_with(request)), plain, "{tags:?}");
        });
    }
}

#[test]
fn several_tags_are_one_queue_for_who_serves_them() {
    on_both(|store| {
        for (id, tag) in (2..8).zip([Some("b"), None, Some("a"), Some("b"), None, Some("a")]) {
            store.enqueue_work(activity_with("a", id, None, tag));
        }
        let request = |limit| LeaseWork { tags: TagFilter::default_and(["a", "b"]), ..lease_work(limit) };
        assert_eq!(activities(&store.lease_work_with(request(2))), [2, 3]);
        assert_eq!(activities(&store.lease_work_with(request(1))), [4]);
        assert_eq!(activities(&store.lease_work_with(request(9))), [5, 6, 7]);
    });
}
