//! Rows from results that were made up.

use std::collections::BTreeMap;

use super::*;

fn line(who: Side, size: u64, repetition: u64, figures: &[(&str, f64)]) -> Line {
    let figures: BTreeMap<String, f64> =
        figures.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    let (workload, store) = ("w1".to_owned(), "sqlite-full".to_owned());
    let subject = Subject { workload, size, store, slots: None, nodes: 1, activity_ms: 0, side: who };
    Line {
        subject,
        time: Time::of(repetition),
        ended: Ended::Good,
        failures: 0,
        figures,
        counters: BTreeMap::new(),
    }
}

fn rate(who: Side, size: u64, repetition: u64, rate: f64) -> Line {
    line(who, size, repetition, &[("orchestrations_per_second", rate)])
}

const RATE: Figure = Figure::Plain { name: "orchestrations_per_second", unit: "orchestrations/s" };

const W1: Target = Target {
    workload: "w1",
    store: "sqlite-full",
    size: 1_000,
    figure: RATE,
    goal: Goal::TimesReference { must: 10.0, aim: 50.0, alone: Some((1_000.0, 2_000.0)) },
    ceiling: Ceiling::Chains,
};

#[test]
fn a_ratio_is_taken_repetition_by_repetition() {
    let lines = [
        rate(Side::Ours, 1_000, 1, 1_000.0),
        rate(Side::Reference, 1_000, 1, 50.0),
        rate(Side::Ours, 1_000, 2, 900.0),
        rate(Side::Reference, 1_000, 2, 30.0),
        rate(Side::Ours, 1_000, 3, 1_200.0),
        rate(Side::Reference, 1_000, 3, 30.0),
        rate(Side::Ceiling, 1_000, 1, 4_000.0),
    ];
    let row = row(&W1, &lines);
    let spread = Spread { least: 20.0, median: 30.0, most: 40.0 };
    assert_eq!(row.ratio, Some(Ratio { spread, is_bound: false }));
    assert_eq!(row.ours.map(|ours| ours.median), Some(1_000.0));
    assert_eq!(row.reference.map(|it| it.median), Some(30.0));
    assert_eq!((row.verdict, row.of_aim), (Verdict::Met, Some(0.6)));
    assert_eq!((row.ceiling, row.of_ceiling), (Some(4_000.0), Some(0.25)));
}

#[test]
fn a_median_of_two_is_between_them() {
    let spread = Spread::of([4.0, 1.0]);
    assert_eq!(spread, Some(Spread { least: 1.0, median: 2.5, most: 4.0 }));
    assert_eq!(Spread::of([]), None);
}

#[test]
fn without_a_reference_the_figure_stands_alone() {
    let lines = [rate(Side::Ours, 1_000, 1, 2_500.0)];
    assert_eq!(row(&W1, &lines).verdict, Verdict::Aim);
    let lines = [rate(Side::Ours, 1_000, 1, 500.0)];
    assert_eq!(row(&W1, &lines).verdict, Verdict::Missed);
    assert_eq!(row(&W1, &[]).verdict, Verdict::NotMeasured);
}

#[test]
fn a_size_that_the_reference_does_not_get_to_is_compared_with_its_largest() {
    let large = Target { size: 20_000, ..W1 };
    let lines = [
        rate(Side::Ours, 20_000, 1, 1_000.0),
        rate(Side::Reference, 200, 1, 50.0),
        rate(Side::Reference, 1_000, 1, 20.0),
    ];
    assert_eq!(row(&large, &lines).ratio.map(|ratio| ratio.spread.median), Some(50.0));
}

