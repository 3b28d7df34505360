//! This store against the reference model: the same random calls to both, compared after each.
//!
//! One schema serves all sequences, and is emptied in between. How many run, and from which seed on, can be set: see
//! [`abide_differential`].

use std::sync::Arc;

use abide_differential::clock::ManualClock;
use abide_differential::{Damage, Numbers, Sight, Subject, agrees_with_the_model, crowded, directed};
use abide_model::Timestamp;
use abide_postgres::PostgresProvider;
use abide_provider::Provider;
use futures::executor::block_on;

use crate::support::database::Database;
use crate::support::dump::read_dump;
use crate::support::rules;

/// How many sequences run if nobody says otherwise: each step is many round trips to a server.
const SEQUENCES: u64 = 100;

/// A schema, emptied for every sequence.
pub(crate) struct Postgres {
    // Closed before the schema is dropped.
    provider: PostgresProvider,
    database: Database,
}

impl Postgres {
    fn new() -> Option<Self> {
        let database = Database::new()?;
        let url = database.url().to_owned();
        Some(Self::through(&url, database))
    }

    /// A store whose connections have this URL.
    pub(crate) fn through(url: &str, database: Database) -> Self {
        // A clock that stands still: the time at which leases are handed over is that of the grant.
        let clock = Arc::new(ManualClock::at(1));
        // Hardly anything is removed at once: most deletions leave rows for later.
        let builder = PostgresProvider::builder(url).schema(database.schema()).clock(clock).removal_rows(3);
        let provider = block_on(builder.open()).unwrap();
        database.stop_clock(1);
        Self { provider, database }
    }

    pub(crate) fn database(&self) -> &Database {
        &self.database
    }
}

impl Subject for Postgres {
    fn name(&self) -> &'static str {
        "PostgreSQL"
    }

    fn numbers(&self) -> Numbers {
        Numbers::WithGaps
    }

    fn open(&mut self, _seed: u64, now: Timestamp) {
        self.database.empty();
        self.database.set_clock(now.as_millis());
    }

    fn provider(&self) -> &dyn Provider {
        &self.provider
    }

    fn set_time(&mut self, now: Timestamp) {
        self.database.set_clock(now.as_millis());
    }

    fn look(&mut self, now: Timestamp) -> Result<Sight, String> {
        let now = now.as_millis();
        let contradictions = rules::contradictions(&self.database, now);
        Ok(Sight { dump: read_dump(&self.database, now), contradictions })
    }

    fn damage(&mut self, damage: &Damage) {
        match damage {
            Damage::Message { number } => {
                self.damage_message(column(*number));
            }
            Damage::Work { number } => self.damage_work(column(*number)),
            // As many events as before, so that they can be counted, and none that can be read.
            Damage::History { instance, execution_id } => {
                self.database.damage(
                    "UPDATE abide.turn SET events = '[' || rtrim(repeat('{},', length::integer), ',') || ']'
                     WHERE mailbox = (SELECT no FROM abide.instance WHERE id = $1) AND execution = $2",
                    &[instance, &column(*execution_id)],
                );
            }
        }
    }

    fn nudge(&mut self) {
        self.database.rows("SELECT abide.come_due(abide.now()), abide.work_come_due(abide.now()), abide.sessions_come_due(abide.now())", &[]);
    }
}

/// The model takes what cannot be read for everybody's at once; this store when somebody has found out.
impl Postgres {
    fn damage_message(&self, number: Option<i64>) {
        let item = "UPDATE abide.message SET item = '{', code = NULL WHERE no = $1";
        self.database.damage(item, &[&number]);
        let route = "SELECT abide.settle(ARRAY(SELECT m.mailbox FROM abide.message AS m WHERE m.no = $1), NULL, abide.now())";
        self.database.rows(route, &[&number]);
    }

    fn damage_work(&self, number: Option<i64>) {
        let item = "UPDATE abide.work SET item = '{', is_unreadable = true, route = abide.work_route_of(NULL, tag) WHERE no = $1";
        self.database.damage(item, &[&number]);
        let lanes = "SELECT abide.settle_lanes(ARRAY[w.session], ARRAY[w.route], abide.now())
                     FROM abide.work AS w WHERE w.no = $1 AND w.session IS NOT NULL";
        self.database.rows(lanes, &[&number]);
    }
}

/// A number as it would be stored; `NULL`, which is nowhere, if it cannot be.
fn column(number: u64) -> Option<i64> {
    i64::try_from(number).ok()
}

fn with_subject(test: impl FnOnce(&mut Postgres)) {
    if let Some(mut subject) = Postgres::new() {
        test(&mut subject);
    }
}

#[test]
fn both_stores_do_the_same() {
    with_subject(|subject| agrees_with_the_model(subject, SEQUENCES));
}

/// Most calls of this test have one turn, and those with one go another way.
#[test]
fn both_stores_do_the_same_where_one_is_committed_as_many_are() {
    with_subject(|subject| {
        subject.database.do_one_as_many();
        agrees_with_the_model(subject, SEQUENCES / 2);
    });
}

#[test]
fn a_batch_has_so_many_messages_and_no_more() {
    with_subject(|subject| directed::a_batch_has_so_many_messages_and_no_more(subject));
}

#[test]
fn a_cancel_comes_ahead_of_mail_that_fills_a_batch() {
    with_subject(|subject| directed::a_cancel_comes_ahead_of_mail_that_fills_a_batch(subject));
}

#[test]
fn a_batch_has_so_many_bytes_and_one_message_at_least() {
    with_subject(|subject| directed::a_batch_has_so_many_bytes_and_one_message_at_least(subject));
}

#[test]
fn a_call_for_instances_has_so_many_bytes_and_one_lease_at_least() {
    with_subject(|subject| directed::a_call_for_instances_has_so_many_bytes_and_one_lease_at_least(subject));
}

#[test]
fn a_call_for_work_has_so_many_bytes_and_one_lease_at_least() {
    with_subject(|subject| directed::a_call_for_work_has_so_many_bytes_and_one_lease_at_least(subject));
}

#[test]
fn what_nobody_can_read_is_buried_in_the_end() {
    with_subject(|subject| directed::what_nobody_can_read_is_buried_in_the_end(subject));
}

#[test]
fn a_session_is_not_claimed_for_what_nobody_can_read() {
    with_subject(|subject| directed::a_session_is_not_claimed_for_what_nobody_can_read(subject));
}

#[test]
fn the_turns_of_a_call_are_judged_one_after_the_other() {
    with_subject(|subject| directed::the_turns_of_a_call_are_judged_one_after_the_other(subject));
}

#[test]
fn a_bulk_deletion_looks_behind_those_that_must_stay() {
    with_subject(|subject| crowded::a_bulk_deletion_looks_behind_those_that_must_stay(subject));
}

#[test]
fn large_trees_are_deleted_in_several_parts() {
    with_subject(|subject| crowded::large_trees_are_deleted_in_several_parts(subject));
}

#[test]
fn orphans_and_executions_are_removed_up_to_a_thousand() {
    with_subject(|subject| crowded::orphans_and_executions_are_removed_up_to_a_thousand(subject));
}
