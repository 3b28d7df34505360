//! What a worker has done, as lines of a file that outlive it.
//!
//! Each line is written whole, with one call, to a file that only this worker appends to. What the system has taken is not lost
//! when the process is killed; a last line without an end is no line.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use abide::ActivityContext;
use abide::seams::Clock;
use abide_host::SystemClock;
use serde::{Deserialize, Serialize};

/// One activity of one execution: what is run again if a run is lost.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Activity {
    /// The instance that asked for it.
    pub instance: String,
    /// Which execution of it.
    pub execution: u64,
    /// The event that asked.
    pub event: u64,
}

impl Activity {
    /// The activity that runs in this context.
    #[must_use]
    pub fn of(ctx: &ActivityContext) -> Self {
        Self {
            instance: ctx.instance_id().to_owned(),
            execution: ctx.execution_id(),
            event: ctx.activity_id(),
        }
    }
}

/// Something that happened in a worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Note {
    /// The runtime has started.
    Ready,
    /// Something was committed: the first time, and from then on if the last such note is a while ago.
    Committed,
    /// A run of an activity began.
    Began {
        /// Of which activity.
        activity: Activity,
        /// How often it was handed out, this time included.
        attempt: u32,
    },
    /// A run of an activity came to its end.
    Ended {
        /// Of which activity.
        activity: Activity,
        /// What it is about to return.
        result: Result<String, String>,
    },
    /// The code of an orchestration came by here for the first time, as far as history knows.
    Passed {
        /// The instance.
        instance: String,
        /// Its execution.
        execution: u64,
        /// Where in the code.
        point: String,
    },
    /// The store refused a call, or failed.
    Refused {
        /// Which call.
        operation: String,
        /// What became of it.
        kind: String,
    },
    /// The runtime was shut down in good order.
    Stopped,
}

/// A note, and when it was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// In milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// What happened.
    pub note: Note,
}

/// The file that a worker writes to. Clones share it.
#[derive(Debug, Clone)]
pub struct Journal {
    file: Arc<File>,
    clock: SystemClock,
}

impl Journal {
    /// Appends to this file, which is made if it is missing.
    ///
    /// # Errors
    ///
    /// If it cannot be opened.
    pub fn append_to(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self { file: Arc::new(file), clock: SystemClock::new() })
    }

    /// Writes a line. A worker that cannot write down what it does is no evidence: it ends.
    pub fn note(&self, note: Note) {
        let line = Line { at_ms: self.clock.wall().as_millis(), note };
        let written = serde_json::to_string(&line)
            .map_err(io::Error::other)
            .and_then(|text| (&*self.file).write_all(format!("{text}\n").as_bytes()));
        if let Err(error) = written {
            eprintln!("the journal cannot be written: {error}");
            std::process::abort();
        }
    }
}

/// Every whole line of a journal; none if there is no such file.
///
/// # Errors
///
/// If it cannot be read, or a line is not one of ours.
pub fn read(path: &Path) -> io::Result<Vec<Line>> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let whole = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    whole.map(|line| serde_json::from_str(line).map_err(io::Error::other)).collect()
}

/// Every journal of a folder, by the name of its worker: that of the file, without its extension.
///
/// # Errors
///
/// If one cannot be read.
pub fn read_all(folder: &Path) -> io::Result<BTreeMap<String, Vec<Line>>> {
    let mut journals = BTreeMap::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let worker = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        journals.insert(worker.unwrap_or_default(), read(&path)?);
    }
    Ok(journals)
}
