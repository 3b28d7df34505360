//! Tables in the guide that repeat what the code says: that they still do.

use std::collections::BTreeSet;

use duroxide::RuntimeOptions;

const OPERATING: &str = include_str!("../../../../docs/guide/operating.md");

/// Where the runtime documents its metrics, which a test there holds against those it has.
const METRICS: &str = include_str!("../../../abide-runtime/src/observability/mod.rs");

fn metrics(text: &str) -> BTreeSet<&str> {
    text.lines().filter_map(|line| line.split("| `abide_").nth(1)?.split('`').next()).collect()
}

#[test]
fn every_metric_is_on_the_page_and_no_other() {
    assert!(metrics(METRICS).len() > 20);
    assert_eq!(metrics(OPERATING), metrics(METRICS));
}

#[test]
fn every_option_is_on_the_page_with_its_default() {
    let options = format!("{:#?}", RuntimeOptions::default());
    // Fields of the options themselves are indented once; those of what they hold, more.
    let fields =
        options.lines().filter_map(|line| line.strip_prefix("    ")).filter(|line| !line.starts_with(' '));
    let mut known = 0;
    for field in fields.filter(|line| line.contains(": ")) {
        let (name, value) = field.split_once(": ").unwrap();
        let (row, value) = match value.trim_end_matches(',').strip_suffix(" {") {
            Some(_) => (format!("| `{name}` |"), "of its own"),
            None => (format!("| `{name}` | `{}` |", value.trim_end_matches(',')), value),
        };
        assert!(OPERATING.contains(&row), "{name}, whose default is {value}, is not in the table of options");
        known += 1;
    }
    assert!(known > 15, "{options}");
}
