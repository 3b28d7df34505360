//! The dump shows what the clock has decided, whether or not the store has got round to it.

use abide_memory::Dump;

use crate::support::*;

/// Leasing and giving back without an attempt makes the store do everything that time has decided.
fn settled(store: &Store) -> Dump {
    if let Some(lease) = store.try_lease() {
        store.abandon_ignoring_attempt(&lease.token).unwrap();
    }
    store.dump()
}

#[test]
fn a_lease_that_ran_out_is_none() {
    let store = Store::new();
    store.enqueue(start("a"));
    store.lease();
    let leased = store.dump();
    assert_eq!(leased.instances["a"].leased_until, Some(BEGIN + 30_000));
    assert_eq!(leased.instances["a"].batch, [1]);
    store.advance(LEASE);
    let dump = store.dump();
    assert_eq!((dump.instances["a"].leased_until, dump.instances["a"].batch.len()), (None, 0));
    assert_eq!(dump.messages[&1].attempts, 1);
    assert_eq!(dump, settled(&store));
}

#[test]
fn what_has_become_visible_is_visible() {
    let store = Store::with_instance("a");
    store.enqueue(timer("a", 2, BEGIN + 1_000));
    store.advance(seconds(1));
    let dump = store.dump();
    assert_eq!(dump.messages[&2].visible_at, None);
    assert_eq!(dump, settled(&store));
}

#[test]
fn work_whose_lease_ran_out_is_neither_leased_nor_hidden() {
    let store = Store::new();
    store.enqueue_work(activity("a", 2));
    let work = store.lease_work();
    store.abandon_work(&work.token, Some(seconds(1))).unwrap();
    store.advance(seconds(1));
    store.lease_work();
    store.advance(LEASE);
    let dump = store.dump().work[&1].clone();
    assert_eq!((dump.visible_at, dump.leased_until, dump.attempts), (None, None, 2));
}

#[test]
fn a_name_that_holds_nothing_is_not_there() {
    let store = Store::new();
    store.enqueue_work(activity("a", 2));
    let work = store.lease_work();
    assert_eq!(store.dump().instances.len(), 1);
    store.finish(&work.token, None).unwrap();
    assert_eq!(store.dump(), Dump::default());
}

#[test]
fn a_snapshot_is_another_ones_state() {
    let store = Store::new();
    store.enqueue(start("a"));
    let before = store.state();
    assert_eq!(before, before.clone());
    store.enqueue(start("b"));
    assert_ne!(before, store.state());
    let dump = Dump::of(&before, abide_model::Timestamp::from_millis(BEGIN));
    assert_eq!(dump.messages.len(), 1);
    assert!(!format!("{dump:?}").contains("lock_"));
}