#[test]
fn what_the_reference_did_not_finish_is_a_bound() {
    let mut hung = rate(Side::Reference, 1_000, 1, 0.0);
    (hung.figures, hung.ended) = (BTreeMap::new(), Ended::TooLong(100));
    let lines = [
        rate(Side::Ours, 1_000, 1, 200.0),
        rate(Side::Ours, 20_000, 1, 100.0),
        rate(Side::Reference, 200, 1, 50.0),
        hung,
    ];
    for (size, more_than, verdict) in [(1_000, 20.0, Verdict::Met), (20_000, 10.0, Verdict::Met)] {
        let row = row(&Target { size, ..W1 }, &lines);
        let ratio = row.ratio.map(|ratio| (ratio.spread.median, ratio.is_bound));
        assert_eq!((ratio, row.verdict), (Some((more_than, true)), verdict));
        assert_eq!(row.reference, None);
    }
}

#[test]
fn less_time_is_better() {
    let figure = Figure::Plain { name: "p50_ms", unit: "ms" };
    let goal = Goal::AtMost { must: 4.0, aim: Some(1.0) };
    let target = Target { figure, goal, ceiling: Ceiling::Commits(2.0), ..W1 };
    let lines = [
        line(Side::Ours, 1_000, 1, &[("p50_ms", 2.0)]),
        line(Side::Reference, 1_000, 1, &[("p50_ms", 160.0)]),
        line(Side::Ceiling, 1, 1, &[("p50_ms", 0.25)]),
    ];
    let row = row(&target, &lines);
    assert_eq!(row.ratio.map(|ratio| ratio.spread.median), Some(80.0));
    assert_eq!((row.verdict, row.of_aim), (Verdict::Met, Some(0.5)));
    assert_eq!((row.ceiling, row.of_ceiling), (Some(0.5), Some(0.25)));
}

#[test]
fn what_hung_or_failed_is_not_judged_by_its_speed() {
    let mut lines = vec![rate(Side::Ours, 1_000, 1, 9_000.0), rate(Side::Ours, 1_000, 2, 9_000.0)];
    lines[1].failures = 3;
    let failed = row(&W1, &lines);
    assert_eq!((failed.verdict, failed.trouble.as_deref()), (Verdict::Failed, Some("3 did not complete")));
    lines[1].ended = Ended::TooLong(120);
    assert_eq!(row(&W1, &lines).trouble.as_deref(), Some("did not finish in 120 s"));
    let all = Target { figure: Figure::Failures, goal: Goal::AtMost { must: 0.0, aim: None }, ..W1 };
    let all = Target { workload: "all", ..all };
    let counted = row(&all, &lines);
    assert_eq!((counted.verdict, counted.ours.map(|it| it.median)), (Verdict::Missed, Some(4.0)));
}

#[test]
fn another_engine_is_compared_by_what_it_did() {
    let lines = [line(Side::Ours, 1_000, 1, &[("orchestrations_per_second", 600.0), ("p50_ms", 2.0)])];
    let times = |name| {
        let figure = Figure::ToAnother { name, engine: "another", did: 6.0 };
        row(&Target { figure, ..W1 }, &lines).ours.map(|it| it.median)
    };
    assert_eq!((times("orchestrations_per_second"), times("p50_ms")), (Some(100.0), Some(3.0)));
}

#[test]
fn nodes_and_sizes_are_compared_with_each_other() {
    let mut lines = vec![rate(Side::Ours, 1_000, 1, 100.0), rate(Side::Ours, 1_000, 1, 350.0)];
    lines[1].subject.nodes = 4;
    let goal = Goal::AtLeast { must: 3.0, aim: None };
    let figure = Figure::Nodes { name: "orchestrations_per_second", nodes: 4, activity_ms: 0 };
    let nodes = Target { figure, goal, ..W1 };
    assert_eq!(row(&nodes, &lines).ours.map(|it| it.median), Some(3.5));
    let lines = [rate(Side::Ours, 1_000, 1, 100.0), rate(Side::Ours, 20_000, 1, 80.0)];
    let figure = Figure::ToSize { name: "orchestrations_per_second", size: 1_000 };
    let flat = Target { figure, size: 20_000, goal, ..W1 };
    assert_eq!(row(&flat, &lines).ours.map(|it| it.median), Some(0.8));
}

