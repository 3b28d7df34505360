//! The command line of `abide-bench runtime`.

use std::time::Duration;

pub(crate) const USAGE: &str = "\
abide-bench runtime: whole orchestrations, through a runtime and a client with default options

usage: abide-bench runtime [--store full|normal|memory] [--only w1|w2|w3|w4|w9] [--idle SECONDS]

  --store NAME    a SQLite file with synchronous=FULL (default), with NORMAL, or a SQLite database in memory
  --only NAME     one workload: w1 many at once, w2 one at a time, w3 a fan-out, w4 one step after the other, w9 idle
  --idle SECONDS  how long the idle runtime is watched (default 10)

Prints one JSON line per result. Times are real, and include everything a user waits for.";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Store {
    Full,
    Normal,
    Memory,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arguments {
    pub(crate) store: Store,
    only: Option<String>,
    pub(crate) idle: Duration,
}

impl Arguments {
    /// Reads the arguments; `None` asks for help.
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut arguments = Self { store: Store::Full, only: None, idle: Duration::from_secs(10) };
        while let Some(word) = words.next() {
            if word == "--help" || word == "-h" {
                return Ok(None);
            }
            let value = words.next().unwrap_or_default();
            match (word.as_str(), value.as_str()) {
                ("--store", "full") => arguments.store = Store::Full,
                ("--store", "normal") => arguments.store = Store::Normal,
                ("--store", "memory") => arguments.store = Store::Memory,
                ("--only", "w1" | "w2" | "w3" | "w4" | "w9") => arguments.only = Some(value),
                ("--idle", text) => {
                    let seconds = text.parse().ok().filter(|seconds| *seconds > 0);
                    let seconds =
                        seconds.ok_or_else(|| format!("--idle needs a number above 0, not '{text}'"))?;
                    arguments.idle = Duration::from_secs(seconds);
                }
                ("--store" | "--only", other) => return Err(format!("{word} knows no '{other}'")),
                (other, _) => return Err(format!("there is no option '{other}'")),
            }
        }
        Ok(Some(arguments))
    }

    pub(crate) fn wants(&self, workload: &str) -> bool {
        self.only.as_deref().is_none_or(|only| only == workload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Option<Arguments>, String> {
        Arguments::parse(words.iter().map(|word| (*word).to_owned()))
    }

    #[test]
    fn everything_is_wanted_unless_one_is_named() {
        assert!(parse(&[]).unwrap().unwrap().wants("w3"));
        let one = parse(&["--only", "w2"]).unwrap().unwrap();
        assert!(one.wants("w2") && !one.wants("w3"));
        assert_eq!(parse(&["-h"]), Ok(None));
    }

    #[test]
    fn wrong_words_are_named() {
        assert!(parse(&["--stores", "full"]).unwrap_err().contains("--stores"));
        assert!(parse(&["--store", "redis"]).unwrap_err().contains("redis"));
        assert!(parse(&["--only", "w12"]).unwrap_err().contains("w12"));
        assert!(parse(&["--idle", "0"]).unwrap_err().contains("above 0"));
    }
}
