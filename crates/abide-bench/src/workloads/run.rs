//! Runs the program for one measurement, and does not wait for ever.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::Value;

use super::line::{Ended, Line, Side, Subject, Time};
use super::plan::Case;
use crate::store::Fallible;

/// The reference takes 13 to 25 seconds for one of them.
const CANCELLATIONS_OF_THE_REFERENCE: u64 = 2;

/// Which program, and in whose name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Program<'a> {
    pub(crate) side: Side,
    pub(crate) path: &'a Path,
}

/// Where the store is, and the first process of its server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) at: &'a str,
    pub(crate) server: Option<&'a str>,
}

impl Case {
    pub(crate) fn subject(&self, side: Side) -> Subject {
        Subject {
            workload: self.workload.to_owned(),
            size: self.size,
            store: self.store.to_owned(),
            slots: self.slots,
            nodes: self.nodes,
            activity_ms: self.activity_ms,
            side,
        }
    }
}

/// What the program prints as its result, or what became of it.
pub(crate) fn run(program: Program<'_>, case: &Case, place: Place<'_>) -> Fallible<Line> {
    let mut command = Command::new(program.path);
    command.args([case.workload, "--store", case.store, "--at", place.at]);
    if let Some(server) = place.server {
        command.args(["--server", server]);
    }
    let samples = match program.side {
        Side::Reference if case.workload == "w10" => CANCELLATIONS_OF_THE_REFERENCE,
        Side::Ours | Side::Reference | Side::Ceiling => case.samples,
    };
    let options = [
        ("--size", Some(case.size)),
        ("--slots", case.slots),
        ("--samples", Some(samples)),
        ("--seconds", Some(case.seconds)),
        ("--nodes", Some(case.nodes)),
        ("--activity-ms", Some(case.activity_ms)),
    ];
    for (option, value) in options {
        if let Some(value) = value {
            command.args([option, &value.to_string()]);
        }
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("{}: {error}", program.path.display()))?;
    let result = last_line(child.stdout.take(), |line| line.starts_with('{'))?;
    let complaint = last_line(child.stderr.take(), |line| !line.trim().is_empty())?;

    let empty = Line {
        subject: case.subject(program.side),
        time: Time::default(),
        ended: Ended::Good,
        failures: 0,
        figures: BTreeMap::new(),
        counters: BTreeMap::new(),
    };
    // It ends when its output does.
    let Ok(result) = result.recv_timeout(case.limit) else {
        child.kill()?;
        child.wait()?;
        return Ok(Line { ended: Ended::TooLong(case.limit.as_secs()), ..empty });
    };
    let status = child.wait()?;
    let line = result.and_then(|text| serde_json::from_str::<Value>(&text).ok());
    if let Some(line) = line.as_ref().and_then(Line::from_json) {
        return Ok(Line { subject: empty.subject, ..line });
    }
    let said = complaint.recv().ok().flatten();
    let complaint = said.unwrap_or_else(|| format!("it ended with {status}"));
    Ok(Line { ended: Ended::Broken(complaint), ..empty })
}

/// Reads everything, so that the program never has to wait, and keeps the last line that is of interest.
fn last_line(
    output: Option<impl Read + Send + 'static>,
    is_of_interest: fn(&str) -> bool,
) -> Fallible<Receiver<Option<String>>> {
    let (tell, told) = channel();
    let output = output.ok_or("the program has no output")?;
    let read = move || {
        let lines = BufReader::new(output).lines().map_while(Result::ok);
        let last = lines.filter(|line| is_of_interest(line)).last();
        // Nobody asks if it took too long.
        tell.send(last).ok();
    };
    std::thread::Builder::new().name("output".to_owned()).spawn(read)?;
    Ok(told)
}
