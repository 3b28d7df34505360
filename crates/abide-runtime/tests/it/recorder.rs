//! A recorder that shows what it was given.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex};

use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder,
    SharedString, Unit,
};

#[derive(Debug, Default)]
pub(crate) struct Shown {
    series: Mutex<BTreeMap<String, Arc<Series>>>,
    described: Mutex<Vec<String>>,
}

/// What one series was given: a number that goes up and down, or samples.
#[derive(Debug, Default)]
struct Series {
    number: Mutex<f64>,
    samples: Mutex<Vec<f64>>,
}

impl Shown {
    /// A line per series: its name, its labels and what it was given.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for (key, series) in &*self.series.lock().unwrap() {
            let samples = series.samples.lock().unwrap();
            if samples.is_empty() {
                writeln!(text, "{key} {}", *series.number.lock().unwrap()).unwrap();
            } else {
                writeln!(text, "{key} {samples:?}").unwrap();
            }
        }
        text
    }

    /// The names that were explained, in the order of the table.
    pub(crate) fn described(&self) -> Vec<String> {
        self.described.lock().unwrap().clone()
    }

    fn series(&self, key: &Key) -> Arc<Series> {
        let labels: Vec<String> =
            key.labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
        let text = format!("{}{{{}}}", key.name(), labels.join(", "));
        Arc::clone(self.series.lock().unwrap().entry(text).or_default())
    }

    fn describe(&self, name: &KeyName) {
        self.described.lock().unwrap().push(name.as_str().to_owned());
    }
}

impl Recorder for Shown {
    fn describe_counter(&self, key: KeyName, _: Option<Unit>, _: SharedString) {
        self.describe(&key);
    }

    fn describe_gauge(&self, key: KeyName, _: Option<Unit>, _: SharedString) {
        self.describe(&key);
    }

    fn describe_histogram(&self, key: KeyName, _: Option<Unit>, _: SharedString) {
        self.describe(&key);
    }

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.series(key))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.series(key))
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(self.series(key))
    }
}

impl CounterFn for Series {
    fn increment(&self, value: u64) {
        GaugeFn::increment(self, f64::from(u32::try_from(value).unwrap()));
    }

    fn absolute(&self, value: u64) {
        self.set(f64::from(u32::try_from(value).unwrap()));
    }
}

impl GaugeFn for Series {
    fn increment(&self, value: f64) {
        *self.number.lock().unwrap() += value;
    }

    fn decrement(&self, value: f64) {
        *self.number.lock().unwrap() -= value;
    }

    fn set(&self, value: f64) {
        *self.number.lock().unwrap() = value;
    }
}

impl HistogramFn for Series {
    fn record(&self, value: f64) {
        self.samples.lock().unwrap().push(value);
    }
}
