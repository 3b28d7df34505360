//! PostgreSQL, from the packages of Debian and its descendants.

use std::process::{Command, Stdio};

use abide_throwaway::{OLDEST, StartError, Version};
use anyhow::{Context, bail};

use crate::test_run::step::loudly;

const PACKAGES: [&str; 2] = ["postgresql", "postgresql-common"];

/// Installs what is missing. Tests are never left out for want of it, so without it the run ends here.
pub(crate) fn ensure() -> anyhow::Result<()> {
    let Err(absence) = Version::newest() else { return Ok(()) };
    println!("{absence}: installing {}", PACKAGES.join(" and "));
    let installed = install().and_then(|()| Version::newest().map_err(StartError::into));
    installed.map(drop).with_context(|| {
        format!("the tests need PostgreSQL {OLDEST} or newer and `pg_virtualenv`; install them by hand")
    })
}

fn install() -> anyhow::Result<()> {
    let Some(prefix) = Prefix::of_this_user() else {
        bail!("only root can install packages, and there is no `sudo`");
    };
    if loudly(&mut prefix.apt_get(&install_arguments())).is_ok() {
        return Ok(());
    }
    // A fresh machine has no list of packages, or an old one.
    loudly(&mut prefix.apt_get(&["update"]))?;
    loudly(&mut prefix.apt_get(&install_arguments())).map(drop)
}

fn install_arguments() -> Vec<&'static str> {
    // Somebody else may be installing something just now.
    let options = ["install", "--yes", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=300"];
    [options.as_slice(), PACKAGES.as_slice()].concat()
}

/// What a user types in front to be root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Prefix {
    Nothing,
    Sudo,
}

impl Prefix {
    fn of_this_user() -> Option<Self> {
        if said_by(Command::new("id").arg("-u")).is_some_and(|user| user == "0") {
            return Some(Self::Nothing);
        }
        said_by(Command::new("sudo").arg("--version")).map(|_| Self::Sudo)
    }

    /// Behind `env`, because sudo does not pass variables on.
    fn apt_get(self, arguments: &[&str]) -> Command {
        let mut command = match self {
            Self::Nothing => Command::new("env"),
            Self::Sudo => {
                let mut command = Command::new("sudo");
                command.arg("env");
                command
            }
        };
        command.args(["DEBIAN_FRONTEND=noninteractive", "apt-get"]).args(arguments);
        command
    }
}

fn said_by(command: &mut Command) -> Option<String> {
    let answer = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    answer.status.success().then(|| String::from_utf8_lossy(&answer.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(command: &Command) -> String {
        let words = [command.get_program()].into_iter().chain(command.get_args());
        words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn packages_are_installed_without_a_question() {
        let expected = "env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \
                        -o DPkg::Lock::Timeout=300 postgresql postgresql-common";
        assert_eq!(line(&Prefix::Nothing.apt_get(&install_arguments())), expected);
        assert_eq!(line(&Prefix::Sudo.apt_get(&install_arguments())), format!("sudo {expected}"));
    }
}