#[test]
fn what_is_measured_in_another_process_is_another_thing() {
    let mut lines = vec![rate(Side::Ours, 1_000, 1, 9_000.0), rate(Side::Ours, 1_000, 1, 70.0)];
    lines[1].subject.nodes = 2;
    lines[1].failures = 1;
    let figure = Figure::OnNodes { name: "orchestrations_per_second", unit: "elsewhere", nodes: 2 };
    let elsewhere = row(&Target { figure, ..W1 }, &lines);
    assert_eq!((elsewhere.verdict, elsewhere.ours.map(|it| it.median)), (Verdict::Failed, Some(70.0)));
    let here = row(&W1, &lines);
    assert_eq!((here.verdict, here.ours.map(|it| it.median)), (Verdict::Aim, Some(9_000.0)));
}

#[test]
fn other_numbers_of_slots_do_not_count_but_for_failures() {
    let mut lines = vec![rate(Side::Ours, 1_000, 1, 9_000.0)];
    lines[0].subject.slots = Some(64);
    assert_eq!(row(&W1, &lines).verdict, Verdict::NotMeasured);
}

#[test]
fn that_nothing_failed_is_met_only_if_everything_was_tried() {
    let goal = Goal::AtMost { must: 0.0, aim: None };
    let (workload, figure, ceiling) = ("all", Figure::Failures, Ceiling::None);
    let target = Target { workload, figure, goal, ceiling, ..W1 };
    let mut lines: Vec<Line> = plan::slots(W1.store)
        .into_iter()
        .map(|case| Line { subject: case.subject(Side::Ours), ..rate(Side::Ours, 0, 1, 1.0) })
        .collect();
    assert_eq!(row(&target, &lines).verdict, Verdict::Met);
    lines.pop();
    assert_eq!(row(&target, &lines).verdict, Verdict::NotMeasured);
}

#[test]
fn what_is_judged_with_some_slots_is_of_those() {
    let figure = Figure::WithSlots { name: "orchestrations_per_second", unit: "with 64", slots: 64 };
    let mut lines = vec![rate(Side::Ours, 1_000, 1, 9_000.0), rate(Side::Ours, 1_000, 1, 70.0)];
    lines[1].subject.slots = Some(64);
    let goal = Goal::AtLeast { must: 60.0, aim: None };
    let found = row(&Target { figure, goal, ..W1 }, &lines);
    assert_eq!((found.verdict, found.ours.map(|it| it.median)), (Verdict::Met, Some(70.0)));
}

#[test]
fn runs_at_different_times_are_not_compared() {
    let mut lines = vec![
        rate(Side::Ours, 1_000, 1, 100.0),
        rate(Side::Ours, 1_000, 1, 900.0),
        rate(Side::Reference, 1_000, 1, 10.0),
    ];
    (lines[1].time.run, lines[2].time.run) = (2, 2);
    let found = row(&W1, &lines);
    assert_eq!(found.ours.map(|it| it.median), Some(500.0));
    assert_eq!(found.ratio.map(|ratio| ratio.spread.median), Some(90.0), "of the run that has both");
}

#[test]
fn a_latency_stands_beside_the_fsync_of_its_own_measurements() {
    let step = Figure::Plain { name: "ms_per_activity", unit: "ms per activity" };
    let latency = Target { figure: step, goal: Goal::None, ceiling: Ceiling::None, ..W1 };
    let both = |repetition, fsync| {
        line(
            Side::Ours,
            1_000,
            repetition,
            &[("ms_per_activity", 0.4), ("orchestrations_per_second", 9.0), (FSYNC, fsync)],
        )
    };
    let lines = [both(1, 0.2), both(2, 0.4), line(Side::Reference, 1_000, 1, &[(FSYNC, 7.0)])];
    assert_eq!(row(&latency, &lines).fsync, Spread::of([0.2, 0.4]));
    assert_eq!(row(&W1, &lines).fsync, None, "a rate is none");
}
