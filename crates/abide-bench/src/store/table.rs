//! Results as a table for people.

use serde_json::Value;

use crate::store::arguments::Part;

/// A heading, where its value is in a line, and how many decimals it deserves.
type Column = (&'static str, &'static str, usize);

const GROUP_TIMES: [Column; 4] = [
    ("p50 ms", "/group_ms/p50", 2),
    ("p99 ms", "/group_ms/p99", 2),
    ("p99.9 ms", "/group_ms/p999", 2),
    ("max ms", "/group_ms/max", 1),
];

fn columns(part: Part) -> Vec<Column> {
    let turns = ("turns/s", "/turns_per_second", 0);
    let cpu = ("CPU us/turn", "/cpu_micros_per_turn", 2);
    match part {
        Part::Commits => [&[("what", "/what", 0), turns, cpu], &GROUP_TIMES[..]].concat(),
        Part::History => vec![
            ("schema", "/schema", 0),
            ("what", "/what", 0),
            ("instances", "/pattern", 0),
            turns,
            ("events/s", "/events_per_second", 0),
            ("WAL B/turn", "/wal_bytes_per_turn", 0),
            cpu,
            ("file B/turn", "/file_bytes_per_turn", 0),
            ("p50 ms", "/group_ms/p50", 2),
            ("p99 ms", "/group_ms/p99", 2),
            ("read text/s", "/events_read_per_second/text", 0),
            ("decoded/s", "/events_read_per_second/decoded", 0),
            ("from disk/s", "/events_read_per_second/from_disk", 0),
        ],
        Part::Overhead => vec![
            ("what", "/what", 0),
            ("with us", "/micros/with", 2),
            ("without us", "/micros/without", 2),
            ("cost us", "/micros/cost", 2),
        ],
        Part::Checkpoint => [
            &[("policy", "/policy", 0), turns, cpu, ("most WAL B", "/most_wal_bytes", 0)],
            &GROUP_TIMES[..],
            &[("copy ms", "/writer_copies_ms/mean", 1), ("max ms", "/writer_copies_ms/max", 1)],
        ]
        .concat(),
    }
}

/// The lines of one part as a table; what a line does not have is a dash.
pub(crate) fn table(part: Part, lines: &[Value]) -> String {
    let columns = columns(part);
    let heading: Vec<String> = columns.iter().map(|(heading, _, _)| (*heading).to_owned()).collect();
    let mut rows = vec![heading];
    for line in lines {
        rows.push(
            columns.iter().map(|(_, pointer, decimals)| cell(line.pointer(pointer), *decimals)).collect(),
        );
    }
    let width_of = |index: usize| rows.iter().filter_map(|row| row.get(index)).map(String::len).max();
    let widths: Vec<usize> = (0..columns.len()).filter_map(width_of).collect();
    let padded = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}"));
        cells.collect::<Vec<_>>().join("  ") + "\n"
    };
    rows.iter().map(padded).collect()
}

fn cell(value: Option<&Value>, decimals: usize) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => {
            number.as_f64().map_or_else(|| number.to_string(), |number| format!("{number:.decimals$}"))
        }
        _ => "-".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn columns_are_aligned_and_what_is_missing_is_a_dash() {
        let lines =
            [json!({ "what": "a savepoint", "micros": { "with": 2.25, "without": 10, "cost": null } })];
        let expected =
            "       what  with us  without us  cost us\na savepoint     2.25       10.00        -\n";
        assert_eq!(table(Part::Overhead, &lines), expected);
    }
}
