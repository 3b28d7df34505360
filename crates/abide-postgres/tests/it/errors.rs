//! What the server's codes mean: by SQLSTATE, never by text.
//!
//! The schema's clock is replaced by one that fails with a code: whatever looks at the time fails with it.

use std::time::Duration;

use abide_provider::{Enqueue, ErrorKind, LeaseInstances, Provider, Rejection, RequestKey, StoreError};
use abide_throwaway::Settings;
use futures::executor::block_on;

use crate::support::database::Database;
use crate::support::items::{signal, start};

/// What passes by itself: nothing was written, and the same call may succeed later.
const PASSES: &[&str] = &[
    "40001", "40P01", "55P03", "57014", "53000", "53100", "53200", "53300", "25006", "0A000", "08000",
    "08001", "08003", "08004", "08006", "08P01", "XX000", "58030", "42501", "23505",
];

/// What ends the session: nobody can say whether it happened before or after.
const IN_DOUBT: &[&str] = &["08007", "40003", "57P01", "57P02", "57P03", "57P04", "57P05"];

/// What the call itself carries and no server takes.
const INVALID: &[&str] = &["22001", "22003", "22021", "54000"];

fn fail_with(database: &Database, code: &str) {
    database.run(&format!(
        "CREATE OR REPLACE FUNCTION abide.now() RETURNS bigint LANGUAGE plpgsql VOLATILE AS
         $$ BEGIN RAISE EXCEPTION 'on purpose' USING ERRCODE = '{code}'; END $$"
    ));
}

fn heal(database: &Database) {
    database.run(
        "CREATE OR REPLACE FUNCTION abide.now() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$ BEGIN RETURN 1000; END $$",
    );
}

fn lease(store: &impl Provider) -> Result<usize, StoreError> {
    let request = LeaseInstances {
        limit: 1,
        lease_for: Duration::from_secs(9),
        wait: Duration::ZERO,
        capabilities: None,
        serving: None,
    };
    block_on(store.lease_instances(request)).map(|leases| leases.len())
}

#[test]
fn codes_are_kinds() {
    // Of its own: on the one that all share nobody deadlocks, not even on purpose.
    let Some(server) = abide_throwaway::own(&Settings::common()).unwrap() else { return };
    let database = Database::at(server.url());
    let store = database.open();
    let expected = [
        (PASSES, ErrorKind::NotApplied),
        (IN_DOUBT, ErrorKind::Unknown),
        (INVALID, ErrorKind::Rejected(Rejection::Invalid)),
    ];
    for (codes, kind) in expected {
        for code in codes {
            fail_with(&database, code);
            let error = lease(&store).unwrap_err();
            assert_eq!(error.kind, kind, "{code}: {error}");
            assert!(error.message.contains(code), "{error}");
            heal(&database);
            assert_eq!(lease(&store), Ok(0), "{code} is over, and so is its effect");
        }
    }
}

#[test]
fn one_message_that_no_server_takes_costs_the_others_of_its_batch_nothing() {
    let Some(database) = Database::new() else { return };
    let store = database.open();
    // A message of this one instance fails with a code that the call is to blame for.
    database.run(
        "CREATE FUNCTION abide.spoil() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             IF NEW.item LIKE '%cursed%' THEN RAISE EXCEPTION 'cursed' USING ERRCODE = '22000'; END IF; RETURN NEW; END $$;
         CREATE TRIGGER spoil BEFORE INSERT ON abide.message FOR EACH ROW EXECUTE FUNCTION abide.spoil()",
    );
    let send = |name: String| {
        let item = start(&name);
        let mut key = [0; 16];
        key[..name.len()].copy_from_slice(name.as_bytes());
        store.enqueue_once(Enqueue { item, delay: None, key: RequestKey(key) })
    };
    let names = (0..40).map(|number| if number == 7 { "cursed".to_owned() } else { format!("i{number}") });
    let answers = block_on(futures::future::join_all(names.map(send)));
    let failed: Vec<_> = answers.iter().enumerate().filter(|(_, answer)| answer.is_err()).collect();
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert_eq!(failed[0].1.as_ref().unwrap_err().kind, ErrorKind::Rejected(Rejection::Invalid));
    assert_eq!(database.number("SELECT count(*) FROM abide.message"), 39);
}

#[test]
fn names_that_no_index_holds_are_refused_with_their_length() {
    let Some(database) = Database::new() else { return };
    let store = database.open();
    let error = block_on(store.enqueue_for_orchestrator(signal(&"x".repeat(2_001)), None)).unwrap_err();
    assert!(!error.is_retryable() && error.message.contains("2001 bytes"), "{error}");
    block_on(store.enqueue_for_orchestrator(signal(&"x".repeat(2_000)), None)).unwrap();
    // The same in a form that no page compresses.
    let chance: String =
        (0..1_999_u32).map(|number| char::from(b'!' + u8::try_from(number * number % 89).unwrap())).collect();
    block_on(store.enqueue_for_orchestrator(signal(&chance), None)).unwrap();
}
