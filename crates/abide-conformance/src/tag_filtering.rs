//! Activities with a tag go to workers that serve it.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use abide_model::limits::{MAX_TAG_NAME_BYTES, MAX_WORKER_TAGS};
use abide_model::{EventKind, WorkItem};
use abide_provider::{LeaseWork, TagFilter, WorkLease};

use crate::ProviderFactory;
use crate::suite::area;
use crate::support::{Ack, Job, Subject, activity, activity_with, assert_refused, beside, completed};

area! {
    tag_filtering;
    test_default_only_fetches_untagged;
    test_tags_fetches_only_matching;
    test_default_and_fetches_untagged_and_matching;
    test_none_filter_returns_nothing;
    test_multi_tag_filter;
    test_tag_round_trip_preservation;
    test_any_filter_fetches_everything;
    test_tag_survives_abandon_and_refetch;
    test_multi_runtime_tag_isolation;
    test_tag_preserved_through_ack_orchestration_item;

    // Beyond the frozen ones.
    test_tag_survives_lock_expiry;
    test_empty_tag_is_a_tag;
    test_tag_is_compared_exactly;
    test_filter_with_as_many_tags_as_a_worker_may_serve;
    test_filter_with_an_empty_set_of_tags;
    test_unwanted_tags_do_not_hold_up_what_is_wanted;
    test_unwanted_activities_keep_their_attempts;
    test_tag_is_shared_by_all_instances;
    test_concurrent_workers_with_different_tags_take_only_their_own;
    test_lease_work_takes_only_wanted_tags;
}

fn tagged(id: u64, tag: &str) -> WorkItem {
    activity_with("a", id, None, Some(tag))
}

/// Enqueues activities 1, 2, … with these tags; an empty one is none.
async fn post_tagged(store: &Subject<'_>, tags: &[&str]) {
    for (tag, id) in tags.iter().zip(1..) {
        let item = if tag.is_empty() { activity("a", id) } else { tagged(id, tag) };
        store.post_work(item).await;
    }
}

async fn take(store: &Subject<'_>, filter: &TagFilter) -> Option<Job> {
    store.try_fetch_work_as(None, filter).await
}

/// Takes everything that the filter lets through: it must be these, in this order, each for the first time.
async fn assert_takes(store: &Subject<'_>, filter: &TagFilter, ids: &[u64]) {
    let mut taken = Vec::new();
    // One more than there should be, because where what is fetched is not leased, there is no end of it.
    while taken.len() <= ids.len()
        && let Some(job) = take(store, filter).await
    {
        assert_eq!(job.attempt, 1, "activity {} was not taken before", job.id());
        taken.push(job.id());
    }
    assert_eq!(taken, ids, "with the filter {filter:?} exactly these are taken, oldest first");
}

/// Without tags, a worker takes what has no tag, and nothing else.
pub async fn test_default_only_fetches_untagged(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    post_tagged(&store, &["gpu", "", "cpu", "", "gpu"]).await;
    assert_takes(&store, &TagFilter::default_only(), &[2, 4]).await;
    assert_takes(&store, &TagFilter::any(), &[1, 3, 5]).await;
}

/// With a tag, a worker takes what has it, and neither what has another nor what has none.
pub async fn test_tags_fetches_only_matching(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    post_tagged(&store, &["", "gpu", "cpu", "", "gpu"]).await;
    assert_takes(&store, &TagFilter::tags(["gpu"]), &[2, 5]).await;
    assert_takes(&store, &TagFilter::tags(["disk"]), &[]).await;
    assert_takes(&store, &TagFilter::any(), &[1, 3, 4]).await;
}

/// A worker may take what has no tag together with what has its tags, in one line.
pub async fn test_default_and_fetches_untagged_and_matching(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    post_tagged(&store, &["cpu", "gpu", "", "gpu", "", "disk"]).await;
    assert_takes(&store, &TagFilter::default_and(["gpu"]), &[2, 3, 4, 5]).await;
    assert_takes(&store, &TagFilter::any(), &[1, 6]).await;
}

