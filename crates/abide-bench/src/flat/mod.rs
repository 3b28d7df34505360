//! Whether a fetch costs the same behind ten rows and behind a million.
//!
//! The rows in the way are nothing that the fetch may take: leased, of another tag, session or version, in the future,
//! or idle. The store's test `flat` asserts the same in instructions, with fewer rows.

mod arguments;
mod behind;
mod fetches;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;

use abide_sqlite::SqliteProvider;
use arguments::Arguments;
use behind::{BEHIND, Behind};
use fetches::Fetches;
use futures::executor::block_on;
use serde_json::{Value, json};

use crate::program::{Program, Verdict};
use crate::store::Fallible;
use crate::store::clock::millis;

pub(crate) fn main(words: impl Iterator<Item = String>) -> ExitCode {
    let program = Program { name: "abide-bench flat", usage: arguments::USAGE };
    program.run(Arguments::parse(words), |arguments| run(&arguments))
}

/// One queue behind so many rows of one kind.
#[derive(Debug)]
pub(crate) struct Cell {
    behind: &'static str,
    rows: usize,
    fetches: Fetches,
}

fn run(arguments: &Arguments) -> Fallible<Verdict> {
    let mut cells = Vec::new();
    for behind in BEHIND.iter().filter(|behind| arguments.wants(behind.name)) {
        for rows in arguments.sizes() {
            eprintln!("{} of {rows} ...", behind.name);
            for fetches in measure(*behind, rows, arguments.repeat)? {
                let cell = Cell { behind: behind.name, rows, fetches };
                println!("{}", cell.to_json());
                cells.push(cell);
            }
        }
    }
    println!("\n{}", table::table(&cells));
    let is_flat = cells.iter().all(|cell| cell.is_flat(&cells));
    Ok(if is_flat { Verdict::Met } else { Verdict::Missed })
}

fn measure(behind: Behind, rows: usize, repeat: usize) -> Fallible<[Fetches; 2]> {
    let folder = Folder::new()?;
    let file = folder.0.join("store.db");
    let provider = block_on(SqliteProvider::new(&format!("sqlite:{}", file.display()), None))?;
    behind.put(&provider, rows)?;
    block_on(fetches::measure(&provider, repeat))
}

impl Cell {
    fn to_json(&self) -> Value {
        let Fetches { queue, instructions, times } = &self.fetches;
        json!({
            "bench": "flat",
            "behind": self.behind,
            "rows": self.rows,
            "fetch": queue.name(),
            "instructions": instructions,
            "fetch_ms": { "p50": millis(times.median()), "p99": millis(times.permille(990)) },
        })
    }

    /// Whether it takes hardly more instructions than the same with the fewest rows.
    fn is_flat(&self, cells: &[Self]) -> bool {
        let same = |cell: &&Self| cell.behind == self.behind && cell.fetches.queue == self.fetches.queue;
        let least = cells.iter().find(same).map_or(0, |cell| cell.fetches.instructions);
        self.fetches.instructions <= least + least / 5
    }
}

/// A folder that is removed with its contents.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Fallible<Self> {
        let folder = std::env::temp_dir().join(format!("abide-bench-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        Ok(Self(folder))
    }

    pub(crate) fn path(&self) -> &std::path::Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            eprintln!("abide-bench: {} stays behind: {error}", self.0.display());
        }
    }
}
