//! The chart: how many times better than the reference, on a logarithmic scale. Pure, and written by hand.

use std::fmt::Write as _;

use super::rows::{Ratio, Row};
use super::show::{number, store_title, what};

const LABELS: f64 = 330.0;
const PLOT: f64 = 520.0;
const RIGHT: f64 = 70.0;
const ROW: f64 = 22.0;
const TOP: f64 = 58.0;
/// From a tenth to ten thousand times.
const DECADES: (f64, f64) = (-1.0, 4.0);

pub(crate) fn chart(rows: &[Row]) -> String {
    let bars: Vec<&Row> = rows.iter().filter(|row| row.ratio.is_some()).collect();
    let count = f64::from(u32::try_from(bars.len()).unwrap_or(u32::MAX));
    let (width, height) = (LABELS + PLOT + RIGHT, TOP + ROW * count.max(1.0) + 20.0);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
         <text x=\"10\" y=\"20\" font-size=\"15\" fill=\"#222222\">How many times better than the reference (logarithmic; 1 is as good)</text>\n"
    );
    for decade in -1_i32..=4 {
        axis(&mut text, decade, height);
    }
    for (index, row) in (0_u32..).zip(&bars) {
        bar(&mut text, TOP + ROW * f64::from(index), row);
    }
    if bars.is_empty() {
        text += "<text x=\"10\" y=\"74\" fill=\"#666666\">The reference was not measured.</text>\n";
    }
    text + "</svg>\n"
}

fn axis(text: &mut String, decade: i32, height: f64) {
    let (x, label) = (place(10_f64.powi(decade)), number(10_f64.powi(decade)));
    let color = if decade == 0 { "#444444" } else { "#dddddd" };
    let bottom = height - 16.0;
    // Writing to a text cannot fail.
    writeln!(
        text,
        "<line x1=\"{x:.1}\" y1=\"44\" x2=\"{x:.1}\" y2=\"{bottom:.1}\" stroke=\"{color}\"/>\
         <text x=\"{x:.1}\" y=\"40\" text-anchor=\"middle\" fill=\"#666666\">{label} ×</text>"
    )
    .unwrap_or_default();
}

fn bar(text: &mut String, y: f64, row: &Row) {
    let Some(Ratio { spread: ratio, is_bound }) = row.ratio else { return };
    let target = &row.target;
    let (one, end) = (place(1.0), place(ratio.median));
    let (x, length) = (one.min(end), (end - one).abs().max(1.0));
    let color = match target.store {
        "postgres" => "#33658a",
        _ => "#c1666b",
    };
    let label = escaped(&format!(
        "{} {}, {}, {}",
        target.workload.to_uppercase(),
        target.size,
        store_title(target.store),
        what(target.figure)
    ));
    let (label_x, base) = (LABELS - 8.0, y + 12.0);
    let (least, most, middle) = (place(ratio.least), place(ratio.most), y + 8.0);
    let (value_x, value) = (most.max(end).max(one) + 6.0, number(ratio.median));
    let more_than = if is_bound { "&gt; " } else { "" };
    writeln!(
        text,
        "<text x=\"{label_x:.1}\" y=\"{base:.1}\" text-anchor=\"end\" fill=\"#222222\">{label}</text>\
         <rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{length:.1}\" height=\"16\" fill=\"{color}\"/>\
         <line x1=\"{least:.1}\" y1=\"{middle:.1}\" x2=\"{most:.1}\" y2=\"{middle:.1}\" stroke=\"#222222\"/>\
         <text x=\"{value_x:.1}\" y=\"{base:.1}\" fill=\"#222222\">{more_than}{value} ×</text>"
    )
    .unwrap_or_default();
}

/// Where a ratio is, from left to right.
fn place(ratio: f64) -> f64 {
    let (least, most) = DECADES;
    let decade = ratio.max(1e-9).log10().clamp(least, most);
    LABELS + PLOT * (decade - least) / (most - least)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::super::rows::{Spread, rows};
    use super::super::targets;
    use super::*;

    #[test]
    fn bars_begin_at_one_and_are_as_long_as_their_logarithm() {
        let mut all = rows(&targets::all(), &[]);
        let spread = Spread { least: 50.0, median: 100.0, most: 200.0 };
        all[0].ratio = Some(Ratio { spread, is_bound: false });
        let text = chart(&all);
        // A decade is 104 wide, and 1 is at the end of the first.
        assert!(text.contains("<rect x=\"434.0\" y=\"58.0\" width=\"208.0\""), "{text}");
        assert!(text.contains("W1 200, SQLite, orchestrations/s"));
        assert_eq!(text.matches("height=\"16\"").count(), 1);
        assert!(text.ends_with("</svg>\n"));
    }

    #[test]
    fn without_a_reference_it_says_so() {
        assert!(chart(&rows(&targets::all(), &[])).contains("was not measured"));
    }
}
