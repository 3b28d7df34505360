//! The command line.

use std::time::Duration;

pub(crate) const USAGE: &str = "\
Measures one workload once, and prints one line of JSON.

usage: WORKLOAD --store NAME [--at PLACE] [--size N] [--slots N] [--samples N] [--seconds N] [--nodes N] [--activity-ms N] [--server PID]

  WORKLOAD         w1 … w12, w2-busy, w2-flood (docs/benchmarks.md describes them)
  --store NAME     memory, sqlite-memory, sqlite-full, sqlite-normal or postgres
  --at PLACE       the file to create, or the URL of an empty database
  --size N         number of orchestrations, activities, executions or children
  --slots N        slots of both kinds in a runtime (default: those of the library)
  --samples N      number of samples, where they are measured one after the other (default 200)
  --seconds N      the most time for these samples, or the time to be idle (default 20)
  --nodes N        processes of w12; with 2, activities of w10 run in another process (default 1)
  --activity-ms N  how long each activity of w12 takes (default 0)
  --server PID     the first process of the database server, whose CPU time is part of the result

Exits with 1 if anything failed, after it has printed the line.";

/// What is measured, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arguments {
    pub(crate) workload: String,
    pub(crate) store: String,
    pub(crate) at: String,
    pub(crate) size: u64,
    /// Those of the library if `None`.
    pub(crate) slots: Option<usize>,
    pub(crate) samples: u64,
    pub(crate) seconds: Duration,
    pub(crate) nodes: u64,
    pub(crate) activity: Duration,
    pub(crate) server: Option<String>,
}

impl Arguments {
    /// Reads the arguments; `None` asks for help.
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let workload = words.next().ok_or("which workload?")?;
        if matches!(workload.as_str(), "--help" | "-h" | "help") {
            return Ok(None);
        }
        let mut arguments = Self {
            workload,
            store: String::new(),
            at: String::new(),
            size: 1,
            slots: None,
            samples: 200,
            seconds: Duration::from_secs(20),
            nodes: 1,
            activity: Duration::ZERO,
            server: None,
        };
        while let Some(option) = words.next() {
            if matches!(option.as_str(), "--help" | "-h") {
                return Ok(None);
            }
            let value = words.next().ok_or_else(|| format!("{option} needs a value"))?;
            arguments.set(&option, value)?;
        }
        if arguments.store.is_empty() {
            return Err("--store is missing".to_owned());
        }
        Ok(Some(arguments))
    }

    fn set(&mut self, option: &str, value: String) -> Result<(), String> {
        match option {
            "--store" => self.store = value,
            "--at" => self.at = value,
            "--size" => self.size = number(option, &value)?,
            "--slots" => {
                let slots = number(option, &value)?;
                self.slots = Some(usize::try_from(slots).map_err(|error| error.to_string())?);
            }
            "--samples" => self.samples = number(option, &value)?,
            "--seconds" => self.seconds = Duration::from_secs(number(option, &value)?),
            "--nodes" => self.nodes = number(option, &value)?,
            "--activity-ms" => self.activity = Duration::from_millis(number(option, &value)?),
            "--server" => self.server = Some(number(option, &value)?.to_string()),
            unknown => return Err(format!("there is no option '{unknown}'")),
        }
        Ok(())
    }
}

fn number(option: &str, value: &str) -> Result<u64, String> {
    value.parse().map_err(|_| format!("{option} needs a number, not '{value}'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Option<Arguments>, String> {
        Arguments::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn options_override_the_defaults() {
        let arguments = parse("w1 --store memory --size 200 --slots 16 --seconds 5").unwrap().unwrap();
        assert_eq!((arguments.workload.as_str(), arguments.store.as_str()), ("w1", "memory"));
        assert_eq!((arguments.size, arguments.slots), (200, Some(16)));
        assert_eq!(arguments.seconds, Duration::from_secs(5));
        assert_eq!(parse("w1 --help"), Ok(None));
    }

    #[test]
    fn wrong_words_are_named() {
        for (line, culprit) in [
            ("", "which"),
            ("w1", "--store"),
            ("w1 --store", "--store"),
            ("w1 --store memory --size many", "'many'"),
            ("w1 --stores memory", "--stores"),
        ] {
            let complaint = parse(line).unwrap_err();
            assert!(complaint.contains(culprit), "{line:?} gave {complaint:?}");
        }
    }
}
