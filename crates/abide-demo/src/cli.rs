//! What can be asked for on the command line.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::shop::MOST_ORDERS;
use crate::store::Choice;

pub(crate) const HELP: &str = "\
A shop on abide. It processes orders on an embedded SQLite file, kills its own worker process in the middle,
starts another, and shows that every order still ends correctly.

usage: cargo run [-- OPTIONS]

  --orders N    number of orders, 1 to 200 (default: 12)
  --no-crash    do not kill the worker
  --seed N      choose another day, with other goods and prices (default: 1)
  --keep        keep the files (database, effects, log of the worker) and print where they are
  --dir PATH    keep the files in this folder, which must be new, empty, or from an earlier run;
                an interrupted run continues where it stopped
  --db WHERE    keep the orders in this store: ./file.db or postgres://user:password@host/database (in the
                schema abide_demo). It may contain only orders of this demo; the next run removes them.
                The other files stay where they are. Only one run at a time may use the store
  --plain       print lines instead of a live board; the default if the output is not a terminal
  --help        print this text

What to look at: an order is one async function, crates/abide-demo/src/shop/orchestrations.rs. It has a chain of
steps, a parallel fan-out, retries of a flaky payment, a durable timer, an approval that a person gives, a child
orchestration, and compensation. It has no code for crashes.

Ctrl-C shuts the shop down cleanly. NO_COLOR turns colors off.
Exit codes: 0 all orders right, 1 something is wrong, 2 wrong arguments, 130 interrupted.
";

pub(crate) const WORKER: &str = "worker";

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Command {
    Shop(Options),
    /// The other process: it works on the shop in this folder until its standard input ends.
    Worker(PathBuf),
    Help,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) orders: Option<usize>,
    pub(crate) seed: Option<u64>,
    pub(crate) crash: Crash,
    pub(crate) place: Place,
    /// Where the orders are kept, if not beside the other files.
    pub(crate) store: Option<Choice>,
    pub(crate) style: Style,
}

/// Whether the worker is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Crash {
    InTheMiddle,
    Never,
}

/// Where the files are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// In a temporary folder that is gone afterwards.
    Temporary,
    /// In a temporary folder that stays.
    Kept,
    Chosen(PathBuf),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// A live board on a terminal, lines elsewhere.
    Automatic,
    Plain,
}

/// The arguments make no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UsageError {
    #[error("there is no option '{0}'")]
    Unknown(String),
    #[error("{0} needs a value")]
    NoValue(&'static str),
    #[error("{option} takes {expected}, not '{found}'")]
    BadValue { option: &'static str, expected: &'static str, found: String },
    #[error("--db: {0}")]
    Store(String),
}

/// Understands the arguments, program name excluded.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, UsageError> {
    let mut arguments = arguments.into_iter().peekable();
    if arguments.next_if(|first| first == WORKER).is_some() {
        let folder = arguments.next().ok_or(UsageError::NoValue(WORKER))?;
        return Ok(Command::Worker(PathBuf::from(folder)));
    }
    let mut options = Options {
        orders: None,
        seed: None,
        crash: Crash::InTheMiddle,
        place: Place::Temporary,
        store: None,
        style: Style::Automatic,
    };
    while let Some(argument) = arguments.next() {
        let argument = argument
            .into_string()
            .map_err(|other| UsageError::Unknown(other.to_string_lossy().into_owned()))?;
        let (name, mut inline) = match argument.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(OsString::from(value))),
            Some(_) | None => (argument.as_str(), None),
        };
        let mut value = |option| {
            let given = inline.take().or_else(|| arguments.next());
            given.filter(|value| !value.is_empty()).ok_or(UsageError::NoValue(option))
        };
        match name {
            "--orders" => options.orders = Some(orders(&value("--orders")?)?),
            "--seed" => options.seed = Some(number("--seed", "a number", &value("--seed")?)?),
            "--db" => options.store = Some(store(&value("--db")?)?),
            "--dir" => options.place = Place::Chosen(PathBuf::from(value("--dir")?)),
            "--no-crash" => options.crash = Crash::Never,
            "--keep" if options.place == Place::Temporary => options.place = Place::Kept,
            "--keep" => {}
            "--plain" => options.style = Style::Plain,
            "--help" | "-h" => return Ok(Command::Help),
            _ => return Err(UsageError::Unknown(argument)),
        }
        if inline.is_some() {
            return Err(UsageError::Unknown(argument));
        }
    }
    Ok(Command::Shop(options))
}

