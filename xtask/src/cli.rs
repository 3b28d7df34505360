//! What can be typed after `cargo xtask`.

use crate::planted;
use crate::soak::Soak;
use crate::test_run::Scope;
use crate::torture::{self, CAMPAIGNS, Torture};

pub(crate) const USAGE: &str = "\
Usage: cargo xtask <command>

Commands:
  test [--fast]              run everything that a change must pass; --fast skips the planted bugs
  tidy                       check the rules of this repository that no compiler checks
  planted [--write] [NAME…]  plant each known bug in a copy of the source, and show that a test catches it;
                             --write records the result in docs/planted-bugs.md
  soak [--seeds N] [--seed N] [--cases N]
                             run the properties with more cases and other seeds (default: 5 seeds of
                             20000 cases, a few minutes)
  torture [NAME…] [--seconds N]
                             run tests at full length (default: all, about an hour and a half).
                             Stores: differential, crash, prune, faults, flat, stress, delete-large,
                             differential-postgres, flat-postgres, stall. Runtime: runtime. Processes:
                             kill and nodes, N seconds for each variant (default: 60); deploys, delete,
                             starts
  bench [OPTION…]            measure how long users wait: a few minutes; --full measures everything,
                             --compare also the reference, --write writes docs/benchmarks.md,
                             --against COMMIT compares with the build of a commit;
                             `bench --help` lists the options and the smaller benchmarks
  help                       print this text";

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Help,
    Tidy,
    Test(Scope),
    Planted(planted::Request),
    Soak(Soak),
    Torture(Torture),
    Bench { options: Vec<String> },
}

impl Command {
    /// The error is a sentence for the person who typed the arguments.
    pub(crate) fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut words = arguments.iter().map(String::as_str);
        let Some(name) = words.next() else { return Ok(Self::Help) };
        let rest: Vec<&str> = words.collect();
        if name == "bench" {
            // Its options, `--help` among them, are the benchmark's own.
            return Ok(Self::Bench { options: rest.into_iter().map(str::to_owned).collect() });
        }
        if is_help(name) || rest.iter().copied().any(is_help) {
            return Ok(Self::Help);
        }
        match name {
            "tidy" => parse_tidy(&rest),
            "test" => parse_test(&rest),
            "planted" => parse_planted(&rest),
            "soak" => parse_soak(&rest),
            "torture" => parse_torture(&rest),
            unknown => Err(format!("there is no command `{unknown}`")),
        }
    }
}

fn is_help(word: &str) -> bool {
    matches!(word, "help" | "--help" | "-h")
}

fn parse_tidy(rest: &[&str]) -> Result<Command, String> {
    match rest {
        [] => Ok(Command::Tidy),
        [unknown, ..] => Err(format!("`tidy` takes no argument `{unknown}`")),
    }
}

fn parse_test(rest: &[&str]) -> Result<Command, String> {
    match rest {
        [] => Ok(Command::Test(Scope::Everything)),
        ["--fast"] => Ok(Command::Test(Scope::Fast)),
        ["--fast", unknown, ..] | [unknown, ..] => Err(format!("`test` takes no argument `{unknown}`")),
    }
}

fn parse_soak(rest: &[&str]) -> Result<Command, String> {
    let mut soak = Soak::default();
    for pair in rest.chunks(2) {
        let [option, value] = pair else { return Err(format!("`{}` needs a number", pair.concat())) };
        let number: u32 = value.parse().map_err(|_| format!("`{option}` needs a number, not `{value}`"))?;
        match *option {
            "--seeds" => soak.seeds = u64::from(number),
            "--seed" => soak.first_seed = u64::from(number),
            "--cases" => soak.cases = number,
            unknown => return Err(format!("`soak` takes no argument `{unknown}`")),
        }
    }
    Ok(Command::Soak(soak))
}

