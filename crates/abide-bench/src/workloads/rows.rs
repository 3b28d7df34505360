//! From results to rows: each target with what was measured, beside the reference and the ceiling. Pure.

use super::line::{Ended, Line, Side, Subject, Time};
use super::plan;
use super::targets::{Ceiling, Figure, Goal, Target};

/// Several values of the same thing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) least: f64,
    pub(crate) median: f64,
    pub(crate) most: f64,
}

impl Spread {
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let last = values.len().checked_sub(1)?;
        // With an even number of them, between the two in the middle: neither the better nor the worse.
        let median = f64::midpoint(*values.get(last / 2)?, *values.get(values.len() / 2)?);
        Some(Self { least: *values.first()?, median, most: *values.last()? })
    }
}

/// How many times better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ratio {
    pub(crate) spread: Spread,
    /// It is more than that: the reference did not get to the end, and what it would have needed at least is compared.
    pub(crate) is_bound: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Even what it aims at.
    Aim,
    Met,
    Missed,
    /// There is no target, only a figure.
    Shown,
    NotMeasured,
    /// It failed or hung.
    Failed,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) target: Target,
    pub(crate) ours: Option<Spread>,
    pub(crate) reference: Option<Spread>,
    /// How many times better than the reference.
    pub(crate) ratio: Option<Ratio>,
    /// What is judged, in relation to what it aims at: 1 is there, less is not.
    pub(crate) of_aim: Option<f64>,
    pub(crate) ceiling: Option<f64>,
    /// 1 is as good as the ceiling.
    pub(crate) of_ceiling: Option<f64>,
    /// What a lone fsync took just before each of our measurements, if a latency is judged.
    pub(crate) fsync: Option<Spread>,
    pub(crate) verdict: Verdict,
    /// What went wrong, if anything did.
    pub(crate) trouble: Option<String>,
}

/// One row per target.
pub(crate) fn rows(targets: &[Target], lines: &[Line]) -> Vec<Row> {
    targets.iter().map(|target| row(target, lines)).collect()
}

fn row(target: &Target, lines: &[Line]) -> Row {
    let ours = of_side(target, lines, Side::Ours);
    let reference = if matches!(target.figure, Figure::ToAnother { .. }) {
        // It is compared with somebody else.
        vec![]
    } else {
        of_side(target, lines, Side::Reference)
    };
    let ratio = ratio(target, lines);
    let spread = |values: &[(Time, f64)]| Spread::of(values.iter().map(|(_, value)| *value));
    let (ours, reference) = (spread(&ours), spread(&reference));
    let ceiling = ceiling(target, lines);
    let trouble = trouble(target, lines);
    let (verdict, of_aim) = judge(target.goal, ours, ratio);
    let of_ceiling = ours.zip(ceiling).map(|(ours, ceiling)| better(target, ours.median, ceiling));
    // That nothing failed says little as long as not everything was tried.
    let is_too_early =
        verdict == Verdict::Met && is_of_all(target.figure) && !has_all_slots(target.store, lines);
    let verdict = if trouble.is_some() {
        Verdict::Failed
    } else if is_too_early {
        Verdict::NotMeasured
    } else {
        verdict
    };
    let fsync = fsync(target, lines);
    Row { target: *target, ours, reference, ratio, of_aim, ceiling, of_ceiling, fsync, verdict, trouble }
}

/// Of the measurements that a latency is taken from.
fn fsync(target: &Target, lines: &[Line]) -> Option<Spread> {
    let figure = match target.figure {
        Figure::Plain { name, unit } if is_latency(name) => Figure::Plain { name: FSYNC, unit },
        Figure::OnNodes { name, unit, nodes } if is_latency(name) => {
            Figure::OnNodes { name: FSYNC, unit, nodes }
        }
        Figure::Plain { .. }
        | Figure::OnNodes { .. }
        | Figure::WithSlots { .. }
        | Figure::ToSize { .. }
        | Figure::ToWorkload { .. }
        | Figure::ToAnother { .. }
        | Figure::Nodes { .. }
        | Figure::Failures
        | Figure::Deadlocks => return None,
    };
    let values = of_side(&Target { figure, ..*target }, lines, Side::Ours);
    Spread::of(values.into_iter().map(|(_, value)| value))
}

/// By the name of a figure.
fn is_latency(name: &str) -> bool {
    matches!(name, "p50_ms" | "p99_ms" | "ms_per_activity")
}

/// Whether everything counts that was measured on a store.
fn is_of_all(figure: Figure) -> bool {
    matches!(figure, Figure::Failures | Figure::Deadlocks)
}

/// How many times better one value is than another.
fn better(target: &Target, one: f64, other: f64) -> f64 {
    if is_rate(target) { one / other.max(1e-9) } else { other / one.max(1e-9) }
}

fn is_rate(target: &Target) -> bool {
    match target.figure {
        Figure::Plain { name, .. } | Figure::OnNodes { name, .. } | Figure::WithSlots { name, .. } => {
            name.ends_with("_per_second") && target.workload != "w9"
        }
        Figure::ToSize { .. }
        | Figure::ToWorkload { .. }
        | Figure::ToAnother { .. }
        | Figure::Nodes { .. } => true,
        Figure::Failures | Figure::Deadlocks => false,
    }
}

