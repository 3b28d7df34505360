//! `v0.1.30`: lease tokens that can be guessed.

use std::collections::BTreeSet;
use std::sync::Arc;

use abide_model::Entropy;
use abide_provider::Provider as _;
use abide_sqlite::SqliteProvider;
use futures::executor::block_on;

use crate::support::items::*;
use crate::support::store::*;

/// The secret part of a token.
fn secret(token: &str) -> u64 {
    let (_, secret) = token.rsplit_once('.').expect("a token has parts");
    u64::from_str_radix(secret, 16).expect("a token ends with a number")
}

/// Tokens of leases on the same instance and on the same activity, again and again.
fn tokens(count: usize) -> [Vec<String>; 2] {
    let store = Store::in_memory();
    store.enqueue(start("a"));
    store.enqueue_work(activity("a", 2));
    let of_instance = (0..count).map(|_| {
        let lease = store.lease();
        store.abandon(&lease.token, None).unwrap();
        lease.token
    });
    let of_work = (0..count).map(|_| {
        let work = store.lease_work();
        store.abandon_work(&work.token, None).unwrap();
        work.token
    });
    [of_instance.collect(), of_work.collect()]
}

#[test]
fn v0_1_30_every_lease_has_a_token_of_its_own_that_cannot_be_guessed() {
    for tokens in tokens(200) {
        let secrets: BTreeSet<u64> = tokens.iter().map(|token| secret(token)).collect();
        assert_eq!(secrets.len(), tokens.len(), "each lease has its own");
        let (ever_set, always_set) =
            secrets.iter().fold((0, u64::MAX), |(any, all), it| (any | it, all & it));
        assert_eq!((ever_set, always_set), (u64::MAX >> 1, 0), "63 bits of chance");
        let ascending = tokens.windows(2).filter(|pair| secret(&pair[0]) < secret(&pair[1])).count();
        assert!((50..150).contains(&ascending), "they are in no order: {ascending} of 199 pairs ascend");
    }
}

#[test]
fn v0_1_30_two_stores_draw_different_tokens() {
    let [first, _] = tokens(1);
    let [second, _] = tokens(1);
    assert_ne!(secret(&first[0]), secret(&second[0]));
}

#[test]
fn v0_1_30_guessing_the_row_is_not_enough() {
    on_both(|store| {
        store.enqueue(start("a"));
        let lease = store.lease();
        let (row, secret) = lease.token.rsplit_once('.').unwrap();
        let near = u64::from_str_radix(secret, 16).unwrap() ^ 1;
        for guess in [format!("{row}.{near:016x}"), format!("{row}.0"), format!("{row}."), row.to_owned()] {
            assert!(store.unchanged(|| store.abandon(&guess, None)).is_err(), "{guess}");
        }
        store.renew(&lease.token, LEASE).unwrap();
    });
}

/// Whoever chooses where chance comes from gets their tokens from there.
#[test]
fn v0_1_30_tokens_come_from_the_entropy_that_was_given() {
    struct Always;
    impl Entropy for Always {
        fn next_u64(&self) -> u64 {
            0x1234
        }
    }
    let builder = SqliteProvider::builder("sqlite::memory:").entropy(Arc::new(Always));
    let provider = block_on(builder.open()).unwrap();
    block_on(provider.enqueue_for_orchestrator(start("a"), None)).unwrap();
    let lease = block_on(provider.lease_instances(lease_instances(1))).unwrap().remove(0);
    assert_eq!(secret(&lease.token), 0x1234 >> 1);
}