fn orders(value: &OsString) -> Result<usize, UsageError> {
    const EXPECTED: &str = "a number from 1 to 200";
    let count = number("--orders", EXPECTED, value)?;
    if (1..=MOST_ORDERS).contains(&count) {
        Ok(count)
    } else {
        Err(UsageError::BadValue { option: "--orders", expected: EXPECTED, found: count.to_string() })
    }
}

fn store(value: &OsString) -> Result<Choice, UsageError> {
    let text = value.to_str().ok_or_else(|| UsageError::Store("it is not UTF-8".to_owned()))?;
    Choice::new(text).map_err(|error| UsageError::Store(error.to_string()))
}

fn number<T: std::str::FromStr>(
    option: &'static str,
    expected: &'static str,
    value: &OsString,
) -> Result<T, UsageError> {
    let text = value.to_string_lossy();
    text.parse().map_err(|_| UsageError::BadValue { option, expected, found: text.into_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &[&str]) -> Result<Command, String> {
        parse(arguments.iter().map(OsString::from)).map_err(|error| error.to_string())
    }

    fn options(arguments: &[&str]) -> Options {
        match parsed(arguments) {
            Ok(Command::Shop(options)) => options,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn nothing_is_needed() {
        let options = options(&[]);
        assert_eq!((options.orders, options.seed), (None, None));
        assert_eq!((options.crash, options.place), (Crash::InTheMiddle, Place::Temporary));
    }

    #[test]
    fn values_come_after_a_space_or_an_equals_sign() {
        assert_eq!(options(&["--orders", "20"]).orders, Some(20));
        assert_eq!(options(&["--orders=200", "--seed=5"]).seed, Some(5));
        assert_eq!(options(&["--dir=a=b"]).place, Place::Chosen(PathBuf::from("a=b")));
    }

    #[test]
    fn a_store_is_a_file_or_a_server() {
        for text in ["./shop.db", "sqlite:shop.db", "postgres://ada@db/shop?sslmode=require"] {
            assert_eq!(options(&["--db", text]).store, Some(Choice::new(text).unwrap()));
        }
    }

    #[test]
    fn a_chosen_folder_is_kept_anyway() {
        let chosen = Place::Chosen(PathBuf::from("x"));
        assert_eq!(options(&["--dir", "x", "--keep"]).place, chosen);
        assert_eq!(options(&["--keep", "--dir", "x"]).place, chosen);
        assert_eq!(options(&["--keep"]).place, Place::Kept);
    }

    #[test]
    fn mistakes_are_told_in_one_line() {
        let told = |arguments| parsed(arguments).unwrap_err();
        assert_eq!(told(&["--frobnicate"]), "there is no option '--frobnicate'");
        assert_eq!(told(&["--plain=yes"]), "there is no option '--plain=yes'");
        assert_eq!(told(&["--orders"]), "--orders needs a value");
        assert_eq!(told(&["--dir="]), "--dir needs a value");
        assert_eq!(told(&["--orders", "0"]), "--orders takes a number from 1 to 200, not '0'");
        assert_eq!(told(&["--orders", "many"]), "--orders takes a number from 1 to 200, not 'many'");
        assert_eq!(told(&["--db"]), "--db needs a value");
        assert!(
            told(&["--db", "mysql://ada:secret@db"]).starts_with("--db: this is no address of a store: ")
        );
        assert!(told(&["--db=:memory:"]).contains("cannot be shared with a worker process"));
        assert_eq!(told(&["--seed=-1"]), "--seed takes a number, not '-1'");
    }
}