/// Whether everything that is planned with other numbers of slots was measured on this store.
fn has_all_slots(store: &'static str, lines: &[Line]) -> bool {
    let subjects = plan::slots(store).into_iter().map(|case| case.subject(Side::Ours));
    subjects.into_iter().all(|subject| lines.iter().any(|line| line.subject == subject))
}

/// By repetition.
fn of_side(target: &Target, lines: &[Line], side: Side) -> Vec<(Time, f64)> {
    let of = |workload: &str, size: u64, name: &str| -> Vec<(Time, f64)> {
        let same = lines.iter().filter(|line| is_of(&line.subject, workload, target.store, side));
        let same =
            same.filter(|line| line.subject.size == size && line.subject.slots == target.figure.slots());
        let same = same.filter(|line| is_with(target.figure, line.subject.nodes));
        same.filter_map(|line| Some((line.time, line.figure(name)?))).collect()
    };
    let relation = |above: Vec<(Time, f64)>, below: Vec<(Time, f64)>| -> Vec<(Time, f64)> {
        let median = |values: Vec<(Time, f64)>| Spread::of(values.into_iter().map(|(_, value)| value));
        let (above, below) = (median(above), median(below));
        above
            .zip(below)
            .map(|(above, below)| (Time::default(), above.median / below.median.max(1e-9)))
            .into_iter()
            .collect()
    };
    match target.figure {
        Figure::Plain { name, .. } | Figure::OnNodes { name, .. } | Figure::WithSlots { name, .. } => {
            of(target.workload, target.size, name)
        }
        Figure::ToSize { name, size } => {
            relation(of(target.workload, target.size, name), of(target.workload, size, name))
        }
        Figure::ToWorkload { name, workload, size } => {
            relation(of(target.workload, target.size, name), of(workload, size, name))
        }
        Figure::ToAnother { name, did, .. } => {
            let values = of(target.workload, target.size, name).into_iter();
            let is_rate = name.ends_with("_per_second");
            values
                .map(|(nth, value)| (nth, if is_rate { value / did } else { did / value.max(1e-9) }))
                .collect()
        }
        Figure::Nodes { name, nodes, activity_ms } => {
            let with = |nodes: u64| {
                let same =
                    lines.iter().filter(|line| is_of(&line.subject, target.workload, target.store, side));
                let same = same.filter(|line| line.subject.size == target.size);
                let same = same.filter(|line| line.subject.activity_ms == activity_ms);
                let same = same.filter(|line| line.subject.nodes == nodes);
                same.filter_map(|line| Some((line.time, line.figure(name)?))).collect()
            };
            relation(with(nodes), with(1))
        }
        Figure::Failures => sum(target, lines, side, |line| {
            let failures = u32::try_from(line.failures).unwrap_or(u32::MAX);
            Some(f64::from(failures) + if line.ended == Ended::Good { 0.0 } else { 1.0 })
        }),
        Figure::Deadlocks => sum(target, lines, side, |line| line.figure("deadlocks")),
    }
}

fn is_of(subject: &Subject, workload: &str, store: &str, side: Side) -> bool {
    subject.workload == workload && subject.store == store && subject.side == side
}

/// Whether a figure is one of results with so many processes.
pub(crate) fn is_with(figure: Figure, nodes: u64) -> bool {
    match figure {
        Figure::OnNodes { nodes: wanted, .. } => nodes == wanted,
        Figure::Nodes { .. } | Figure::Failures | Figure::Deadlocks => true,
        Figure::Plain { .. }
        | Figure::WithSlots { .. }
        | Figure::ToSize { .. }
        | Figure::ToWorkload { .. }
        | Figure::ToAnother { .. } => nodes == 1,
    }
}

/// Over all results of the store.
fn sum(
    target: &Target,
    lines: &[Line],
    side: Side,
    count: impl Fn(&Line) -> Option<f64>,
) -> Vec<(Time, f64)> {
    let same = lines.iter().filter(|line| line.subject.store == target.store && line.subject.side == side);
    let counts: Vec<f64> = same.filter_map(count).collect();
    if counts.is_empty() { vec![] } else { vec![(Time::default(), counts.iter().sum())] }
}

/// Repetition by repetition, because noise hits both of one. The reference does not get to the end of the large sizes: a rate is then
/// compared with that of the largest size that it was asked for. If it did not finish that in time, either, its rate is less than what that
/// time would have made it.
fn ratio(target: &Target, lines: &[Line]) -> Option<Ratio> {
    if !matches!(target.figure, Figure::Plain { .. }) || target.figure == EARLY_IS_NO_RATIO {
        return None;
    }
    let ours = of_side(target, lines, Side::Ours);
    let mut reference = of_side(target, lines, Side::Reference);
    let mut is_bound = false;
    if reference.is_empty() && is_rate(target) {
        let asked = lines.iter().filter(|line| {
            is_of(&line.subject, target.workload, target.store, Side::Reference)
                && line.subject.size <= target.size
                && line.subject.slots.is_none()
                && is_with(target.figure, line.subject.nodes)
        });
        let size = asked.clone().map(|line| line.subject.size).max()?;
        reference = of_side(&Target { size, ..*target }, lines, Side::Reference);
        if reference.is_empty() {
            is_bound = true;
            reference = asked.filter(|line| line.subject.size == size).filter_map(rate_at_most).collect();
        }
    }
    let pair = |(time, ours): &(Time, f64)| {
        let (_, reference) = reference.iter().find(|(other, _)| other == time)?;
        Some(better(target, *ours, *reference))
    };
    let pairs: Vec<f64> = ours.iter().filter_map(pair).collect();
    Spread::of(pairs).map(|spread| Ratio { spread, is_bound })
}

