//! How PostgreSQL runs each statement, those inside functions too: by an index, whatever the size of a table.
//!
//! A server of our own explains everything that the store's sessions run into its log, while random calls are made (those of the
//! differential test). Generic plans are used, and tables are small: what is planned here is what is planned for ever. The server has no
//! statistics of them at first, and then those of tables with a few rows.

use std::collections::BTreeSet;

use abide_differential::agrees_with_the_model;
use abide_postgres::PostgresProvider;
use abide_throwaway::Settings;

use crate::differential::Postgres;
use crate::support::database::Database;

/// Statements that go through a whole table, and why they may.
const MAY_SCAN: &[(&str, &str)] = &[
    ("list_newest", "who asks for it wants every instance; pages are for those who do not"),
    ("count_executions", "counts by going through what is counted"),
    ("count_instances", "counts by going through what is counted"),
    ("count_running", "the same, along an index of those that run"),
    ("queue_depths", "counts by going through what is counted"),
    ("count_blocked", "counts by going through what is counted, along an index of that"),
    ("list_nodes", "lists every node"),
];

/// Statements that random calls do not send.
const NOT_SENT: &[(&str, &str)] = &[
    ("delete_unborn", "sent for trees that are too large for random calls; `removal.rs` has one"),
    ("alone", "only when the connection for notices is there, and now and then by a node that is not alone"),
    ("lost_work", "only after the connection for notices was lost"),
    ("table_sizes", "for people"),
    ("tell", "random calls are made by one node, which tells nobody"),
];

/// What each queue is served by, and cancellation: words of a statement, wherever it is, and the index that it must look into.
const SERVED_BY: &[(&str, &str)] = &[
    ("b.route = wanted.route AND b.ready IS NOT NULL", "mailbox_ready"),
    ("WHERE b.ready IS NOT NULL AND b.route > v_route", "mailbox_ready"),
    ("w.route = wanted.route AND w.place IS NOT NULL AND w.session IS NULL", "work_ready"),
    ("w.place IS NOT NULL AND w.session IS NULL AND w.route > p_after", "work_ready"),
    ("l.head IS NOT NULL AND l.holder IS NULL AND l.route > p_after", "lane_free"),
    ("w.session = l.session AND w.route = l.route AND w.place IS NOT NULL", "work_in_session"),
    // Routes are found by their texts, and blocks by their mailboxes.
    ("r.orchestration = p_orchestration AND r.version = p_version", "route_key"),
    ("r.activity = v_activity AND r.tag = p_tag", "work_route_key"),
    ("AS k WHERE k.mailbox = p_mailbox.no", "block_pkey"),
    ("WHERE w.due_at <= p_now", "work_due"),
    // What waits in a session that is renewed, and whether its owner can run it.
    ("FROM unnest(v_held) AS h (name)", "work_in_session"),
    ("FROM unnest(v_held) AS h (name)", "work_route_pkey"),
    // Cancelled activities are found by what they are called, and taken back by their number.
    ("FROM unnest(p_revoked) AS r", "work_of_execution"),
    ("USING (SELECT DISTINCT ON (no) no, why FROM unnest(p_work, p_because)", "work_pkey"),
];

/// How many sequences of random calls it takes to send every statement.
const SEQUENCES: u64 = 40;

/// One statement of the log, and how it was run.
#[derive(Debug)]
struct Explained {
    text: String,
    plan: Vec<String>,
}

impl Explained {
    /// Whether it goes through a table, or through a whole index and not only to its first rows.
    fn scans(&self) -> bool {
        // The steps above the one that is looked at, and how far each is indented.
        let mut above: Vec<(usize, &str)> = Vec::new();
        for (place, step) in self.plan.iter().enumerate().filter(|(_, line)| is_step(line)) {
            let depth = step.len() - step.trim_start().len();
            above.retain(|(other, _)| *other < depth);
            let takes_first_rows = above.iter().any(|(_, other)| other.contains("Limit "));
            let details = self.plan[place + 1..].iter().take_while(|line| !is_step(line));
            let has_condition = details.into_iter().any(|line| line.contains("Index Cond:"));
            let walks_index = step.contains("Index") && step.contains("Scan ");
            if step.contains("Seq Scan on") || walks_index && !takes_first_rows && !has_condition {
                return true;
            }
            above.push((depth, step));
        }
        false
    }

