//! The live board: a line for every order. Pure: what is known goes in, lines come out.
//!
//! It never has more lines than fit. If there are more orders than lines, those under way are shown.

use std::time::Duration;

use crate::line::{Line, Tone, column};
use crate::screen::{Size, blank};
use crate::shop::{Outcome, Purchase, Step};
use crate::words::counted;

/// Everything the board knows.
#[derive(Debug, Clone)]
pub(crate) struct Board {
    rows: Vec<Row>,
    pub(crate) worker: WorkerState,
    /// How often something happened outside.
    pub(crate) happenings: usize,
}

#[derive(Debug, Clone)]
pub(crate) struct Row {
    id: String,
    kind: &'static str,
    state: State,
    placed_at: Duration,
    ended_at: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum State {
    NotYet,
    Placed,
    At(Step),
    Ended(Outcome),
    /// It ended in an error, which no order should.
    Broken,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkerState {
    Starting,
    Running { process: u32 },
    Killed,
}

impl Board {
    pub(crate) fn new(purchases: &[Purchase]) -> Self {
        let row = |purchase: &Purchase| Row {
            id: purchase.order.id.clone(),
            kind: purchase.kind.label(),
            state: State::NotYet,
            placed_at: Duration::ZERO,
            ended_at: Duration::ZERO,
        };
        Self { rows: purchases.iter().map(row).collect(), worker: WorkerState::Starting, happenings: 0 }
    }

    /// Notes where an order stands; says whether that is news.
    pub(crate) fn update(&mut self, index: usize, state: State, now: Duration) -> bool {
        let row = &mut self.rows[index];
        if row.state == state {
            return false;
        }
        if row.state == State::NotYet {
            row.placed_at = now;
        }
        row.ended_at = now;
        row.state = state;
        true
    }

    /// How many orders were placed and have not ended.
    pub(crate) fn under_way(&self) -> usize {
        self.rows.iter().filter(|row| row.is_under_way()).count()
    }

    /// What has to be said about an order in a line of its own.
    pub(crate) fn news(&self, index: usize, now: Duration) -> Line {
        let row = &self.rows[index];
        stamp(now).and(Tone::Normal, format!("{}  ", column(&row.id, 9))).and(row.tone(), row.text())
    }

    /// At most as many lines as there are rows on the terminal, less one for the cursor.
    pub(crate) fn lines(&self, size: Size, now: Duration) -> Vec<Line> {
        const FRAME: usize = 3;
        let room = size.rows.saturating_sub(1);
        if room <= FRAME {
            return vec![self.headline(now).fit(size.columns)].into_iter().take(room).collect();
        }
        let rule = || Tone::Dim.line("─".repeat(size.columns.min(80)));
        let mut lines = Vec::new();
        if room > FRAME + self.rows.len() {
            lines.push(blank());
        }
        lines.extend([self.headline(now), rule()]);
        lines.extend(self.visible(room - FRAME, size.columns, now));
        lines.push(rule());
        lines.into_iter().map(|line| line.fit(size.columns)).collect()
    }

    fn headline(&self, now: Duration) -> Line {
        let ended = self.rows.iter().filter(|row| row.has_ended()).count();
        let (tone, worker) = match self.worker {
            WorkerState::Starting => (Tone::Dim, "no worker yet".to_owned()),
            WorkerState::Running { process } => (Tone::Good, format!("worker {process} at work")),
            WorkerState::Killed => (Tone::Bad, "worker is dead".to_owned()),
        };
        Tone::Dim
            .line(format!("{}  ", seconds(now)))
            .and(Tone::Bold, format!("{ended} of {} done", counted(self.rows.len(), "order")))
            .and(Tone::Normal, "   ")
            .and(tone, worker)
            .and(Tone::Normal, format!("   {} under way", self.under_way()))
            .and(Tone::Dim, format!(", {} so far", counted(self.happenings, "effect")))
    }

    fn visible(&self, room: usize, columns: usize, now: Duration) -> Vec<Line> {
        if self.rows.len() <= room {
            return self.rows.iter().map(|row| row.line(columns, now)).collect();
        }
        let under_way = self.rows.iter().filter(|row| row.is_under_way());
        let mut shown: Vec<Line> =
            under_way.take(room.saturating_sub(1)).map(|row| row.line(columns, now)).collect();
        let hidden = self.rows.len() - shown.len();
        let waiting = self.rows.iter().filter(|row| row.state == State::NotYet).count();
        shown.push(Tone::Dim.line(format!("… and {hidden} more, {waiting} of them not placed yet")));
        shown
    }
}

impl Row {
    fn is_under_way(&self) -> bool {
        match &self.state {
            State::Placed | State::At(_) => true,
            State::NotYet | State::Ended(_) | State::Broken => false,
        }
    }

    fn has_ended(&self) -> bool {
        match &self.state {
            State::Ended(_) | State::Broken => true,
            State::NotYet | State::Placed | State::At(_) => false,
        }
    }

    fn tone(&self) -> Tone {
        match &self.state {
            State::NotYet | State::Placed => Tone::Dim,
            State::At(Step::Undoing) => Tone::Undone,
            State::At(_) => Tone::Active,
            State::Ended(Outcome::Shipped { .. }) => Tone::Good,
            State::Ended(Outcome::Cancelled { .. }) => Tone::Undone,
            State::Broken => Tone::Bad,
        }
    }

    fn text(&self) -> String {
        match &self.state {
            State::NotYet => String::new(),
            State::Placed => "placed".to_owned(),
            State::At(step) => step.text().to_owned(),
            State::Ended(outcome) => outcome.to_string(),
            State::Broken => "failed".to_owned(),
        }
    }

    fn percent(&self) -> usize {
        match &self.state {
            State::NotYet | State::Placed => 0,
            State::At(step) => step.percent(),
            State::Ended(_) | State::Broken => 100,
        }
    }

    /// What does not fit is left out: first the kind, then the bar, then the time.
    fn line(&self, columns: usize, now: Duration) -> Line {
        const BAR: usize = 12;
        let mut line = Tone::Normal.line(column(&self.id, 10));
        if columns >= 77 {
            line = line.and(Tone::Dim, column(self.kind, 16));
        }
        if columns >= 61 {
            let full = self.percent() * BAR / 100;
            line = line
                .and(self.tone(), "█".repeat(full))
                .and(Tone::Dim, format!("{}  ", "░".repeat(BAR - full)));
        }
        line = line.and(self.tone(), column(&self.text(), 30));
        if columns < 47 {
            return line;
        }
        let time = match self.state {
            State::NotYet => String::new(),
            State::Placed | State::At(_) => seconds(now.saturating_sub(self.placed_at)),
            State::Ended(_) | State::Broken => seconds(self.ended_at.saturating_sub(self.placed_at)),
        };
        line.and(Tone::Dim, format!("{time:>7}"))
    }
}

/// The time at the beginning of a line that stays.
pub(crate) fn stamp(now: Duration) -> Line {
    Tone::Dim.line(format!("{:>7}  ", seconds(now)))
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
#[path = "board_tests.rs"]
mod tests;