/// Of a measurement that was stopped: as if it had been done at that moment, by repetition. (What is counted per second is what the size counts.)
fn rate_at_most(line: &Line) -> Option<(Time, f64)> {
    let Ended::TooLong(seconds) = line.ended else { return None };
    let (size, seconds) = (u32::try_from(line.subject.size).ok()?, u32::try_from(seconds).ok()?);
    Some((line.time, f64::from(size) / f64::from(seconds).max(1.0)))
}

/// What a lone fsync takes, by its name in a line.
pub(crate) const FSYNC: &str = "fsync_p50_ms";

const EARLY_IS_NO_RATIO: Figure = Figure::Plain { name: "early", unit: "early" };

fn judge(goal: Goal, ours: Option<Spread>, ratio: Option<Ratio>) -> (Verdict, Option<f64>) {
    let Some(ours) = ours.map(|ours| ours.median) else { return (Verdict::NotMeasured, None) };
    let verdict = |value: f64, must: f64, aim: Option<f64>| match aim {
        Some(aim) if value >= aim => Verdict::Aim,
        _ if value >= must => Verdict::Met,
        _ => Verdict::Missed,
    };
    match goal {
        Goal::None => (Verdict::Shown, None),
        Goal::AtLeast { must, aim } => (verdict(ours, must, aim), aim.map(|aim| ours / aim)),
        Goal::AtMost { must, aim } => {
            (verdict(-ours, -must, aim.map(|aim| -aim)), aim.map(|aim| aim / ours.max(1e-9)))
        }
        Goal::TimesReference { must, aim, alone } => match (ratio, alone) {
            (Some(Ratio { spread, .. }), _) => {
                (verdict(spread.median, must, Some(aim)), Some(spread.median / aim))
            }
            (None, Some((must, aim))) => (verdict(ours, must, Some(aim)), Some(ours / aim)),
            (None, None) => (Verdict::NotMeasured, None),
        },
    }
}

fn ceiling(target: &Target, lines: &[Line]) -> Option<f64> {
    let of = |size: u64, name: &str| {
        let same = lines.iter().filter(|line| {
            line.subject.side == Side::Ceiling
                && line.subject.store == target.store
                && line.subject.size == size
        });
        // It is measured before and after everything else, and the best is what the store allows.
        let spread = Spread::of(same.filter_map(|line| line.figure(name)))?;
        Some(if name.ends_with("_ms") { spread.least } else { spread.most })
    };
    let rows = f64::from(u32::try_from(target.size).unwrap_or(u32::MAX));
    match target.ceiling {
        Ceiling::Chains => {
            let sizes = [5_000, 1_000, 200];
            let size = sizes.into_iter().find(|size| *size <= target.size)?;
            of(size, "orchestrations_per_second")
        }
        Ceiling::Commits(commits) => of(1, "p50_ms").map(|time| time * commits),
        Ceiling::CommitRate(commits) => of(1, "p50_ms").map(|time| 1_000.0 / (time * commits).max(1e-9)),
        Ceiling::Rows => of(5_000, "rows_per_second").map(|rate| rows / rate.max(1e-9)),
        Ceiling::RowTime(each) => {
            of(5_000, "rows_per_second").map(|rate| each * rows * 1_000.0 / rate.max(1e-9))
        }
        Ceiling::RowRate(each) => of(5_000, "rows_per_second").map(|rate| rate / each),
        Ceiling::None => None,
    }
}

/// Of our own results of this target, the first that went wrong.
fn trouble(target: &Target, lines: &[Line]) -> Option<String> {
    let same = lines.iter().filter(|line| is_of(&line.subject, target.workload, target.store, Side::Ours));
    let same = same.filter(|line| line.subject.size == target.size);
    let mut same = same.filter(|line| {
        if let Figure::Nodes { activity_ms, nodes, .. } = target.figure {
            return line.subject.activity_ms == activity_ms && [1, nodes].contains(&line.subject.nodes);
        }
        line.subject.slots == target.figure.slots() && is_with(target.figure, line.subject.nodes)
    });
    same.find_map(|line| match &line.ended {
        Ended::Good if line.failures > 0 => Some(format!("{} did not complete", line.failures)),
        Ended::Good => None,
        Ended::TooLong(seconds) => Some(format!("did not finish in {seconds} s")),
        Ended::Broken(complaint) => Some(complaint.clone()),
    })
}

#[cfg(test)]
#[path = "rows_tests.rs"]
mod tests;
