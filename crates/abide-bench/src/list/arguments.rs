//! The command line of `abide-bench list`.

pub(crate) const USAGE: &str = "\
abide-bench list: measures how long a filtered and sorted page of instances takes

usage: abide-bench list [--instances N] [--page N] [--repeat N]

  --instances N  the largest number of instances (default 1000000; measured with 10000 and 1000000)
  --page N       instances on a page, 1 to 1000 (default 50)
  --repeat N     pages measured for each query (default 200)

Prints one JSON line per query and a table. Times are of a file in the folder for temporary files, read through
the store.";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arguments {
    instances: usize,
    pub(crate) page: u32,
    pub(crate) repeat: usize,
}

impl Arguments {
    /// Reads the arguments; `None` asks for help.
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut arguments = Self { instances: 1_000_000, page: 50, repeat: 200 };
        while let Some(word) = words.next() {
            if word == "--help" || word == "-h" {
                return Ok(None);
            }
            let text = words.next().unwrap_or_default();
            let number = text.parse::<usize>().ok().filter(|number| *number > 0);
            let number = || number.ok_or_else(|| format!("{word} needs a number above 0, not '{text}'"));
            match word.as_str() {
                "--instances" => arguments.instances = number()?,
                "--repeat" => arguments.repeat = number()?,
                "--page" => {
                    let page = u32::try_from(number()?).ok().filter(|page| *page <= 1_000);
                    arguments.page = page.ok_or("--page needs a number of at most 1000")?;
                }
                other => return Err(format!("there is no option '{other}'")),
            }
        }
        Ok(Some(arguments))
    }

    /// How many instances to make, ascending; the last is what was asked for.
    pub(crate) fn sizes(&self) -> Vec<usize> {
        let smaller = [10_000].into_iter().filter(|size| *size < self.instances);
        smaller.chain([self.instances]).collect()
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
        assert_eq!(sizes(&[]), [10_000, 1_000_000]);
        assert_eq!(sizes(&["--instances", "500"]), [500]);
        assert_eq!(parse(&["--help"]), Ok(None));
    }

    #[test]
    fn wrong_words_are_named() {
        assert!(parse(&["--pages", "5"]).unwrap_err().contains("--pages"));
        assert!(parse(&["--page", "1001"]).unwrap_err().contains("at most 1000"));
        assert!(parse(&["--repeat"]).unwrap_err().contains("above 0"));
    }
}
