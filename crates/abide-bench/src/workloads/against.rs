//! Compares this build with an earlier one: both alternate, so that a slow minute of the machine hits both.

use std::path::Path;

use super::arguments::Arguments;
use super::line::{Ended, Line};
use super::measure::Alternation;
use super::plan::Case;
use super::rows::Spread;
use super::show;
use crate::program::Verdict;
use crate::store::Fallible;

/// What is measured if no workload is named.
pub(crate) const WORKLOADS: [&str; 4] = ["w1", "w2", "w4", "w11"];
/// How often each pair is measured if no number is given.
pub(crate) const REPETITIONS: u64 = 5;
/// The median ratio that a case must reach.
const LEAST_RATIO: f64 = 0.9;

const HEADINGS: [&str; 7] = ["workload", "store", "what", "this build", "earlier build", "ratio", "verdict"];

/// Whether more of a figure is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Better {
    More,
    Less,
}

/// The figure by which a result is compared: the first of these that it has.
const FIGURES: [(&str, Better); 7] = [
    ("orchestrations_per_second", Better::More),
    ("children_per_second", Better::More),
    ("executions_per_second", Better::More),
    ("p50_ms", Better::Less),
    ("all_done_seconds", Better::Less),
    ("seconds", Better::Less),
    ("cpu_seconds_in_20", Better::Less),
];

/// The results of both builds, taken one right after the other.
type Pair = (Line, Line);

/// Measures both builds, prints the ratios, and judges them.
pub(crate) async fn compare(arguments: &Arguments, earlier: &Path) -> Fallible<Verdict> {
    let cases = arguments.request.cases();
    let mut alternation = Alternation::start(arguments, &cases).await?;
    let mut measured: Vec<(&Case, Vec<Pair>)> = cases.iter().map(|case| (case, Vec::new())).collect();
    for repetition in 1..=arguments.repeat {
        for (case, pairs) in &mut measured {
            pairs.push(alternation.pair(earlier, case, repetition).await?);
        }
    }
    let compared: Vec<Comparison<'_>> =
        measured.iter().map(|(case, pairs)| Comparison::of(case, pairs)).collect();
    println!("\n{}", show::table(&HEADINGS, compared.iter().map(Comparison::cells)));
    let all_met = compared.iter().all(Comparison::is_met);
    Ok(if all_met { Verdict::Met } else { Verdict::Missed })
}

/// One case of both builds.
#[derive(Debug)]
struct Comparison<'a> {
    case: &'a Case,
    figure: &'static str,
    now: Option<Spread>,
    earlier: Option<Spread>,
    /// Above 1 where this build is better.
    ratio: Option<Spread>,
    /// Measurements of this build that did not end well.
    failures: usize,
}

impl<'a> Comparison<'a> {
    fn of(case: &'a Case, pairs: &[Pair]) -> Self {
        let has = |name: &str| pairs.iter().any(|(now, _)| now.figure(name).is_some());
        let known = FIGURES.into_iter().find(|(name, _)| has(name));
        let (figure, better) = known.unwrap_or(("nothing", Better::More));
        let values =
            pairs.iter().filter_map(|(now, earlier)| Some((now.figure(figure)?, earlier.figure(figure)?)));
        let values: Vec<(f64, f64)> = values.filter(|(now, earlier)| *now > 0.0 && *earlier > 0.0).collect();
        let ratio = |(now, earlier): &(f64, f64)| match better {
            Better::More => now / earlier,
            Better::Less => earlier / now,
        };
        let is_bad = |(now, _): &&Pair| now.ended != Ended::Good || now.failures > 0;
        Self {
            case,
            figure,
            now: Spread::of(values.iter().map(|(now, _)| *now)),
            earlier: Spread::of(values.iter().map(|(_, earlier)| *earlier)),
            ratio: Spread::of(values.iter().map(ratio)),
            failures: pairs.iter().filter(is_bad).count(),
        }
    }

    fn is_met(&self) -> bool {
        self.failures == 0 && self.ratio.is_some_and(|ratio| ratio.median >= LEAST_RATIO)
    }

    fn cells(&self) -> Vec<String> {
        let shown = |spread: Option<Spread>| spread.map_or_else(|| "–".to_owned(), show::spread);
        let verdict = match (self.is_met(), self.failures) {
            (true, _) => "met".to_owned(),
            (false, 0) => format!("MISSED: less than {LEAST_RATIO}"),
            (false, failures) => format!("MISSED: {failures} failed"),
        };
        vec![
            show::place_of(self.case.workload, self.case.size),
            show::store_title(self.case.store).to_owned(),
            self.figure.to_owned(),
            shown(self.now),
            shown(self.earlier),
            shown(self.ratio),
            verdict,
        ]
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::workloads::plan::{Extent, Request, Who};

    fn case(workload: &'static str) -> Case {
        let request = Request {
            extent: Extent::Bounded,
            who: Who::Ours,
            only: vec![workload],
            stores: vec!["sqlite-full"],
            size: None,
            slots: None,
            limit: None,
        };
        request.cases().into_iter().next().unwrap()
    }

    fn line(name: &str, value: f64, failures: u64) -> Line {
        let line = json!({ "workload": "w1", "size": 1, "store": "sqlite-full", "side": "abide",
            "failures": failures, "figures": { name: value } });
        Line::from_json(&line).unwrap()
    }

    #[test]
    fn the_median_of_the_ratios_is_judged() {
        for (workload, figure, now, is_met) in [
            ("w1", "orchestrations_per_second", [90.0, 91.0, 10.0], true),
            ("w1", "orchestrations_per_second", [89.0, 200.0, 10.0], false),
            ("w2", "p50_ms", [110.0, 500.0, 10.0], true),
            ("w2", "p50_ms", [112.0, 500.0, 10.0], false),
        ] {
            let case = case(workload);
            let pairs = now.map(|now| (line(figure, now, 0), line(figure, 100.0, 0)));
            assert_eq!(Comparison::of(&case, &pairs).is_met(), is_met, "{workload} {now:?}");
        }
    }

    #[test]
    fn what_failed_or_has_no_figure_is_missed() {
        let case = case("w1");
        let failed = [(line("p50_ms", 1.0, 1), line("p50_ms", 1.0, 0))];
        assert!(!Comparison::of(&case, &failed).is_met());
        let without = [(line("other", 1.0, 0), line("other", 1.0, 0))];
        assert!(!Comparison::of(&case, &without).is_met());
    }
}
