//! The output: lines that stay, and below them, on a terminal, a board that is painted again and again.
//!
//! The cursor is hidden while there is a board, and shown again on every way out: when the board is removed, when this is
//! dropped, and before a panic is printed. Nothing else of the terminal is changed, so nothing else needs restoring.
//!
//! Whoever reads the output may go away at any time: every write can fail, and nothing here panics for it.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::cli::Style;
use crate::line::{Line, Tone};

const HIDE_CURSOR: &str = "\x1b[?25l";
const SHOW_CURSOR: &str = "\x1b[?25h";
/// The terminal shows what comes between these at once; one that does not know them ignores them.
const BEGIN_FRAME: &str = "\x1b[?2026h";
const END_FRAME: &str = "\x1b[?2026l";

static CURSOR_IS_HIDDEN: AtomicBool = AtomicBool::new(false);

/// How much fits on the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Colours {
    On,
    Off,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Medium {
    Terminal(Colours),
    /// A file or a pipe: no escape codes.
    Lines,
}

#[derive(Debug)]
pub(crate) struct Screen {
    medium: Medium,
    /// How many lines the board has that is on the terminal now.
    board_height: usize,
    /// What the terminal measured when it was painted.
    board_size: Option<Size>,
}

impl Screen {
    pub(crate) fn new(style: Style) -> Self {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let can_paint = io::stdout().is_terminal() && set("TERM").is_none_or(|term| term != "dumb");
        let colours = if set("NO_COLOR").is_some() { Colours::Off } else { Colours::On };
        let medium = match style {
            Style::Automatic if can_paint => Medium::Terminal(colours),
            Style::Automatic | Style::Plain => Medium::Lines,
        };
        Self { medium, board_height: 0, board_size: None }
    }

    /// Whether there is a board; otherwise every change deserves a line.
    pub(crate) fn is_live(&self) -> bool {
        match self.medium {
            Medium::Terminal(_) => true,
            Medium::Lines => false,
        }
    }

    pub(crate) fn size(&self) -> Size {
        let standard = Size { columns: 80, rows: 24 };
        match self.medium {
            Medium::Terminal(_) => terminal_size::terminal_size_of(io::stdout())
                .map(|(width, height)| Size { columns: width.0.into(), rows: height.0.into() })
                .filter(|size| size.columns > 0 && size.rows > 0)
                .unwrap_or(standard),
            Medium::Lines => standard,
        }
    }

    /// Writes lines that stay, above the board if there is one.
    pub(crate) fn print(&mut self, lines: &[Line]) -> io::Result<()> {
        let mut text = self.erased_board();
        for line in lines {
            text.push_str(&self.text(line));
            text.push('\n');
        }
        write(&text)
    }

    /// The same for lines of a table, which are rather cut than wrapped.
    pub(crate) fn print_table(&mut self, lines: &[Line]) -> io::Result<()> {
        match self.medium {
            Medium::Terminal(_) => {
                let columns = self.size().columns;
                let fitted: Vec<Line> = lines.iter().cloned().map(|line| line.fit(columns)).collect();
                self.print(&fitted)
            }
            Medium::Lines => self.print(lines),
        }
    }

    /// Puts this board in the place of the last one. Without a terminal, nothing is shown.
    pub(crate) fn paint(&mut self, board: &[Line]) -> io::Result<()> {
        if !self.is_live() {
            return Ok(());
        }
        let size = self.size();
        let mut frame = String::from(BEGIN_FRAME);
        if !CURSOR_IS_HIDDEN.swap(true, Ordering::SeqCst) {
            frame.push_str(HIDE_CURSOR);
        }
        if self.board_size.is_some_and(|before| before != size) {
            // The terminal has wrapped the old board in its own way: nobody knows where it begins.
            frame.push_str("\x1b[2J\x1b[H");
            self.board_height = 0;
        }
        frame.push_str(&self.erased_board());
        let visible = board.len().min(size.rows.saturating_sub(1));
        for line in &board[..visible] {
            let line = self.text(&line.clone().fit(size.columns));
            // Writing to a String cannot fail.
            let _written = writeln!(frame, "{line}");
        }
        frame.push_str(END_FRAME);
        self.board_height = visible;
        self.board_size = Some(size);
        write(&frame)
    }

    /// Removes the board and gives the cursor back.
    pub(crate) fn remove_board(&mut self) -> io::Result<()> {
        let mut text = self.erased_board();
        if CURSOR_IS_HIDDEN.swap(false, Ordering::SeqCst) {
            text.push_str(SHOW_CURSOR);
        }
        write(&text)
    }

    fn erased_board(&mut self) -> String {
        match std::mem::take(&mut self.board_height) {
            0 => String::new(),
            height => format!("\r\x1b[{height}A\x1b[J"),
        }
    }

    fn text(&self, line: &Line) -> String {
        match self.medium {
            Medium::Terminal(Colours::On) => line.coloured(),
            Medium::Terminal(Colours::Off) | Medium::Lines => line.plain(),
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // If the terminal is gone, there is nothing to restore.
        let _written = show_cursor();
    }
}

/// Shows the cursor before a panic is printed, not only when the stack is unwound.
pub(crate) fn restore_on_panic() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let _written = show_cursor();
        print(panic);
    }));
}

/// Writes one line to standard error; that nobody can read it changes nothing.
pub(crate) fn complain(message: &str) {
    let _written = writeln!(io::stderr(), "abide-demo: {message}");
}

/// Writes text to standard output.
pub(crate) fn write(text: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    output.write_all(text.as_bytes())?;
    output.flush()
}

fn show_cursor() -> io::Result<()> {
    if CURSOR_IS_HIDDEN.swap(false, Ordering::SeqCst) { write(SHOW_CURSOR) } else { Ok(()) }
}

/// A line of blanks.
pub(crate) fn blank() -> Line {
    Tone::Normal.line("")
}