fn parse_torture(rest: &[&str]) -> Result<Command, String> {
    let (names, seconds) = match rest {
        [names @ .., "--seconds", number] => {
            let seconds =
                number.parse().map_err(|_| format!("`--seconds` needs a number, not `{number}`"))?;
            (names, Some(seconds))
        }
        names => (names, None),
    };
    let campaign = |name: &&str| torture::named(name).ok_or_else(|| format!("there is no campaign `{name}`"));
    let campaigns = if names.is_empty() {
        CAMPAIGNS.iter().collect()
    } else {
        names.iter().map(campaign).collect::<Result<_, _>>()?
    };
    Ok(Command::Torture(Torture { campaigns, seconds }))
}

fn parse_planted(rest: &[&str]) -> Result<Command, String> {
    let (flags, names): (Vec<&str>, Vec<&str>) = rest.iter().copied().partition(|word| word.starts_with('-'));
    if let Some(unknown) = flags.iter().find(|flag| **flag != "--write") {
        return Err(format!("`planted` takes no argument `{unknown}`"));
    }
    if flags.is_empty() {
        return Ok(Command::Planted(planted::Request::Check {
            names: names.into_iter().map(str::to_owned).collect(),
        }));
    }
    if names.is_empty() {
        return Ok(Command::Planted(planted::Request::CheckAllAndWrite));
    }
    Err("`planted --write` records every bug, so it takes no names".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Command, String> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Command::parse(&arguments)
    }

    #[test]
    fn nothing_and_every_form_of_help_print_the_usage() {
        for line in ["", "help", "--help", "-h", "test --help", "planted -h"] {
            assert_eq!(parse(line), Ok(Command::Help), "{line:?}");
        }
    }

    #[test]
    fn the_usage_names_every_campaign() {
        let words: Vec<&str> = USAGE.split([' ', ',', '.', ';', '\n']).collect();
        for campaign in CAMPAIGNS {
            assert!(words.contains(&campaign.name), "{}", campaign.name);
        }
    }

    #[test]
    fn commands_are_recognised() {
        assert_eq!(parse("tidy"), Ok(Command::Tidy));
        assert_eq!(parse("test"), Ok(Command::Test(Scope::Everything)));
        assert_eq!(parse("test --fast"), Ok(Command::Test(Scope::Fast)));
        assert_eq!(parse("planted --write"), Ok(Command::Planted(planted::Request::CheckAllAndWrite)));
        let names = vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(parse("soak"), Ok(Command::Soak(Soak::default())));
        let soak = Soak { seeds: 1, first_seed: 7, cases: 10 };
        assert_eq!(parse("soak --seeds 1 --seed 7 --cases 10"), Ok(Command::Soak(soak)));
        let torture = |campaigns: Vec<_>, seconds| Ok(Command::Torture(Torture { campaigns, seconds }));
        assert_eq!(parse("torture"), torture(CAMPAIGNS.iter().collect(), None));
        let (crash, kill) = (torture::named("crash").unwrap(), torture::named("kill").unwrap());
        assert_eq!(parse("torture crash"), torture(vec![crash], None));
        assert_eq!(parse("torture crash kill --seconds 9"), torture(vec![crash, kill], Some(9)));
        let options = vec!["--events".to_owned(), "10".to_owned()];
        assert_eq!(parse("bench --events 10"), Ok(Command::Bench { options }));
        assert_eq!(parse("planted a b"), Ok(Command::Planted(planted::Request::Check { names })));
    }

    #[test]
    fn what_is_not_understood_is_named() {
        for (line, culprit) in [
            ("tidi", "`tidi`"),
            ("tidy now", "`now`"),
            ("test --slow", "`--slow`"),
            ("test --fast more", "`more`"),
            ("planted --wirte", "`--wirte`"),
            ("soak --seeds", "`--seeds`"),
            ("soak --seeds few", "`few`"),
            ("soak --hours 1", "`--hours`"),
            ("torture gently", "`gently`"),
            ("torture kill --seconds", "`--seconds`"),
            ("torture kill --seconds many", "`many`"),
        ] {
            let misuse = parse(line).unwrap_err();
            assert!(misuse.contains(culprit), "{line:?} gave {misuse:?}");
        }
    }

    #[test]
    fn a_partial_record_of_the_planted_bugs_is_refused() {
        assert!(parse("planted --write one").is_err());
    }
}
