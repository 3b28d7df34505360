//! The command line of `abide-bench flat`.

pub(crate) const USAGE: &str = "\
abide-bench flat: measures the cost of a fetch beside rows that it must not return

usage: abide-bench flat [--rows N] [--repeat N] [--behind TEXT]

  --rows N       the largest number of such rows (default 1000000; measured with 10, 1000, 100000 and 1000000)
  --repeat N     fetches measured for each (default 200)
  --behind TEXT  only situations whose name contains this (default: all; a million of each takes some minutes)

Prints one JSON line per cell and a table. Instructions are those of SQLite's virtual machine and do not depend
on the hardware; times are of a file in the folder for temporary files. Exits with 1 if the largest number of
rows costs a fifth more instructions than ten.";

/// How many rows are put in the way.
const SIZES: [usize; 4] = [10, 1_000, 100_000, 1_000_000];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arguments {
    rows: usize,
    pub(crate) repeat: usize,
    behind: String,
}

impl Arguments {
    /// Reads the arguments; `None` asks for help.
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut arguments = Self { rows: 1_000_000, repeat: 200, behind: String::new() };
        while let Some(word) = words.next() {
            let value = words.next();
            let number = || {
                let text = value.as_deref().unwrap_or_default();
                let number = text.parse().ok().filter(|number| *number > 0);
                number.ok_or_else(|| format!("{word} needs a number above 0, not '{text}'"))
            };
            match word.as_str() {
                "--help" | "-h" => return Ok(None),
                "--rows" => arguments.rows = number()?,
                "--repeat" => arguments.repeat = number()?,
                "--behind" => arguments.behind = value.unwrap_or_default(),
                other => return Err(format!("there is no option '{other}'")),
            }
        }
        Ok(Some(arguments))
    }

    /// How many rows to put in the way, ascending; the last is what was asked for.
    pub(crate) fn sizes(&self) -> Vec<usize> {
        let smaller = SIZES.into_iter().filter(|size| *size < self.rows);
        smaller.chain([self.rows]).collect()
    }

    pub(crate) fn wants(&self, situation: &str) -> bool {
        situation.contains(&self.behind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Option<Arguments>, String> {
        Arguments::parse(words.iter().map(|word| (*word).to_owned()))
    }

    #[test]
    fn sizes_end_with_what_was_asked_for() {
        let sizes = |words: &[&str]| parse(words).unwrap().unwrap().sizes();
        assert_eq!(sizes(&[]), [10, 1_000, 100_000, 1_000_000]);
        assert_eq!(sizes(&["--rows", "5000"]), [10, 1_000, 5_000]);
        assert_eq!(sizes(&["--rows", "10"]), [10]);
    }

    #[test]
    fn situations_are_chosen_by_a_part_of_their_name() {
        let arguments = parse(&["--behind", "session", "--repeat", "5"]).unwrap().unwrap();
        assert_eq!(arguments.repeat, 5);
        assert!(arguments.wants("one foreign session") && !arguments.wants("idle instances"));
        assert_eq!(parse(&["--help"]), Ok(None));
    }

    #[test]
    fn wrong_words_are_named() {
        assert!(parse(&["--rowz", "5"]).unwrap_err().contains("--rowz"));
        assert!(parse(&["--rows"]).unwrap_err().contains("above 0"));
        assert!(parse(&["--repeat", "0"]).unwrap_err().contains("above 0"));
    }
}
