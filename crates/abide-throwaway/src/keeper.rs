//! The process between an owner and its server; what it does is in `keeper.sh` and `keeper_inside.sh`.
//!
//! It runs in a process group of its own, so that Ctrl-C reaches the owner only, and the keeper in its turn.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::error::{ControlError, StartError};
use crate::installed::Version;
use crate::port::Port;
use crate::settings::Settings;

const SCRIPT: &str = include_str!("keeper.sh");
const INSIDE: &str = include_str!("keeper_inside.sh");

/// `pg_virtualenv -c`: without it the encoding would be that of whoever runs the tests.
const CREATION: &str = "--encoding=UTF8 --locale=C.UTF-8";

#[derive(Debug)]
pub(crate) struct Keeper {
    child: Child,
    /// `None` once the keeper was told to end.
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

/// How to reach the server, and where its files are.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Site {
    pub(crate) port: String,
    pub(crate) user: String,
    pub(crate) password: String,
    pub(crate) database: String,
    pub(crate) folder: PathBuf,
    pub(crate) log: PathBuf,
}

/// What the keeper says in the end, and what it said before.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Good { facts: Vec<(String, String)> },
    Bad { output: String },
}

impl Keeper {
    pub(crate) fn start(
        version: &Version,
        settings: &Settings,
        port: &Port,
    ) -> Result<(Self, Site), StartError> {
        let mut command = Command::new("sh");
        command.args(["-c", SCRIPT, "keeper", INSIDE]);
        // `-t`: in a temporary folder, also if we are root, so that there can be several.
        command.args(["-t", "-v", &version.major().to_string(), "-c", CREATION]).args(settings.options());
        command.env("PGPORT", port.number().to_string());
        // In an own folder or in one that is removed meanwhile, programs of another user complain.
        command.current_dir("/").process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(StartError::Keeper)?;
        let (requests, answers) = (child.stdin.take(), child.stdout.take());
        let answers = answers.ok_or_else(|| StartError::Keeper(io::ErrorKind::BrokenPipe.into()))?;
        let mut keeper = Self { child, requests, answers: BufReader::new(answers) };
        match read_answer(&mut keeper.answers).map_err(StartError::Keeper)? {
            Answer::Good { facts } => Ok((keeper, Site::of(facts))),
            Answer::Bad { output } => Err(StartError::Refused { output }),
        }
    }

    /// Waits until it is done.
    pub(crate) fn ask(&mut self, request: &str) -> Result<(), ControlError> {
        let answer = self.request(request).map_err(ControlError::Keeper)?;
        match answer {
            Answer::Good { .. } => Ok(()),
            Answer::Bad { output } => Err(ControlError::Refused { output }),
        }
    }

    fn request(&mut self, request: &str) -> io::Result<Answer> {
        let requests = self.requests.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        requests.write_all(format!("{request}\n").as_bytes())?;
        read_answer(&mut self.answers)
    }
}

impl Drop for Keeper {
    /// The server and its files are gone afterwards.
    fn drop(&mut self) {
        self.requests = None;
        // Nothing can be done about a keeper that cannot be waited for: it goes on by itself.
        self.child.wait().ok();
    }
}

impl Site {
    fn of(facts: Vec<(String, String)>) -> Self {
        let mut site = Self::default();
        for (name, value) in facts {
            match name.as_str() {
                "port" => site.port = value,
                "user" => site.user = value,
                "password" => site.password = value,
                "database" => site.database = value,
                "folder" => site.folder = value.into(),
                "log" => site.log = value.into(),
                // The scripts are part of this file: they say nothing else.
                _ => {}
            }
        }
        site
    }
}

fn read_answer(lines: &mut impl BufRead) -> io::Result<Answer> {
    let (mut facts, mut output) = (Vec::new(), String::new());
    for line in lines.lines() {
        let line = line?;
        match line.split_once(' ').unwrap_or((&line, "")) {
            ("ready" | "done", _) => return Ok(Answer::Good { facts }),
            ("failed", _) => return Ok(Answer::Bad { output }),
            ("note", text) => output.extend([text, "\n"]),
            (name, value) => facts.push((name.to_owned(), value.to_owned())),
        }
    }
    Err(io::ErrorKind::UnexpectedEof.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_read_up_to_the_word_that_ends_them() {
        let mut lines = "port 5\nuser u\npassword p w\nfolder /a\nready\ndone\n".as_bytes();
        let Answer::Good { facts } = read_answer(&mut lines).unwrap() else { panic!("not good") };
        let site = Site::of(facts);
        assert_eq!((site.port.as_str(), site.user.as_str(), site.password.as_str()), ("5", "u", "p w"));
        assert_eq!(site.folder, PathBuf::from("/a"));
        assert_eq!(read_answer(&mut lines).unwrap(), Answer::Good { facts: vec![] });
    }

    #[test]
    fn a_failure_brings_its_reasons() {
        let mut lines = "port 5\nnote one\nnote\nnote two words\nfailed\n".as_bytes();
        let output = "one\n\ntwo words\n".to_owned();
        assert_eq!(read_answer(&mut lines).unwrap(), Answer::Bad { output });
    }

    #[test]
    fn an_answer_that_breaks_off_is_an_error() {
        for text in ["", "port 5\n", "note why\n"] {
            let error = read_answer(&mut text.as_bytes()).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{text:?}");
        }
    }
}