/// A worker that takes nothing gets nothing, tagged or not, with sessions or without.
pub async fn test_none_filter_returns_nothing(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    post_tagged(&store, &["", "gpu"]).await;
    store.post_work(activity_with("a", 3, Some("s"), None)).await;

    assert_takes(&store, &TagFilter::none(), &[]).await;
    let worker = crate::support::worker("worker", store.lock());
    let job = store.try_fetch_work_as(Some(&worker), &TagFilter::none()).await;
    assert!(job.is_none(), "the filter takes nothing, but this was fetched: {job:?}");

    assert_takes(&store, &TagFilter::any(), &[1, 2]).await;
    let job = store.try_fetch_work_as(Some(&worker), &TagFilter::any()).await;
    assert_eq!(job.map(|job| job.id()), Some(3), "nothing was leased by a filter that takes nothing");
}

/// With several tags, a worker takes what has any of them, in one line.
pub async fn test_multi_tag_filter(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    post_tagged(&store, &["disk", "gpu", "", "cpu", "gpu", "cpu", "net"]).await;
    assert_takes(&store, &TagFilter::tags(["cpu", "gpu"]), &[2, 4, 5, 6]).await;
    assert_takes(&store, &TagFilter::default_and(["net", "disk"]), &[1, 3, 7]).await;
}

/// An activity comes back with the tag it was enqueued with, or with none if it had none.
pub async fn test_tag_round_trip_preservation(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let longest = "t".repeat(MAX_TAG_NAME_BYTES);
    let items = [
        tagged(1, "gpu"),
        activity("a", 2),
        tagged(3, "région-été / 東京 'quoted' \"twice\" %_\\"),
        tagged(4, &longest),
        activity_with("a", 5, Some("s"), Some("gpu")),
    ];
    for item in &items {
        store.post_work(item.clone()).await;
    }
    let worker = crate::support::worker("worker", store.lock());
    for item in &items {
        let job = store.try_fetch_work_as(Some(&worker), &TagFilter::any()).await;
        assert_eq!(job.map(|job| job.item).as_ref(), Some(item), "the activity came back changed");
    }
}

/// A worker that takes everything gets everything, oldest first, whatever its tag.
pub async fn test_any_filter_fetches_everything(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    post_tagged(&store, &["gpu", "", "cpu", "gpu", ""]).await;
    assert_takes(&store, &TagFilter::any(), &[1, 2, 3, 4, 5]).await;
}

/// An activity that is given back keeps its tag: it comes again for those who serve it, and for nobody else.
pub async fn test_tag_survives_abandon_and_refetch(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let gpu = TagFilter::tags(["gpu"]);
    post_tagged(&store, &["gpu"]).await;
    let job = take(&store, &gpu).await.expect("its tag is wanted");
    store.abandon_work_item(&job.token, None, false).await.expect("a held lease can be given back");

    store.assert_no_work("it still has its tag").await;
    assert!(take(&store, &TagFilter::tags(["cpu"])).await.is_none(), "it still has its own tag");
    let again = take(&store, &gpu).await.expect("it was given back");
    assert_eq!(again.item, tagged(1, "gpu"), "the activity came back changed");
    assert_eq!(again.attempt, 2, "the lease that was given back counts");
}

/// An activity whose lease ran out keeps its tag too.
pub async fn test_tag_survives_lock_expiry(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let gpu = TagFilter::tags(["gpu"]);
    post_tagged(&store, &["gpu"]).await;
    let lost = take(&store, &gpu).await.expect("its tag is wanted");
    store.expire_leases().await;

    store.assert_no_work("it still has its tag").await;
    let again = take(&store, &gpu).await.expect("its lease ran out");
    assert_eq!(again.item, tagged(1, "gpu"), "the activity came back changed");
    assert_eq!(again.attempt, 2, "the lease that ran out counts");
    assert_refused(
        &store.ack_work_item(&lost.token, Some(completed("a", 1))).await,
        "the ack of a lost lease",
    );
}

/// Workers with different tags share a queue without taking each other's activities.
pub async fn test_multi_runtime_tag_isolation(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let (gpu, cpu) = (TagFilter::tags(["gpu"]), TagFilter::tags(["cpu"]));
    post_tagged(&store, &["gpu", "", "cpu"]).await;

    let third = take(&store, &cpu).await.expect("there is work for it");
    let first = take(&store, &gpu).await.expect("there is work for it");
    let plain = store.fetch_work().await;
    assert_eq!([first.id(), plain.id(), third.id()], [1, 2, 3], "each gets its own");
    for filter in [&gpu, &cpu, &TagFilter::default_only()] {
        assert!(take(&store, filter).await.is_none(), "{filter:?} has taken what is its own");
    }

    store.ack_work_item(&first.token, Some(completed("a", 1))).await.expect("the lease is valid");
    store.abandon_work_item(&third.token, None, false).await.expect("the lease is valid");
    assert!(take(&store, &gpu).await.is_none(), "what another worker gave back is not its own");
    assert_eq!(take(&store, &cpu).await.map(|job| job.id()), Some(3), "it is for those who serve its tag");
}

