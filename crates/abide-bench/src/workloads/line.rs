//! One result, as it is kept: a line of JSON.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// Who was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    Ours,
    Reference,
    /// Only the durable writes, and nothing else.
    Ceiling,
}

impl Side {
    const ALL: [Self; 3] = [Self::Ours, Self::Reference, Self::Ceiling];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Ours => "abide",
            Self::Reference => "reference",
            Self::Ceiling => "ceiling",
        }
    }
}

/// What was measured: everything but the number of the repetition.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Subject {
    pub(crate) workload: String,
    pub(crate) size: u64,
    pub(crate) store: String,
    /// Those of the library if `None`.
    pub(crate) slots: Option<u64>,
    pub(crate) nodes: u64,
    pub(crate) activity_ms: u64,
    pub(crate) side: Side,
}

impl Subject {
    /// How many processes, for people, where that is not the usual one.
    pub(crate) fn processes(&self) -> String {
        match (self.workload.as_str(), self.nodes) {
            ("w12", nodes) => format!(", {nodes} nodes, activities of {} ms", self.activity_ms),
            (_, 1) => String::new(),
            (_, nodes) => format!(", {nodes} nodes"),
        }
    }
}

/// How a measurement ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ended {
    Good,
    /// It was killed after so many seconds.
    TooLong(u64),
    Broken(String),
}

/// When it was measured: those with the same time were, in turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Time {
    /// Which of the runs that added to a file.
    pub(crate) run: usize,
    pub(crate) repetition: u64,
}

impl Time {
    /// In the run that is under way.
    pub(crate) const fn of(repetition: u64) -> Self {
        Self { run: 0, repetition }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    pub(crate) subject: Subject,
    pub(crate) time: Time,
    pub(crate) ended: Ended,
    /// Orchestrations that did not complete.
    pub(crate) failures: u64,
    pub(crate) figures: BTreeMap<String, f64>,
    /// Costs that do not depend on how busy the machine is; `None` is what was not counted.
    pub(crate) counters: BTreeMap<String, Option<f64>>,
}

impl Line {
    pub(crate) fn figure(&self, name: &str) -> Option<f64> {
        self.figures.get(name).copied()
    }

    /// How often something was done for each activity.
    pub(crate) fn per_step(&self, name: &str) -> Option<f64> {
        let counter = |name: &str| self.counters.get(name).copied().flatten();
        let steps = counter("steps").filter(|steps| *steps > 0.0)?;
        Some(counter(name)? / steps)
    }

    pub(crate) fn to_json(&self) -> Value {
        let Subject { workload, size, store, slots, nodes, activity_ms, side } = &self.subject;
        let ended = match &self.ended {
            Ended::Good => Value::Null,
            Ended::TooLong(seconds) => json!({ "seconds": seconds }),
            Ended::Broken(complaint) => json!(complaint),
        };
        json!({
            "workload": workload, "size": size, "store": store, "slots": slots, "nodes": nodes,
            "activity_ms": activity_ms, "side": side.name(), "repetition": self.time.repetition,
            "trouble": ended, "failures": self.failures, "figures": self.figures,
            "counters": self.counters,
        })
    }

    /// The line of a program or of a file of results; `None` if it is something else.
    pub(crate) fn from_json(value: &Value) -> Option<Self> {
        let text = |name: &str| value.get(name)?.as_str().map(str::to_owned);
        let count = |name: &str| value.get(name).and_then(Value::as_u64);
        let side = text("side")?;
        let subject = Subject {
            workload: text("workload")?,
            size: count("size")?,
            store: text("store")?,
            slots: count("slots"),
            nodes: count("nodes").unwrap_or(1),
            activity_ms: count("activity_ms").unwrap_or_default(),
            side: Side::ALL.into_iter().find(|known| known.name() == side)?,
        };
        let ended = match value.get("trouble") {
            Some(Value::String(complaint)) => Ended::Broken(complaint.clone()),
            Some(Value::Object(limit)) => {
                Ended::TooLong(limit.get("seconds").and_then(Value::as_u64).unwrap_or_default())
            }
            _ => Ended::Good,
        };
        let figures = value.get("figures")?.as_object()?.iter();
        let figures = figures.filter_map(|(name, value)| Some((name.clone(), value.as_f64()?)));
        let counters = value.get("counters").and_then(Value::as_object).into_iter().flatten();
        Some(Self {
            subject,
            time: Time::of(count("repetition").unwrap_or_default()),
            ended,
            failures: count("failures").unwrap_or_default(),
            figures: figures.collect(),
            counters: counters.map(|(name, value)| (name.clone(), value.as_f64())).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_comes_back_as_it_was() {
        let subject = Subject {
            workload: "w1".to_owned(),
            size: 200,
            store: "postgres".to_owned(),
            slots: Some(4),
            nodes: 2,
            activity_ms: 20,
            side: Side::Reference,
        };
        for ended in [Ended::Good, Ended::TooLong(120), Ended::Broken("no".to_owned())] {
            let figures = BTreeMap::from([("p50_ms".to_owned(), 1.5)]);
            let counters = BTreeMap::from([("polls".to_owned(), None), ("fsyncs".to_owned(), Some(7.0))]);
            let time = Time::of(3);
            let line = Line { subject: subject.clone(), time, ended, failures: 1, figures, counters };
            assert_eq!(Line::from_json(&line.to_json()), Some(line));
        }
        assert_eq!(Line::from_json(&json!({ "bench": "store" })), None);
    }

    #[test]
    fn what_is_counted_is_divided_by_the_steps() {
        let printed = json!({ "workload": "w1", "size": 1, "store": "memory", "side": "abide",
            "figures": { "seconds": 2.0 }, "counters": { "steps": 4, "transactions": 6, "fsyncs": null } });
        let line = Line::from_json(&printed).unwrap();
        assert_eq!((line.figure("seconds"), line.figure("transactions")), (Some(2.0), None));
        assert_eq!((line.per_step("transactions"), line.per_step("fsyncs")), (Some(1.5), None));
        let unknown = json!({ "workload": "w9", "size": 1, "store": "memory", "side": "abide",
            "figures": {}, "counters": { "steps": 0, "transactions": 6 } });
        assert_eq!(Line::from_json(&unknown).unwrap().per_step("transactions"), None);
    }
}