    /// Whether it is this statement, and looks into this index.
    fn looks_into(&self, text: &str, index: &str) -> bool {
        self.text.contains(text) && self.plan.iter().any(|step| step.contains(index))
    }
}

/// Whether a line of a plan begins a step, and does not say more about one.
fn is_step(line: &str) -> bool {
    line.contains("(cost=")
}

/// The log of a server, as statements with their plans.
fn explained(log: &str) -> Vec<Explained> {
    let mut found: Vec<Explained> = Vec::new();
    for line in log.lines() {
        let Some(continued) = line.strip_prefix('\t') else {
            if line.contains(" plan:") {
                found.push(Explained { text: String::new(), plan: Vec::new() });
            }
            continue;
        };
        let Some(current) = found.last_mut() else { continue };
        if continued.contains("(cost=") || !current.plan.is_empty() {
            current.plan.push(continued.to_owned());
        } else {
            current.text.push_str(continued.trim_start_matches("Query Text: "));
            current.text.push('\n');
        }
    }
    found
}

#[test]
fn no_statement_goes_through_a_table_without_a_reason() {
    let Some(server) = abide_throwaway::own(&Settings::common()).unwrap() else { return };
    let explain = "-c session_preload_libraries=auto_explain -c auto_explain.log_min_duration=0 \
                   -c auto_explain.log_nested_statements=on -c log_min_messages=log";
    let explaining = format!("{}?options={}", server.url(), explain.replace(' ', "%20").replace('=', "%3D"));
    let database = Database::at(server.url());
    let schema = database.schema().to_owned();
    let mut subject = Postgres::through(&explaining, database);
    agrees_with_the_model(&mut subject, SEQUENCES);
    let without_statistics = server.log().unwrap().len();
    subject.database().analyse();
    agrees_with_the_model(&mut subject, SEQUENCES);
    drop(subject);

    let statements = PostgresProvider::statement_texts(&schema).unwrap();
    let text = server.log().unwrap();
    assert!(!text.contains(" 40P01 "), "there was a deadlock");
    let halves = [explained(&text[..without_statistics]), explained(&text[without_statistics..])];
    let log: Vec<&Explained> = halves.iter().flatten().collect();
    let name_of = |explained: &Explained| {
        let known = statements.iter().find(|(_, text)| text.trim() == explained.text.trim());
        known.map_or_else(|| explained.text.trim().to_owned(), |(name, _)| (*name).to_owned())
    };
    let may_scan = |name: &str| MAY_SCAN.iter().any(|(known, _)| *known == name);
    let scanning: BTreeSet<String> = log.iter().filter(|one| one.scans()).map(|one| name_of(one)).collect();
    let forbidden: Vec<_> =
        scanning.iter().filter(|name| !may_scan(name) && !is_housekeeping(name)).collect();
    assert!(forbidden.is_empty(), "these go through a table: {forbidden:#?}");

    for (text, index) in SERVED_BY {
        let is_there = log.iter().any(|one| one.looks_into(text, index));
        assert!(is_there, "nobody looked into {index} for: {text}");
        let others: Vec<_> =
            log.iter().filter(|one| one.text.contains(text) && !one.looks_into(text, index)).collect();
        assert!(others.is_empty(), "{index} was passed by: {others:#?}");
    }

    let not_sent = |name: &str| NOT_SENT.iter().any(|(known, _)| *known == name);
    for half in &halves {
        let sent: BTreeSet<String> = half.iter().map(name_of).collect();
        let missing: Vec<_> =
            statements.iter().filter(|(name, _)| !sent.contains(*name) && !not_sent(name)).collect();
        assert!(missing.is_empty(), "these were never sent: {missing:#?}");
    }
    for (name, reason) in MAY_SCAN {
        assert!(scanning.contains(*name), "{name} needs no exception any more ({reason})");
    }
}

/// The statement inside `forget_sessions` that looks at every session; the clock of the test; and the migration of what version 1 has stored.
fn is_housekeeping(text: &str) -> bool {
    let migrates = ["-- Safe in production:", "-- The routes of what version 1 has stored"];
    text.contains("(s.locked_until > v_now) IS NOT TRUE")
        || text.contains("test_clock")
        || migrates.iter().any(|file| text.starts_with(file))
}
