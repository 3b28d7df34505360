//! What tests must not have done to the server they shared.
//!
//! Whatever a test does on purpose, it does to a server of its own; so a deadlock here is a mistake of the code, even if a retry
//! hid it, and so is a transaction that nobody went on with.

use std::collections::BTreeMap;
use std::process::Command;

use abide_throwaway::Server;
use anyhow::{Context, bail, ensure};

/// Codes that no test may cause, and what each means.
const FORBIDDEN: [(&str, &str); 2] = [
    ("40P01", "transactions deadlocked"),
    ("25P03", "a transaction was left open until it was ended by force"),
];

/// Statements that must find nothing, and what it means if they do.
const LOOKS: [(&str, &str); 2] = [
    ("select datname, deadlocks from pg_stat_database where deadlocks > 0", "transactions deadlocked"),
    // Whoever has just been killed may still be listed, for a moment.
    (
        "select pg_sleep(2) from pg_stat_activity where state like 'idle in transaction%' limit 1; \
         select datname, application_name, state, query from pg_stat_activity \
         where state like 'idle in transaction%'",
        "all tests ended, and a connection is in the middle of a transaction",
    ),
];

pub(crate) fn nothing_wrong(server: &Server) -> anyhow::Result<()> {
    let log = server.log().context("cannot read the log of PostgreSQL")?;
    let codes = codes_in(&log);
    for (code, meaning) in FORBIDDEN {
        if let Some(line) = codes.get(code) {
            bail!("on the PostgreSQL server of the tests, {meaning}: {line}");
        }
    }
    for (statement, meaning) in LOOKS {
        let found = query(&server.url(), statement)?;
        ensure!(found.is_empty(), "on the PostgreSQL server of the tests, {meaning}: {found}");
    }
    Ok(())
}

/// The code of every error in a log, each with the first line that has it. Lines begin as `Settings` wants it: the time, the
/// process in brackets, the database, the code.
fn codes_in(log: &str) -> BTreeMap<&str, &str> {
    let mut codes = BTreeMap::new();
    // A tab continues the message of the line before.
    for line in log.lines().filter(|line| !line.starts_with('\t')) {
        let code = line.split_once("] ").and_then(|(_, rest)| rest.split(' ').nth(1));
        if let Some(code) = code {
            codes.entry(code).or_insert(line);
        }
    }
    codes
}

fn query(url: &str, statement: &str) -> anyhow::Result<String> {
    let mut psql = Command::new("psql");
    psql.args(["--no-psqlrc", "-qAt", "-v", "ON_ERROR_STOP=1", "-c", statement, url]);
    let answer = psql.output().context("cannot run psql")?;
    ensure!(
        answer.status.success(),
        "PostgreSQL does not answer any more: {}",
        String::from_utf8_lossy(&answer.stderr)
    );
    Ok(String::from_utf8_lossy(&answer.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::Stdio;
    use std::thread;

    use abide_throwaway::{Settings, own};

    use super::*;

    #[test]
    fn codes_are_read_where_they_stand_and_nowhere_else() {
        let log = "\
2024-05-01 10:00:00.000 UTC [7] LOG:  starting PostgreSQL 15
2024-05-01 10:00:01.000 UTC [8] orders 40P01 ERROR:  deadlock detected
2024-05-01 10:00:01.000 UTC [8] orders 40P01 DETAIL:  Process 8 waits
2024-05-01 10:00:02.000 UTC [9] orders 22012 STATEMENT:  select ' 25P03 ' or
\t[] x 25P03 y";
        let codes = codes_in(log);
        assert!(codes["40P01"].ends_with("deadlock detected"), "the first line of several: {codes:?}");
        assert!(codes.contains_key("22012"), "{codes:?}");
        assert!(!codes.contains_key("25P03"), "{codes:?}");
    }

    /// Takes one lock, waits until somebody has the other, and wants it too.
    fn crosswise(url: &str, first: u8, second: u8) -> bool {
        let statement = format!(
            "do $$ begin perform pg_advisory_lock({first}); \
             while not exists (select from pg_locks where locktype = 'advisory' and objid = {second}) \
             loop perform pg_sleep(0.01); end loop; \
             perform pg_advisory_lock({second}); end $$"
        );
        query(url, &statement).is_ok()
    }

    #[test]
    fn a_deadlock_is_found_even_if_its_database_is_gone() {
        let Some(server) = own(&Settings::common()).unwrap() else { return };
        let url = server.url();
        query(&url, "create database orders").unwrap();
        nothing_wrong(&server).unwrap();

        let (server_url, _) = url.rsplit_once('/').unwrap();
        let orders = format!("{server_url}/orders");
        thread::scope(|scope| {
            let other = scope.spawn(|| crosswise(&orders, 1, 2));
            let both = [crosswise(&orders, 2, 1), other.join().unwrap()];
            assert!(both.contains(&false), "one of the two was the victim");
        });
        query(&url, "drop database orders with (force)").unwrap();

        let failure = nothing_wrong(&server).unwrap_err().to_string();
        assert!(failure.contains("transactions deadlocked"), "{failure}");
    }

    #[test]
    fn a_connection_in_the_middle_of_a_transaction_is_found() {
        let Some(server) = own(&Settings::common()).unwrap() else { return };
        let url = server.url();
        let mut forgetful = Command::new("psql").args(["-qAt", &url]).stdin(Stdio::piped()).spawn().unwrap();
        let mut input = forgetful.stdin.take().unwrap();
        input.write_all(b"begin;\n").unwrap();
        let begun = "select 1 from pg_stat_activity where state = 'idle in transaction'";
        while query(&url, begun).unwrap().is_empty() {}

        let failure = nothing_wrong(&server).unwrap_err().to_string();
        assert!(failure.contains("in the middle of a transaction: postgres|psql|"), "{failure}");
        drop(input);
        forgetful.wait().unwrap();
        nothing_wrong(&server).unwrap();
    }
}
