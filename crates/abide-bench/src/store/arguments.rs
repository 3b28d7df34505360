//! The command line of `abide-bench store`.

use std::time::Duration;

pub(crate) const USAGE: &str = "\
abide-bench store: measures what a SQLite file allows a store

usage: abide-bench store [--part NAME] [--seconds N]

  --part NAME  commits, history, overhead or checkpoint (default: all)
  --seconds N  how long each cell is measured (default 2; all together take less than a minute)

Prints one JSON line per cell and a table per part. The files are in the folder for temporary files (TMPDIR), which
must be on a real disk for the figures to mean anything.";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Commits,
    History,
    Overhead,
    Checkpoint,
}

impl Part {
    pub(crate) const ALL: [Self; 4] = [Self::Commits, Self::History, Self::Overhead, Self::Checkpoint];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Commits => "commits",
            Self::History => "history",
            Self::Overhead => "overhead",
            Self::Checkpoint => "checkpoint",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|part| part.name() == name)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arguments {
    pub(crate) parts: Vec<Part>,
    /// How long each cell is measured.
    pub(crate) span: Duration,
}

impl Arguments {
    /// Reads the arguments; `None` asks for help.
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut arguments = Self { parts: Part::ALL.to_vec(), span: Duration::from_secs(2) };
        while let Some(word) = words.next() {
            if matches!(word.as_str(), "--help" | "-h") {
                return Ok(None);
            }
            let value = words.next().unwrap_or_default();
            match word.as_str() {
                "--part" => {
                    let part = Part::named(&value).ok_or_else(|| format!("there is no part '{value}'"))?;
                    arguments.parts = vec![part];
                }
                "--seconds" => {
                    let seconds = value.parse().ok().filter(|seconds| *seconds > 0);
                    let complaint = || format!("--seconds needs a number above 0, not '{value}'");
                    arguments.span = seconds.map(Duration::from_secs).ok_or_else(complaint)?;
                }
                other => return Err(format!("there is no option '{other}'")),
            }
        }
        Ok(Some(arguments))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Option<Arguments>, String> {
        Arguments::parse(words.iter().map(|word| (*word).to_owned()))
    }

    #[test]
    fn options_override_the_defaults() {
        let all = Arguments { parts: Part::ALL.to_vec(), span: Duration::from_secs(2) };
        assert_eq!(parse(&[]), Ok(Some(all)));
        let one = Arguments { parts: vec![Part::History], span: Duration::from_secs(1) };
        assert_eq!(parse(&["--part", "history", "--seconds", "1"]), Ok(Some(one)));
        assert_eq!(parse(&["--help"]), Ok(None));
    }

    #[test]
    fn wrong_words_are_named() {
        assert!(parse(&["--parts"]).unwrap_err().contains("--parts"));
        assert!(parse(&["--part", "cube"]).unwrap_err().contains("cube"));
        assert!(parse(&["--part"]).unwrap_err().contains("no part"));
        assert!(parse(&["--seconds", "0"]).unwrap_err().contains("above 0"));
    }
}
