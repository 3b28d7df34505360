//! The history of one order as a drawing: a line per event, and a bracket from everything that was asked for to its answer.
//!
//! Pure. What was never answered gets a line and no bracket.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::line::{Line, Tone};
use crate::words::readable;
use abide::{Event, EventKind};

/// What an event is in the drawing.
#[derive(Debug)]
enum Part {
    /// The first or the last.
    End(String),
    /// Something was asked for.
    Ask(String),
    /// What an ask got.
    Answer { tone: Tone, text: String },
    /// Something without an answer.
    Note(String),
}

/// Draws a history; the crash, if there was one, goes where it happened.
pub(crate) fn draw(history: &[Event], crash_ms: Option<u64>) -> Vec<Line> {
    let Some(first) = history.first() else { return Vec::new() };
    let answers = answers(history);
    let lanes = vec![None; lanes_needed(history, &answers)];
    let mut drawing = Drawing { begin_ms: first.timestamp_ms, answers, lanes, lines: Vec::new() };
    let mut crash_ms = crash_ms.filter(|at| *at >= first.timestamp_ms);
    for event in history {
        if let Some(at) = crash_ms.take_if(|at| *at < event.timestamp_ms) {
            drawing.crash(at);
        }
        let asked = drawing.answers.get(&event.event_id);
        let asked = asked.and_then(|id| history.iter().find(|it| it.event_id == *id));
        drawing.event(event, asked);
    }
    drawing.lines
}

/// Which event each answer belongs to. Signals are matched by their name: the oldest wait gets the next.
fn answers(history: &[Event]) -> BTreeMap<u64, u64> {
    let mut answers = BTreeMap::new();
    let mut waits: Vec<(u64, &str)> = Vec::new();
    for event in history {
        if let EventKind::ExternalSubscribed { name } = &event.kind {
            waits.push((event.event_id, name));
        } else if let EventKind::ExternalEvent { name, .. } = &event.kind {
            if let Some(position) = waits.iter().position(|(_, waiting)| waiting == name) {
                answers.insert(event.event_id, waits.remove(position).0);
            }
        } else if let Some(source) = event.source_event_id {
            answers.insert(event.event_id, source);
        }
    }
    answers
}

/// How many brackets are open at once, at most.
fn lanes_needed(history: &[Event], answers: &BTreeMap<u64, u64>) -> usize {
    let (mut open, mut most) = (0_usize, 0);
    for event in history {
        if answers.contains_key(&event.event_id) {
            open = open.saturating_sub(1);
        } else if answers.values().any(|id| *id == event.event_id) {
            open += 1;
            most = most.max(open);
        }
    }
    most
}

struct Drawing {
    begin_ms: u64,
    /// Which event each answer belongs to.
    answers: BTreeMap<u64, u64>,
    /// The open asks, each in its lane.
    lanes: Vec<Option<u64>>,
    lines: Vec<Line>,
}

impl Drawing {
    fn event(&mut self, event: &Event, asked: Option<&Event>) {
        let part = part(event, asked);
        let mark = match &part {
            Part::End(_) => '●',
            Part::Ask(_) | Part::Answer { .. } | Part::Note(_) => '│',
        };
        let mut graph: Vec<char> =
            self.lanes.iter().map(|open| if open.is_some() { '│' } else { ' ' }).collect();
        let change = match (&part, asked) {
            (Part::Ask(_), _) => self.open(event.event_id).map(|lane| (lane, '╭')),
            (Part::Answer { .. }, Some(asked)) => self.close(asked.event_id).map(|lane| (lane, '╰')),
            (Part::Answer { .. } | Part::Note(_) | Part::End(_), _) => None,
        };
        if let Some((lane, sign)) = change {
            graph[lane] = sign;
        }
        let graph: String = graph.iter().flat_map(|sign| [*sign, ' ']).collect();
        let line = self.stamp(event.timestamp_ms).and(Tone::Active, format!("{mark} {graph}"));
        self.lines.push(match part {
            Part::End(text) => line.and(Tone::Bold, text),
            Part::Ask(text) if change.is_none() => {
                line.and(Tone::Normal, text).and(Tone::Dim, "  (was not needed)")
            }
            Part::Ask(text) => line.and(Tone::Normal, text),
            Part::Answer { tone, text } => {
                let took = asked.map_or(0, |asked| event.timestamp_ms.saturating_sub(asked.timestamp_ms));
                let took = readable(Duration::from_millis(took));
                line.and(tone, text).and(Tone::Dim, format!("  after {took}"))
            }
            Part::Note(text) => line.and(Tone::Dim, text),
        });
    }

