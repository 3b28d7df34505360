//! The command line of `abide-bench workloads`.

use std::path::PathBuf;

use super::against;
use super::plan::{Extent, Request, STORES, WORKLOADS, Who};

pub(crate) const USAGE: &str = "\
abide-bench: measures whole orchestrations, each in a separate process on a new store, with default options

usage: abide-bench [workloads] [--full] [--compare] [--repeat N] [--only LIST] [--store LIST] [--size N] [--slots N]
                   [--limit SECONDS] [--json FILE] [--from FILE] [--write] [--against COMMIT]
                   [--ours PROGRAM] [--reference PROGRAM] [--earlier PROGRAM]
       abide-bench ceiling | replay | store | steps | flat | list | cancel (each with --help)

  (nothing)        every workload at small sizes, on a SQLite file and on PostgreSQL: a few minutes
  --full           all stores, all sizes, 1 to 64 slots: two hours
  --compare        also the reference, alternating with abide, where it completes: about half an hour
  --repeat N       repetitions (default 1; 3 with --full or --compare). What has no target or takes very long
                   is measured once, unless --store or --size names it
  --only LIST      some workloads, such as w1,w2-busy
  --store LIST     some of sqlite-full, postgres, memory, sqlite-memory, sqlite-normal
  --size N         this size instead of the planned ones
  --slots N        this many slots of both kinds instead of the default
  --limit SECONDS  how long one measurement may take before it counts as hanging (default 120, more for large ones)
  --json FILE      append each result to this file, as a line
  --from FILE      measure nothing; show the results that one run or several appended to such a file
  --write          also write docs/benchmarks.md and docs/benchmarks.svg
  --against COMMIT alternate with the build of that commit and print the ratios: w1, w2, w4 and w11, five times,
                   unless --only, --size and --repeat say otherwise; a median ratio below 0.9 is a miss
  --check          only check the options

Prints a table of the results beside the targets, the reference and the ceiling. Exits with 1 if a measurement
failed or hung.";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arguments {
    pub(crate) request: Request,
    pub(crate) repeat: u64,
    pub(crate) json: Option<PathBuf>,
    pub(crate) from: Option<PathBuf>,
    pub(crate) writes: bool,
    pub(crate) ours: Option<PathBuf>,
    pub(crate) reference: Option<PathBuf>,
    /// The program of an earlier commit, to be compared with.
    pub(crate) earlier: Option<PathBuf>,
    pub(crate) only_check: bool,
    /// As typed, for the page that is written.
    pub(crate) typed: String,
}

impl Arguments {
    /// Reads the arguments; `None` asks for help.
    pub(crate) fn parse(words: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let words: Vec<String> = words.collect();
        let request = Request {
            extent: Extent::Bounded,
            who: Who::Ours,
            only: vec![],
            stores: vec![],
            size: None,
            slots: None,
            limit: None,
        };
        let mut arguments = Self {
            request,
            repeat: 0,
            json: None,
            from: None,
            writes: false,
            ours: None,
            reference: None,
            earlier: None,
            only_check: false,
            typed: typed(&words),
        };
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--help" | "-h" | "help" => return Ok(None),
                "--full" => arguments.request.extent = Extent::Full,
                "--compare" => arguments.request.who = Who::Both,
                "--write" => arguments.writes = true,
                "--check" => arguments.only_check = true,
                option if option.starts_with("--") && OPTIONS.contains(&option) => {
                    let value = words.next().ok_or_else(|| format!("{option} needs a value"))?;
                    arguments.set(option, &value)?;
                }
                unknown => return Err(format!("there is no option '{unknown}'")),
            }
        }
        arguments.choose_defaults();
        if arguments.request.cases().is_empty() {
            return Err("that leaves nothing to measure".to_owned());
        }
        Ok(Some(arguments))
    }

    /// What the options left open.
    fn choose_defaults(&mut self) {
        if self.earlier.is_some() && self.request.only.is_empty() {
            self.request.only = against::WORKLOADS.to_vec();
        }
        if self.repeat == 0 {
            let is_small = self.request.extent == Extent::Bounded && self.request.who == Who::Ours;
            self.repeat = match (&self.earlier, is_small) {
                (Some(_), _) => against::REPETITIONS,
                (None, true) => 1,
                (None, false) => 3,
            };
        }
    }

    fn set(&mut self, option: &str, value: &str) -> Result<(), String> {
        let positive = || match value.parse() {
            Ok(number) if number > 0 => Ok(number),
            Ok(_) | Err(_) => Err(format!("{option} needs a number above 0, not '{value}'")),
        };
        match option {
            "--repeat" => self.repeat = positive()?,
            "--size" => self.request.size = Some(positive()?),
            "--slots" => self.request.slots = Some(positive()?),
            "--limit" => self.request.limit = Some(positive()?),
            "--only" => self.request.only = some_of(option, value, &WORKLOADS)?,
            "--store" => self.request.stores = some_of(option, value, &STORES)?,
            "--json" => self.json = Some(value.into()),
            "--from" => self.from = Some(value.into()),
            "--ours" => self.ours = Some(value.into()),
            "--earlier" => self.earlier = Some(value.into()),
            _ => self.reference = Some(value.into()),
        }
        Ok(())
    }
}

