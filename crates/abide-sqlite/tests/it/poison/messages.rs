//! Messages that cannot be read.

use super::{damage, each_damage};
use crate::support::items::*;
use crate::support::store::*;

#[test]
fn everybody_else_is_served_and_so_is_the_rest_of_its_instance() {
    each_damage(|store, bytes| {
        store.create_idle("a");
        store.create_idle("c");
        store.enqueue(signal("a", "damaged"));
        store.enqueue(signal("a", "sound"));
        store.enqueue(start("b"));
        store.enqueue(signal("c", "sound too"));
        damage(store, "message", "item", "no = 3", bytes);
        let leases = store.lease_with(lease_instances(9));
        assert_eq!(names(&leases), ["a", "b", "c"]);
        assert_eq!(contents(&leases[0]), ["sound"]);
        assert_eq!(store.value::<i64>("SELECT attempts FROM message WHERE no = 3"), 1);
        for lease in &leases[1..] {
            store.commit(TurnBuilder::of_execution(1).under(lease));
        }
        store.commit(TurnBuilder::of_execution(1).event(2, status_said(None)).under(&leases[0]));
        assert_eq!(store.count("message"), 1, "only the damaged one is left");
    });
}

#[test]
fn an_instance_with_nothing_else_is_passed_over_by_every_call() {
    each_damage(|store, bytes| {
        store.create_idle("a");
        store.enqueue(signal("a", "damaged"));
        store.enqueue(start("b"));
        store.enqueue(start("c"));
        damage(store, "message", "item", "no = 2", bytes);
        assert_eq!(store.lease().instance, "b");
        assert_eq!(store.fetch().unwrap().0.instance, "c");
        assert!(store.try_lease().is_none());
    });
}

#[test]
fn it_is_hidden_ever_longer_and_put_aside_in_the_end_as_it_was() {
    each_damage(|store, bytes| {
        store.create_idle("a");
        store.enqueue(signal("a", "damaged"));
        damage(store, "message", "item", "no = 2", bytes);
        for (pause, attempt) in [1, 2, 4, 8, 16, 32, 60, 60, 60, 60].into_iter().zip(1..) {
            assert!(store.try_lease().is_none());
            let hidden_until = store.time("SELECT visible_at FROM message");
            assert_eq!(hidden_until, store.clock.now_ms() + pause * 1_000);
            assert_eq!(store.value::<i64>("SELECT attempts FROM message"), attempt);
            store.advance(millis(pause * 1_000 - 1));
            assert!(store.unchanged(|| store.try_lease()).is_none(), "it is not looked at before its time");
            store.advance(millis(1));
        }
        assert_eq!(store.count("dead_letter"), 0);
        assert!(store.try_lease().is_none());
        assert_eq!(store.count("message"), 0);
        assert_eq!(dead_letter(store), format!("message a 11 {}", store.clock.now_ms()));
        let kept: Vec<u8> = store.value("SELECT CAST(item AS BLOB) FROM dead_letter");
        assert_eq!(kept, bytes);
        store.enqueue(signal("a", "sound"));
        assert_eq!(contents(&store.lease()), ["sound"], "its instance goes on");
    });
}

fn dead_letter(store: &Store) -> String {
    store.value("SELECT queue || ' ' || instance || ' ' || attempts || ' ' || dead_at FROM dead_letter")
}

#[test]
fn without_a_readable_start_an_instance_is_not_made() {
    each_damage(|store, bytes| {
        store.enqueue(signal("a", "early"));
        store.enqueue(start("a"));
        damage(store, "message", "item", "no = 2", bytes);
        store.enqueue(start("b"));
        assert_eq!(store.lease().instance, "b");
        assert!(store.try_lease().is_none());
        assert_eq!(store.value::<i64>("SELECT attempts FROM message WHERE no = 1"), 0);
        store.enqueue(start("a"));
        let lease = store.lease();
        assert_eq!(contents(&lease), ["StartOrchestration", "early"]);
    });
}

#[test]
fn without_a_readable_successor_an_execution_that_continued_keeps_its_mail() {
    each_damage(|store, bytes| {
        let continued = abide_model::ExecutionStatus::ContinuedAsNew;
        store.create("a", TurnBuilder::starting(1).ending(continued, "next").mail(continue_as_new("a")));
        damage(store, "message", "item", "class = 2", bytes);
        store.enqueue(signal("a", "sound"));
        let lease = store.lease();
        assert_eq!(contents(&lease), ["sound"]);
        store.commit(TurnBuilder::of_execution(1).consuming(&lease, &[]));
        store.enqueue(continue_as_new("a"));
        assert_eq!(contents(&store.lease()), ["ContinueAsNew", "sound"]);
    });
}

#[test]
fn many_in_front_of_a_sound_one_do_not_hide_it() {
    on_both(|store| {
        store.create_idle("a");
        let damaged = 1_200;
        for _ in 0..damaged {
            store.enqueue(signal("a", "damaged"));
        }
        store.damage("UPDATE message SET item = '{'");
        store.enqueue(signal("a", "sound"));
        store.enqueue(start("b"));
        let leases = store.lease_with(lease_instances(2));
        let mut found = names(&leases);
        found.sort_unstable();
        assert_eq!(found, ["a", "b"], "in one call");
        let a = leases.iter().find(|lease| lease.instance == "a").unwrap();
        assert_eq!(contents(a), ["sound"]);
    });
}

/// A lease that runs out counts for what it handed out, and for nothing else.
#[test]
fn it_does_not_count_for_the_batch() {
    on_both(|store| {
        store.create_idle("a");
        store.enqueue(signal("a", "damaged"));
        store.enqueue(signal("a", "sound"));
        store.damage("UPDATE message SET item = '{' WHERE no = 2");
        let lease = store.lease();
        assert_eq!((attempts(&lease), lease.attempt), (vec![1], 1));
        store.advance(LEASE);
        let lease = store.lease();
        assert_eq!((attempts(&lease), lease.attempt), (vec![2], 2));
        assert_eq!(store.value::<i64>("SELECT attempts FROM message WHERE no = 2"), 2);
    });
}
