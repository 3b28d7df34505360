//! The commit and the machine, for the page.

use std::fs;
use std::process::Command;

use super::page::Origin;

pub(crate) fn origin(command: &str, postgres: Option<&str>) -> Origin {
    let commit = said("git", &["rev-parse", "--short", "HEAD"]).unwrap_or_else(|| "unknown".to_owned());
    let is_changed =
        said("git", &["status", "--porcelain", "--untracked-files=no"]).is_some_and(|it| !it.is_empty());
    let commit = if is_changed { format!("{commit}, with changes") } else { commit };
    Origin { command: command.to_owned(), commit, machine: machine(postgres) }
}

fn machine(postgres: Option<&str>) -> String {
    let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = processors.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let name = name.map_or("an unknown processor", |(_, name)| name.trim());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kilobytes = memory.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kilobytes: u64 =
        kilobytes.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or_default();
    let system = said("uname", &["-sr"]).unwrap_or_default();
    let disk = said("stat", &["-f", "-c", "%T", &std::env::temp_dir().display().to_string()]);
    let disk = disk.map_or_else(String::new, |disk| format!(", files on {disk}"));
    let postgres = postgres.map_or_else(String::new, |version| format!(", {version}"));
    format!("{cores} cores of {name}, {} GB, {system}{disk}{postgres}", kilobytes.div_ceil(1_048_576))
}

fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