/// Activities that a turn enqueues keep their tag, and its event says so.
pub async fn test_tag_preserved_through_ack_orchestration_item(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let turn = Ack::first("a").scheduling(tagged(2, "gpu")).scheduling(activity("a", 3));
    let events = turn.events.clone();
    store.begin(turn).await;

    let history = store.history("a").await;
    assert_eq!(history, events, "the recorded events changed");
    let tags = history.iter().filter_map(|event| {
        if let EventKind::ActivityScheduled { tag, .. } = &event.kind { Some(tag.as_deref()) } else { None }
    });
    assert_eq!(tags.collect::<Vec<_>>(), [Some("gpu"), None], "the events say what was asked for");

    let plain = store.fetch_work().await;
    assert_eq!(plain.item, activity("a", 3), "only this one has no tag");
    store.assert_no_work("the other has a tag").await;
    let job = take(&store, &TagFilter::tags(["gpu"])).await.expect("its tag is wanted");
    assert_eq!(job.item, tagged(2, "gpu"), "the activity came back changed");
}

/// An empty tag is a tag: only those who serve it get the activity.
pub async fn test_empty_tag_is_a_tag(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    store.post_work(tagged(1, "")).await;
    store.post_work(activity("a", 2)).await;

    assert_takes(&store, &TagFilter::default_and(["gpu"]), &[2]).await;
    store.assert_no_work("an empty tag is not the same as none").await;
    store.post_work(activity("a", 3)).await;
    let job = take(&store, &TagFilter::tags([""])).await.expect("the empty tag is wanted");
    assert_eq!(job.item, tagged(1, ""), "the activity came back changed");
    assert_takes(&store, &TagFilter::tags([""]), &[]).await;
    assert_takes(&store, &TagFilter::default_only(), &[3]).await;
}

/// Tags are compared as they are: case, spaces and signs count, and nothing in them is a pattern.
pub async fn test_tag_is_compared_exactly(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let tags = ["gpu", "GPU", "gpu ", " gpu", "gp", "gpu2", "g%", "gp_", "gpu,cpu", "'gpu'", "gpü", "null"];
    post_tagged(&store, &tags).await;
    for (tag, id) in tags.iter().zip(1..) {
        assert_takes(&store, &TagFilter::tags([*tag]), &[id]).await;
    }
}

/// A filter holds as many tags as a worker may serve.
pub async fn test_filter_with_as_many_tags_as_a_worker_may_serve(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let tags: Vec<String> = (0..=MAX_WORKER_TAGS).map(|number| format!("tag {number}")).collect();
    for (tag, id) in tags.iter().zip(1..) {
        store.post_work(tagged(id, tag)).await;
    }
    let (last, served) = tags.split_last().expect("there is one more than a worker may serve");
    let ids: Vec<u64> = (1..).take(served.len()).collect();
    assert_takes(&store, &TagFilter::tags(served), &ids).await;
    let rest = (1..).nth(served.len()).expect("numbers go on");
    assert_takes(&store, &TagFilter::default_and([last]), &[rest]).await;
}

/// A filter with an empty set of tags takes nothing that has one.
pub async fn test_filter_with_an_empty_set_of_tags(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    post_tagged(&store, &["gpu", "", "cpu"]).await;
    assert_takes(&store, &TagFilter::Tags(HashSet::new()), &[]).await;
    assert_takes(&store, &TagFilter::DefaultAnd(HashSet::new()), &[2]).await;
    assert_takes(&store, &TagFilter::any(), &[1, 3]).await;
}

/// However many activities wait for tags that nobody serves, what comes behind them is found.
pub async fn test_unwanted_tags_do_not_hold_up_what_is_wanted(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    for id in 1..=200 {
        store.post_work(tagged(id, "nobody")).await;
    }
    store.post_work(activity("a", 201)).await;
    store.post_work(tagged(202, "gpu")).await;

    assert_takes(&store, &TagFilter::tags(["gpu"]), &[202]).await;
    assert_takes(&store, &TagFilter::default_only(), &[201]).await;
}

