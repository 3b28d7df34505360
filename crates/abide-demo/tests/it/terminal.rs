//! On a terminal: a pseudo-terminal made by `script`, of a size set by `stty`. Where there is no `script`, nothing is tried,
//! and this is said; with `CI` set it is a failure.

use std::io::{Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use crate::support::{Temp, text};

const HIDE_CURSOR: &str = "\x1b[?25l";
const SHOW_CURSOR: &str = "\x1b[?25h";
const CTRL_C: &[u8] = b"\x03";

struct Terminal {
    script: Child,
    keyboard: ChildStdin,
    output: ChildStdout,
    seen: Vec<u8>,
}

impl Terminal {
    fn start(temp: &Temp, size: &str, arguments: &str) -> Option<Self> {
        let version = Command::new("script").arg("--version").output();
        if !version.is_ok_and(|it| text(&it.stdout).contains("util-linux")) {
            assert!(std::env::var_os("CI").is_none(), "`script` of util-linux is not installed");
            eprintln!("left out: `script` of util-linux is not installed");
            return None;
        }
        let demo = env!("CARGO_BIN_EXE_abide-demo");
        let command = format!("stty {size} && exec '{demo}' {arguments}");
        let mut script = Command::new("script")
            .args(["--quiet", "--return", "--flush", "--command", &command, "/dev/null"])
            .env("TMPDIR", temp.path())
            .env("TERM", "xterm-256color")
            .env("SHELL", "/bin/sh")
            .env_remove("NO_COLOR")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .ok()?;
        let (keyboard, output) = (script.stdin.take()?, script.stdout.take()?);
        Some(Self { script, keyboard, output, seen: Vec::new() })
    }

    fn wait_for(&mut self, expected: &str) {
        let mut buffer = [0; 4_096];
        while !String::from_utf8_lossy(&self.seen).contains(expected) {
            let length = self.output.read(&mut buffer).unwrap();
            assert_ne!(length, 0, "it ended without '{expected}': {}", String::from_utf8_lossy(&self.seen));
            self.seen.extend_from_slice(&buffer[..length]);
        }
    }

    fn press(&mut self, keys: &[u8]) {
        self.keyboard.write_all(keys).unwrap();
        self.keyboard.flush().unwrap();
    }

    fn finish(mut self) -> (ExitStatus, String) {
        self.output.read_to_end(&mut self.seen).unwrap();
        (self.script.wait().unwrap(), text(&self.seen))
    }
}

fn assert_cursor_is_back(seen: &str) {
    let hidden = seen.rfind(HIDE_CURSOR).expect("the cursor was hidden");
    let shown = seen.rfind(SHOW_CURSOR).expect("the cursor was shown");
    assert!(hidden < shown);
}

/// The boards that were painted, without their escape codes.
fn frames(seen: &str) -> Vec<Vec<String>> {
    let frames = seen.split("\x1b[?2026h").skip(1);
    let frames = frames.map(|rest| rest.split_once("\x1b[?2026l").expect("a frame has an end").0);
    frames.map(|frame| without_escapes(frame).lines().map(str::to_owned).collect()).collect()
}

fn without_escapes(text: &str) -> String {
    let mut pieces = text.split("\x1b[");
    let first = pieces.next().unwrap_or_default().to_owned();
    let rest = pieces.map(|piece| piece.trim_start_matches(|sign: char| !sign.is_ascii_alphabetic()));
    let rest: String = rest.map(|piece| &piece[1..]).collect();
    (first + &rest).replace('\r', "")
}

#[test]
fn a_whole_day_on_a_terminal() {
    let temp = Temp::new("pty");
    let Some(terminal) = Terminal::start(&temp, "rows 24 cols 80", "--orders 5") else { return };
    let (status, seen) = terminal.finish();
    assert!(status.success(), "{seen}");
    assert_cursor_is_back(&seen);
    assert!(seen.contains("Every order ended exactly right"), "{seen}");
    let frames = frames(&seen);
    assert!(frames.len() > 10, "{}", frames.len());
    for frame in &frames {
        assert!(frame.len() < 24, "{frame:#?}");
        assert!(frame.iter().all(|line| line.chars().count() <= 80), "{frame:#?}");
    }
    assert!(frames.iter().flatten().any(|line| line.contains("worker is dead")), "{frames:#?}");
    temp.assert_clean();
}

#[test]
fn a_small_terminal_and_no_colours() {
    let temp = Temp::new("pty-small");
    let Some(terminal) = Terminal::start(&temp, "rows 6 cols 30; export NO_COLOR=1", "--orders 5 --no-crash")
    else {
        return;
    };
    let (status, seen) = terminal.finish();
    assert!(status.success(), "{seen}");
    assert_cursor_is_back(&seen);
    assert!(!seen.contains("\x1b[0m"), "{seen}");
    for frame in frames(&seen) {
        assert!(frame.len() < 6 && frame.iter().all(|line| line.chars().count() <= 30), "{frame:#?}");
    }
    temp.assert_clean();
}

#[test]
fn a_dumb_terminal_gets_lines() {
    let temp = Temp::new("pty-dumb");
    let Some(terminal) = Terminal::start(&temp, "rows 24 cols 80; export TERM=dumb", "--orders 1 --no-crash")
    else {
        return;
    };
    let (status, seen) = terminal.finish();
    assert!(status.success(), "{seen}");
    assert!(!seen.contains('\x1b'), "{seen}");
    temp.assert_clean();
}

#[test]
fn ctrl_c_at_several_points_gives_the_terminal_back() {
    for (number, point) in
        ["worker", "charging the card", "worker is dead", "Another worker", "out for delivery"]
            .iter()
            .enumerate()
    {
        let temp = Temp::new(&format!("pty-ctrl-c-{number}"));
        let Some(mut terminal) = Terminal::start(&temp, "rows 24 cols 80", "--orders 3") else { return };
        terminal.wait_for(HIDE_CURSOR);
        terminal.wait_for(point);
        terminal.press(CTRL_C);
        let (status, seen) = terminal.finish();
        assert_eq!(status.code(), Some(130), "{seen}");
        assert_cursor_is_back(&seen);
        assert!(seen.contains("Interrupted."), "{seen}");
        temp.assert_clean();
    }
}
