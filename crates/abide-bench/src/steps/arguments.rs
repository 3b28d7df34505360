//! The command line of `abide-bench steps`.

use std::time::Duration;

use super::driver::{Flow, Style};

pub(crate) const USAGE: &str = "\
abide-bench steps: measures turns and activities through a SQLite store alone

usage: abide-bench steps [--seconds N] [--in-flight N] [--store full|normal|memory] [--only w1|w4] [--style plain|fused]

  --seconds N    how long each cell is measured (default 3)
  --in-flight N  instances at once in W1 (default 256)
  --store NAME   a file with synchronous=FULL (default), with NORMAL, or a database in memory
  --only NAME    one workload (default: both)
  --style NAME   with a lease for every turn, or fused (default: both)

Prints one JSON line per cell. Exits with 1 if a target is missed: 15,000 steps/s in W1, 3 bare commits (medians of the
same run) per fused step in W4.";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Store {
    Full,
    Normal,
    Memory,
}

#[derive(Debug, Clone)]
pub(crate) struct Arguments {
    pub(crate) span: Duration,
    pub(crate) in_flight: usize,
    pub(crate) store: Store,
    pub(crate) only: Option<String>,
    pub(crate) style: Option<Style>,
}

impl Arguments {
    /// Reads the arguments; `None` asks for help.
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut arguments = Self {
            span: Duration::from_secs(3),
            in_flight: 256,
            store: Store::Full,
            only: None,
            style: None,
        };
        while let Some(word) = words.next() {
            if matches!(word.as_str(), "--help" | "-h") {
                return Ok(None);
            }
            let value = words.next().unwrap_or_default();
            let above_zero = || {
                let number = value.parse::<usize>().ok().filter(|number| *number > 0);
                number.ok_or_else(|| format!("{word} needs a number above 0, not '{value}'"))
            };
            match (word.as_str(), value.as_str()) {
                ("--seconds", _) => {
                    arguments.span = Duration::from_secs(u64::try_from(above_zero()?).unwrap_or(u64::MAX));
                }
                ("--in-flight", _) => arguments.in_flight = above_zero()?,
                ("--store", "full") => arguments.store = Store::Full,
                ("--store", "normal") => arguments.store = Store::Normal,
                ("--store", "memory") => arguments.store = Store::Memory,
                ("--only", "w1" | "w4") => arguments.only = Some(value),
                ("--style", "plain") => arguments.style = Some(Style::Plain),
                ("--style", "fused") => arguments.style = Some(Style::Fused),
                ("--store" | "--only" | "--style", other) => {
                    return Err(format!("{word} knows no '{other}'"));
                }
                (other, _) => return Err(format!("there is no option '{other}'")),
            }
        }
        Ok(Some(arguments))
    }

    /// What to measure.
    pub(crate) fn cells(&self) -> Vec<(Flow, Style)> {
        let flows = [Flow::Many { in_flight: self.in_flight }, Flow::OneByOne];
        let wanted = |name: &str| self.only.as_deref().is_none_or(|only| only == name);
        let styles = match self.style {
            Some(style) => vec![style],
            None => vec![Style::Plain, Style::Fused],
        };
        flows
            .into_iter()
            .filter(|flow| wanted(flow.name()))
            .flat_map(|flow| styles.iter().map(move |style| (flow, *style)))
            .collect()
    }
}
