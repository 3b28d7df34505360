//! Results as a table for people: a line per queue and situation, a pair of columns per number of rows.

use std::fmt::Write;

use super::Cell;
use crate::store::clock::millis;

pub(crate) fn table(cells: &[Cell]) -> String {
    let mut sizes: Vec<usize> = cells.iter().map(|cell| cell.rows).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let mut text = format!("{:<10}{:<32}", "fetch", "behind");
    for size in &sizes {
        write!(text, "{:>26}", format!("{size} rows: us, instr")).unwrap_or_default();
    }
    text.push('\n');
    let fewest = sizes.first().copied().unwrap_or_default();
    for first in cells.iter().filter(|cell| cell.rows == fewest) {
        write!(text, "{:<10}{:<32}", first.fetches.queue.name(), first.behind).unwrap_or_default();
        let same = |cell: &&Cell| cell.behind == first.behind && cell.fetches.queue == first.fetches.queue;
        for cell in cells.iter().filter(same) {
            let micros = millis(cell.fetches.times.median()) * 1e3;
            write!(text, "{micros:>18.0}{:>8}", cell.fetches.instructions).unwrap_or_default();
        }
        text.push('\n');
    }
    text
}