/// A fetch that does not want an activity leaves it as it is: no lease, and no attempt counted.
pub async fn test_unwanted_activities_keep_their_attempts(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    post_tagged(&store, &["gpu"]).await;
    for _ in 0..3 {
        assert_takes(&store, &TagFilter::default_only(), &[]).await;
        assert_takes(&store, &TagFilter::tags(["cpu"]), &[]).await;
        assert_takes(&store, &TagFilter::default_and(["cpu"]), &[]).await;
        assert_takes(&store, &TagFilter::none(), &[]).await;
    }
    assert_takes(&store, &TagFilter::tags(["gpu"]), &[1]).await;
}

/// A tag is the same for all instances and executions.
pub async fn test_tag_is_shared_by_all_instances(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    store.post_work(activity_with("x", 1, None, Some("gpu"))).await;
    store.post_work(activity_with("y", 2, None, Some("cpu"))).await;
    store.post_work(activity_with("z", 3, None, Some("gpu"))).await;
    assert_takes(&store, &TagFilter::tags(["gpu"]), &[1, 3]).await;
}

/// Workers that ask at the same time each take their own, and every activity is taken once.
pub async fn test_concurrent_workers_with_different_tags_take_only_their_own(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let tags = ["gpu", "cpu", "disk"];
    for id in 1..=60 {
        let tag = tags.iter().cycle().nth(usize::try_from(id).expect("it is small")).expect("it goes on");
        store.post_work(tagged(id, tag)).await;
    }
    let lease_for = store.lock() * 4;
    let workers = tags.iter().chain(&tags).map(|tag| {
        let (store, filter) = (store.shared(), TagFilter::tags([*tag]));
        let taking = beside(async move {
            let mut taken = Vec::new();
            while taken.len() <= 60
                && let Some((item, ..)) = store
                    .fetch_work_item(lease_for, Duration::ZERO, None, &filter)
                    .await
                    .expect("it is no error")
            {
                taken.push(item);
            }
            taken
        });
        (*tag, taking)
    });
    let workers: Vec<_> = workers.collect();

    let mut taken: BTreeMap<&str, BTreeSet<u64>> = BTreeMap::new();
    for (served, taking) in workers {
        for item in taking.await.expect("a fetch does not panic") {
            let WorkItem::ActivityExecute { id, tag, .. } = item else {
                panic!("this is no activity: {item:?}")
            };
            assert_eq!(
                tag.as_deref(),
                Some(served),
                "activity {id} went to a worker that does not serve its tag"
            );
            assert!(taken.entry(served).or_default().insert(id), "activity {id} was taken twice");
        }
    }
    for tag in tags {
        // Whoever lost a race may have gone away empty-handed.
        while let Some(job) = take(&store, &TagFilter::tags([tag])).await {
            assert!(taken.entry(tag).or_default().insert(job.id()), "activity {} was taken twice", job.id());
        }
        assert_eq!(taken.get(tag).map(BTreeSet::len), Some(20), "every activity with tag {tag} is taken");
    }
}

fn id_of(lease: &WorkLease) -> u64 {
    let WorkItem::ActivityExecute { id, .. } = lease.item else {
        panic!("this is no activity: {:?}", lease.item);
    };
    id
}

/// Leasing several activities at once asks for the same tags as fetching one.
pub async fn test_lease_work_takes_only_wanted_tags(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    post_tagged(&store, &["gpu", "", "cpu", "gpu", "", "disk"]).await;
    let wanted = [
        (TagFilter::none(), vec![]),
        (TagFilter::tags(["gpu", "disk"]), vec![1, 4, 6]),
        (TagFilter::default_only(), vec![2, 5]),
        (TagFilter::default_and(["gpu"]), vec![]),
        (TagFilter::any(), vec![3]),
    ];
    for (tags, ids) in wanted {
        let request = LeaseWork {
            limit: 4,
            lease_for: store.lock(),
            wait: Duration::ZERO,
            session: None,
            tags: tags.clone(), serving: None,
        };
        let mut taken = Vec::new();
        // Bounded, because where what is leased is not kept from the next call, there is no end of it.
        for _ in 0..10 {
            let leases = store.lease_work(request.clone()).await.expect("finding nothing is no error");
            taken.extend(leases.iter().map(id_of));
        }
        assert_eq!(taken, ids, "with the filter {tags:?} exactly these are taken, oldest first");
    }
}