const OPTIONS: [&str; 11] = [
    "--repeat",
    "--size",
    "--slots",
    "--limit",
    "--only",
    "--store",
    "--json",
    "--from",
    "--ours",
    "--reference",
    "--earlier",
];

fn some_of(option: &str, value: &str, known: &[&'static str]) -> Result<Vec<&'static str>, String> {
    let find = |word: &str| {
        let found = known.iter().copied().find(|known| *known == word);
        found.ok_or_else(|| format!("{option} knows no '{word}', only {}", known.join(", ")))
    };
    value.split(',').map(find).collect()
}

/// Without what only says where programs and files are.
fn typed(words: &[String]) -> String {
    let mut kept = vec!["cargo xtask bench".to_owned()];
    let mut is_place = false;
    for word in words {
        let names_place =
            matches!(word.as_str(), "--ours" | "--reference" | "--earlier" | "--json" | "--from");
        if !is_place && !names_place {
            kept.push(word.clone());
        }
        is_place = names_place;
    }
    kept.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Option<Arguments>, String> {
        Arguments::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn options_override_the_defaults() {
        assert_eq!(parse("").unwrap().unwrap().repeat, 1);
        let arguments = parse("--full --compare --only w1,w2-busy --store postgres --json x.json --write");
        let arguments = arguments.unwrap().unwrap();
        assert_eq!((arguments.request.extent, arguments.request.who), (Extent::Full, Who::Both));
        assert_eq!(
            (arguments.request.only, arguments.request.stores),
            (vec!["w1", "w2-busy"], vec!["postgres"])
        );
        assert_eq!((arguments.repeat, arguments.writes), (3, true));
        let typed = "cargo xtask bench --full --compare --only w1,w2-busy --store postgres --write";
        assert_eq!(arguments.typed, typed);
        assert_eq!(parse("--help"), Ok(None));
        let compared = parse("--earlier ./old").unwrap().unwrap();
        assert_eq!((compared.repeat, compared.request.only.as_slice()), (5, &["w1", "w2", "w4", "w11"][..]));
    }

    #[test]
    fn wrong_words_are_named() {
        for (line, culprit) in [
            ("--ful", "'--ful'"),
            ("quickly", "'quickly'"),
            ("--repeat", "--repeat"),
            ("--repeat 0", "above 0"),
            ("--slots many", "'many'"),
            ("--only w13", "'w13'"),
            ("--store redis", "'redis'"),
            ("--only w12 --store memory", "nothing to measure"),
        ] {
            let complaint = parse(line).unwrap_err();
            assert!(complaint.contains(culprit), "{line:?} gave {complaint:?}");
        }
    }
}
