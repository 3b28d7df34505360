//! Work that cannot be read.

use abide_model::{ErrorDetails, PoisonMessageType, WorkItem};
use abide_provider::{LeaseWork, TagFilter};

use super::{damage, each_damage};
use crate::support::items::*;
use crate::support::store::*;

#[test]
fn every_other_worker_is_served() {
    each_damage(|store, bytes| {
        store.create_idle("a");
        for (id, session, tag) in [
            (2, None, None),
            (3, None, None),
            (4, None, Some("gpu")),
            (5, Some("s"), None),
            (6, Some("s"), None),
            (7, Some("t"), None),
        ] {
            store.enqueue_work(activity_with("a", id, session, tag));
        }
        damage(store, "work", "item", "activity IN (2, 5)", bytes);
        assert_eq!(activity_of(&store.lease_work()), 3);
        let of_tag = LeaseWork { tags: TagFilter::tags(["gpu"]), ..lease_work(1) };
        assert_eq!(activities(&store.lease_work_with(of_tag)), [4]);
        assert_eq!(activities(&store.lease_work_with(lease_work_of_sessions(9, "me", LEASE))), [6, 7]);
        let hidden =
            "SELECT count(*) FROM work WHERE lease IS NULL AND attempts = 1 AND visible_at = 1001000";
        assert_eq!(store.value::<i64>(hidden), 2, "both are counted and hidden for a second");
    });
}

/// Looking at work that nobody can read is no use of its session.
#[test]
fn it_claims_no_session() {
    each_damage(|store, bytes| {
        store.enqueue_work(activity_with("a", 2, Some("s"), None));
        damage(store, "work", "item", "activity = 2", bytes);
        assert!(store.lease_work_as("me", LEASE).is_none());
        assert_eq!(store.count("session"), 0);
        store.enqueue_work(activity_with("a", 3, Some("s"), None));
        assert_eq!(activity_of(&store.lease_work_as("you", LEASE).unwrap()), 3);
    });
}

#[test]
fn it_is_hidden_ever_longer_and_fails_in_the_end() {
    each_damage(|store, bytes| {
        store.create("a", TurnBuilder::starting(1).work(activity("a", 2)));
        damage(store, "work", "item", "activity = 2", bytes);
        for pause in [1, 2, 4, 8, 16, 32, 60, 60, 60, 60] {
            assert!(store.try_lease_work().is_none());
            let hidden_until = store.time("SELECT visible_at FROM work");
            assert_eq!(hidden_until, store.clock.now_ms() + pause * 1_000);
            store.advance(millis(pause * 1_000 - 1));
            assert!(store.unchanged(|| store.try_lease_work()).is_none());
            store.advance(millis(1));
        }
        assert!(store.try_lease().is_none());
        assert!(store.try_lease_work().is_none());
        assert_eq!((store.count("work"), store.count("dead_letter")), (0, 1));
        let kept: Vec<u8> = store.value("SELECT CAST(item AS BLOB) FROM dead_letter WHERE queue = 'work'");
        assert_eq!(kept, bytes);
        assert_eq!(store.lease().messages[0].item, poisoned("a", 2));
    });
}

fn poisoned(instance: &str, id: u64) -> WorkItem {
    let message_type = PoisonMessageType::Activity {
        instance: instance.to_owned(),
        execution_id: 1,
        activity_name: "unknown".to_owned(),
        activity_id: id,
    };
    let details = ErrorDetails::Poison {
        attempt_count: 11,
        max_attempts: 10,
        message_type,
        message: "the stored work item could not be read".to_owned(),
    };
    WorkItem::ActivityFailed { instance: instance.to_owned(), execution_id: 1, id, details }
}

/// Attempts that were made while it could still be read count too.
#[test]
fn attempts_go_on_from_where_they_were() {
    on_both(|store| {
        store.create_idle("a");
        store.enqueue_work(activity_with("a", 2, Some("s"), Some("gpu")));
        store.damage("UPDATE work SET attempts = 10, item = '{'");
        let tags = TagFilter::tags(["gpu"]);
        let request = LeaseWork { tags, ..lease_work_of_sessions(1, "me", LEASE) };
        assert!(store.lease_work_with(request).is_empty());
        assert_eq!((store.count("work"), store.count("lane")), (0, 0), "its lane is gone with it");
        assert_eq!(store.lease().messages[0].item, poisoned("a", 2));
    });
}

#[test]
fn many_in_front_of_a_sound_one_do_not_hide_it() {
    on_both(|store| {
        for id in 2..1_202 {
            let session = (id % 2 == 0).then_some("s");
            store.enqueue_work(activity_with("a", id, session, None));
        }
        store.damage("UPDATE work SET item = '{'");
        store.enqueue_work(activity("a", 2_000));
        store.enqueue_work(activity_with("a", 2_001, Some("s"), None));
        let leased = store.lease_work_with(lease_work_of_sessions(2, "me", LEASE));
        assert_eq!(activities(&leased), [2_000, 2_001], "in one call");
    });
}
