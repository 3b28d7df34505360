//! How long a page of instances takes, out of ten thousand and out of a million.
//!
//! Each page is one statement; the store's test `flat::pages` asserts the same in instructions, with fewer instances.

mod arguments;
mod pages;

use std::fmt::Write;
use std::process::ExitCode;
use std::time::Duration;

use abide_provider::{InstanceQuery, ProviderAdmin};
use abide_sqlite::SqliteProvider;
use arguments::Arguments;
use futures::executor::block_on;
use serde_json::{Value, json};

use crate::flat::Folder;
use crate::program::{Program, Verdict};
use crate::store::Fallible;
use crate::store::clock::{Stopwatch, Times, millis};

pub(crate) fn main(words: impl Iterator<Item = String>) -> ExitCode {
    let program = Program { name: "abide-bench list", usage: arguments::USAGE };
    program.run(Arguments::parse(words), |arguments| run(&arguments))
}

/// A query that goes through everything is not repeated for longer than this.
const LONG_ENOUGH: Duration = Duration::from_secs(5);

/// One query on so many instances.
struct Cell {
    name: &'static str,
    instances: usize,
    found: usize,
    times: Times,
}

fn run(arguments: &Arguments) -> Fallible<Verdict> {
    let mut cells = Vec::new();
    for instances in arguments.sizes() {
        eprintln!("{instances} instances ...");
        let folder = Folder::new()?;
        let file = folder.path().join("store.db");
        let provider = block_on(SqliteProvider::new(&format!("sqlite:{}", file.display()), None))?;
        pages::fill(&provider, instances)?;
        for (name, query) in pages::queries(instances, arguments.page) {
            let cell = measure(&provider, name, instances, &query, arguments.repeat)?;
            println!("{}", cell.to_json(arguments.page));
            cells.push(cell);
        }
    }
    println!("\n{}", table(&cells));
    Ok(Verdict::Met)
}

fn measure(
    provider: &SqliteProvider,
    name: &'static str,
    instances: usize,
    query: &InstanceQuery,
    repeat: usize,
) -> Fallible<Cell> {
    let mut found = 0;
    let mut times = Vec::with_capacity(repeat);
    let all = Stopwatch::start();
    while times.len() < repeat && all.elapsed() < LONG_ENOUGH {
        let stopwatch = Stopwatch::start();
        let page = block_on(provider.list_instances_page(query.clone()))?;
        times.push(stopwatch.elapsed());
        found = page.instances.len();
    }
    Ok(Cell { name, instances, found, times: times.into() })
}

impl Cell {
    fn to_json(&self, page: u32) -> Value {
        json!({
            "bench": "list",
            "query": self.name,
            "instances": self.instances,
            "page": page,
            "found": self.found,
            "page_ms": { "p50": millis(self.times.median()), "p99": millis(self.times.permille(990)) },
        })
    }
}

/// A line per query, a pair of columns per number of instances.
fn table(cells: &[Cell]) -> String {
    let mut sizes: Vec<usize> = cells.iter().map(|cell| cell.instances).collect();
    sizes.dedup();
    let mut text = format!("{:<40}", "page");
    for size in &sizes {
        write!(text, "{:>34}", format!("of {size}: rows, p50 ms, p99 ms")).unwrap_or_default();
    }
    text.push('\n');
    let fewest = sizes.first().copied().unwrap_or_default();
    for first in cells.iter().filter(|cell| cell.instances == fewest) {
        write!(text, "{:<40}", first.name).unwrap_or_default();
        for Cell { found, times, .. } in cells.iter().filter(|cell| cell.name == first.name) {
            let (median, slow) = (millis(times.median()), millis(times.permille(990)));
            write!(text, "{found:>18}{median:>8.3}{slow:>8.3}").unwrap_or_default();
        }
        text.push('\n');
    }
    text
}
