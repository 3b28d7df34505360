//! The table for people: which bugs there are, and who noticed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::run::Caught;

const HEAD: &str = "\
# Broken providers

<!-- Generated: `UPDATE_EXPECT=1 cargo test -p abide-conformance --test it broken`. The bugs are in
crates/abide-conformance/tests/it/broken/bugs. -->

Each row is a provider with one deliberate mistake; the suite was run on all of them, and the validation named here failed on
it. A suite that cannot fail proves nothing; this is the proof that ours can.

| what is wrong | caught by | and others |
|---|---|---|
";

/// The whole document.
pub(super) fn document(caught: &[Caught], validations: &[String]) -> String {
    let mut text = HEAD.to_owned();
    for Caught { bug, .. } in caught {
        let others = others(caught, bug.name);
        writeln!(text, "|{} | `{}` | {others} |", bug.what, bug.catcher).expect("a string takes text");
    }
    let unproven = unproven(caught, validations);
    let total = validations.len();
    write!(
        text,
        "\n## What is not proven\n\n{} bugs; {} of {total} validations caught at least one. These caught none:\n\n",
        caught.len(),
        total - unproven.len(),
    )
    .expect("a string takes text");
    for (area, functions) in by_area(&unproven) {
        writeln!(text, "- `{area}`: {}", functions.join(", ")).expect("a string takes text");
    }
    text
}

/// How many others noticed this bug.
fn others(caught: &[Caught], name: &str) -> usize {
    let meant = caught.iter().filter(|caught| caught.bug.name == name);
    meant.map(|caught| caught.catchers().filter(|path| *path != caught.bug.catcher).count()).sum()
}

/// The validations that noticed no bug.
fn unproven<'v>(caught: &[Caught], validations: &'v [String]) -> Vec<&'v str> {
    let proven: BTreeSet<&str> = caught.iter().flat_map(Caught::catchers).collect();
    validations.iter().map(String::as_str).filter(|path| !proven.contains(path)).collect()
}

fn by_area<'v>(paths: &[&'v str]) -> BTreeMap<&'v str, Vec<String>> {
    let mut areas: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (area, function) in paths.iter().filter_map(|path| path.split_once("::")) {
        areas.entry(area).or_default().push(format!("`{function}`"));
    }
    areas
}