    /// The lane of an ask; none if it is never answered.
    fn open(&mut self, id: u64) -> Option<usize> {
        if !self.answers.values().any(|answered| *answered == id) {
            return None;
        }
        let free = self.lanes.iter().position(Option::is_none)?;
        self.lanes[free] = Some(id);
        Some(free)
    }

    fn close(&mut self, id: u64) -> Option<usize> {
        let lane = self.lanes.iter().position(|open| *open == Some(id))?;
        self.lanes[lane] = None;
        Some(lane)
    }

    fn crash(&mut self, at_ms: u64) {
        let text = "━━ the worker was killed here, and another one went on ━━";
        self.lines.push(self.stamp(at_ms).and(Tone::Bad, text));
    }

    fn stamp(&self, at_ms: u64) -> Line {
        let since = Duration::from_millis(at_ms.saturating_sub(self.begin_ms));
        Tone::Dim.line(format!("{:>8.3} s  ", since.as_secs_f64()))
    }
}

/// What an event is, in words.
fn part(event: &Event, asked: Option<&Event>) -> Part {
    let good = |text| Part::Answer { tone: Tone::Good, text };
    let bad = |text| Part::Answer { tone: Tone::Undone, text };
    let name = asked.map_or("?", |asked| name_of(&asked.kind));
    match &event.kind {
        EventKind::OrchestrationStarted { name, input, .. } => Part::End(format!("{name}  {}", words(input))),
        EventKind::OrchestrationCompleted { output } => Part::End(format!("ended: {}", words(output))),
        EventKind::OrchestrationFailed { details } => Part::End(format!("failed: {details}")),
        EventKind::OrchestrationContinuedAsNew { .. } => Part::End("goes on with a new history".to_owned()),
        EventKind::ActivityScheduled { name, input, .. } => Part::Ask(format!("{name}  {}", words(input))),
        EventKind::SubOrchestrationScheduled { name, .. } => Part::Ask(format!("{name}, as a child")),
        EventKind::TimerCreated { fire_at_ms } => {
            let delay = Duration::from_millis(fire_at_ms.saturating_sub(event.timestamp_ms));
            Part::Ask(format!("timer of {}", readable(delay)))
        }
        EventKind::ExternalSubscribed { name } | EventKind::QueueSubscribed { name } => {
            Part::Ask(format!("wait for '{name}'"))
        }
        EventKind::HistoryPruneRequested { .. } => Part::Ask("prune the history".to_owned()),
        EventKind::ActivityCompleted { result } | EventKind::SubOrchestrationCompleted { result } => {
            good(format!("{name} → {}", words(result)))
        }
        EventKind::ActivityFailed { details } | EventKind::SubOrchestrationFailed { details } => {
            bad(format!("{name} failed: {details}"))
        }
        EventKind::TimerFired { .. } => good("the timer fired".to_owned()),
        EventKind::ExternalEvent { name, data } | EventKind::QueueEventDelivered { name, data } => {
            good(format!("'{name}' came: {}", words(data)))
        }
        EventKind::HistoryPruned { .. } => good("pruned".to_owned()),
        EventKind::ActivityCancelRequested { .. }
        | EventKind::SubOrchestrationCancelRequested { .. }
        | EventKind::ExternalSubscribedCancelled { .. }
        | EventKind::QueueSubscriptionCancelled { .. } => bad(format!("{name} is not wanted any more")),
        EventKind::OrchestrationCancelRequested { reason } => Part::Note(format!("cancelled: {reason}")),
        EventKind::OrchestrationChained { name, .. } => Part::Note(format!("{name}, on its own")),
        EventKind::CustomStatusUpdated { status } => {
            Part::Note(format!("status: {}", status.as_deref().unwrap_or("none")))
        }
        EventKind::KeyValueSet { key, .. } => Part::Note(format!("keeps '{key}'")),
        EventKind::KeyValueCleared { key } => Part::Note(format!("forgets '{key}'")),
        EventKind::KeyValuesCleared => Part::Note("forgets everything it kept".to_owned()),
    }
}

/// What an ask is called when it is answered.
fn name_of(kind: &EventKind) -> &str {
    if let EventKind::ActivityScheduled { name, .. }
    | EventKind::SubOrchestrationScheduled { name, .. }
    | EventKind::ExternalSubscribed { name }
    | EventKind::QueueSubscribed { name } = kind
    {
        name
    } else {
        "timer"
    }
}

/// Stored JSON, as people would say it.
fn words(json: &str) -> String {
    let spaced = json.replace("\":", "\": ").replace("\",", "\", ").replace("},", "}, ").replace("],", "], ");
    spaced.chars().filter(|sign| !matches!(sign, '{' | '}' | '[' | ']' | '"')).collect()
}

#[cfg(test)]
#[path = "timeline_tests.rs"]
mod tests;
