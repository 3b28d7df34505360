//! What is put in the way: the scripts of the store's own test of flatness.

use abide_sqlite::SqliteProvider;
use futures::executor::block_on;

use crate::store::Fallible;

/// Rows that a fetch does not want.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Behind {
    pub(crate) name: &'static str,
    script: &'static str,
}

macro_rules! behind {
    ($($name:literal = $script:literal),* $(,)?) => {
        &[$(Behind {
            name: $name,
            script: include_str!(concat!("../../../abide-sqlite/tests/it/flat/behind/", $script, ".sql")),
        }),*]
    };
}

pub(crate) const BEHIND: &[Behind] = behind! {
    "one hot leased instance" = "hot_instance",
    "one tag nobody serves" = "tag_nobody_serves",
    "many tags nobody serves" = "tags_nobody_serves",
    "one foreign session" = "foreign_session",
    "many foreign sessions" = "foreign_sessions",
    "incompatible pins" = "incompatible_pins",
    "future timers of one instance" = "timers_of_one",
    "future timers of many instances" = "timers_of_many",
    "idle instances" = "idle_instances",
    "mail for nobody" = "mail_for_nobody",
    "work that others are at" = "leased_work",
};

impl Behind {
    /// Puts so many rows in the way, in one transaction.
    pub(crate) fn put(self, provider: &SqliteProvider, rows: usize) -> Fallible<()> {
        let fill = format!(
            "BEGIN;
             CREATE TEMP TABLE numbers (i INTEGER PRIMARY KEY);
             WITH RECURSIVE counted (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM counted WHERE i < {rows})
             INSERT INTO temp.numbers SELECT i FROM counted;
             {};
             DROP TABLE temp.numbers;
             COMMIT;",
            self.script
        );
        let filled = block_on(provider.inspect(move |connection| connection.execute_batch(&fill)));
        filled.ok_or("the store was closed")??;
        Ok(block_on(provider.checkpoint())?)
    }
}
