//! The command line.

use std::path::PathBuf;

use super::histories::SHAPES;

pub(crate) const USAGE: &str = "\
abide-bench replay: measures cold replay and decoding of generated histories

usage: abide-bench replay [--shape NAME] [--events N] [--repeat N] [--json FILE]

  --shape NAME chain, fan-out or mixed (default: all)
  --events N   events per history (default 100000)
  --repeat N   measurements of each; the median is reported (default 7)
  --json FILE  also append the results to this file, for `abide-bench --from FILE`

Prints one JSON line per result and a table. Exits with 1 if a target is missed.";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arguments {
    /// The only shape to measure, if one was named.
    pub(crate) shape: Option<String>,
    pub(crate) events: usize,
    pub(crate) repeat: usize,
    pub(crate) json: Option<PathBuf>,
}

impl Default for Arguments {
    fn default() -> Self {
        Self { shape: None, events: 100_000, repeat: 7, json: None }
    }
}

impl Arguments {
    /// Reads the arguments; `None` asks for help.
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut arguments = Self::default();
        while let Some(word) = words.next() {
            let field = match word.as_str() {
                "--help" | "-h" => return Ok(None),
                "--shape" => {
                    arguments.shape = Some(shape_named(words.next().as_deref())?);
                    continue;
                }
                "--json" => {
                    let file = words.next().ok_or("--json needs a file")?;
                    arguments.json = Some(PathBuf::from(file));
                    continue;
                }
                "--events" => &mut arguments.events,
                "--repeat" => &mut arguments.repeat,
                other => return Err(format!("there is no option '{other}'")),
            };
            let value = words.next().ok_or_else(|| format!("{word} needs a number"))?;
            *field = value
                .parse()
                .ok()
                .filter(|number| *number > 0)
                .ok_or_else(|| format!("{word} needs a number above 0, not '{value}'"))?;
        }
        Ok(Some(arguments))
    }
}

fn shape_named(name: Option<&str>) -> Result<String, String> {
    let known: Vec<&str> = SHAPES.iter().map(|shape| shape.name).collect();
    match name.filter(|name| known.contains(name)) {
        Some(name) => Ok(name.to_owned()),
        None => Err(format!("--shape needs one of {}, not '{}'", known.join(", "), name.unwrap_or_default())),
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
        assert_eq!(parse(&[]), Ok(Some(Arguments::default())));
        let words = ["--events", "10", "--repeat", "1", "--shape", "chain", "--json", "results"];
        let (shape, json) = (Some("chain".to_owned()), Some(PathBuf::from("results")));
        let expected = Arguments { shape, events: 10, repeat: 1, json };
        assert_eq!(parse(&words), Ok(Some(expected)));
        assert_eq!(parse(&["--help"]), Ok(None));
    }

    #[test]
    fn wrong_words_are_named() {
        assert!(parse(&["--evnts"]).unwrap_err().contains("--evnts"));
        assert!(parse(&["--events"]).unwrap_err().contains("needs a number"));
        assert!(parse(&["--events", "0"]).unwrap_err().contains("above 0"));
        assert!(parse(&["--shape", "cube"]).unwrap_err().contains("cube"));
        assert!(parse(&["--json"]).unwrap_err().contains("needs a file"));
        assert!(parse(&["--repeat", "many"]).unwrap_err().contains("many"));
    }
}
