//! The command line of `abide-bench cancel`.

pub(crate) const USAGE: &str = "\
abide-bench cancel: measures the time from `cancel_instance` until the token of a running activity fires

usage: abide-bench cancel [--samples N]

  --samples N  samples in one process, and between two processes on one SQLite file (default 200)

Prints one JSON line per result. Exits with 1 if a target is missed: p99 below 50 ms in one process, below
500 ms between two. The second process is this program again, with --worker and the name of the file.";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Arguments {
    Measure {
        samples: u32,
    },
    /// Be the second process, on this store.
    Work {
        store: String,
    },
}

impl Arguments {
    /// Reads the arguments; `None` asks for help.
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut samples = 200;
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
            match word.as_str() {
                "--help" | "-h" => return Ok(None),
                "--worker" => return Ok(Some(Self::Work { store: value()? })),
                "--samples" => {
                    let text = value()?;
                    let number = text.parse().ok().filter(|number| *number > 0);
                    samples =
                        number.ok_or_else(|| format!("--samples needs a number above 0, not '{text}'"))?;
                }
                other => return Err(format!("there is no option '{other}'")),
            }
        }
        Ok(Some(Self::Measure { samples }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Option<Arguments>, String> {
        Arguments::parse(words.iter().map(|word| (*word).to_owned()))
    }

    #[test]
    fn two_hundred_samples_unless_told() {
        assert_eq!(parse(&[]), Ok(Some(Arguments::Measure { samples: 200 })));
        assert_eq!(parse(&["--samples", "3"]), Ok(Some(Arguments::Measure { samples: 3 })));
        let store = "sqlite:a".to_owned();
        assert_eq!(parse(&["--worker", "sqlite:a"]), Ok(Some(Arguments::Work { store })));
        assert_eq!(parse(&["-h"]), Ok(None));
    }

    #[test]
    fn wrong_words_are_named() {
        assert!(parse(&["--sample", "3"]).unwrap_err().contains("--sample"));
        assert!(parse(&["--samples", "0"]).unwrap_err().contains("above 0"));
        assert!(parse(&["--worker"]).unwrap_err().contains("--worker"));
    }
}
