//! The table for people: which bugs there are, and who noticed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use abide_broken::{Caught, Planted};

const HEAD: &str = "\
# Broken providers

<!-- Generated: `UPDATE_EXPECT=1 cargo test -p abide-broken`. The bugs are in crates/abide-broken/src/bugs. -->

Each row is a provider with one deliberate mistake. The suite was run on it, and the validation named here failed; a validation
that does not come to an end does not count. A suite that cannot fail proves nothing; this is the proof that ours can.

The mistakes were planted in the model in memory. The same ones, planted in a store on PostgreSQL, are caught by the validations
named here too: `crates/abide-postgres/tests/it/broken.rs`.

Some validations are left out where they cost too much. Those that wait in real time are tried on mistakes about waiting,
which are tried on nothing else; those that wait for word of a lease that was taken away, or of a change, on mistakes about
that. Those that move megabytes are tried on mistakes that name them.

| what is wrong | caught by | and by others |
|---|---|---|
";

/// The whole document.
pub(crate) fn document(caught: &[Caught], validations: &[String]) -> String {
    let mut text = HEAD.to_owned();
    for caught in caught {
        let Planted { what, catcher, .. } = caught.bug;
        let others = caught.catchers().filter(|path| path != catcher).count();
        // How many notice depends on the machine's load if they measure time.
        let others = if caught.bug.is_about_waiting() { String::new() } else { others.to_string() };
        writeln!(text, "|{what} | `{catcher}` | {others} |").expect("a string takes text");
    }
    let unproven = unproven(caught, validations);
    let total = validations.len();
    write!(
        text,
        "\n## What is not proven\n\nThese are {} mistakes. One that a tenth of the suite notices proves nothing about a validation that \
         it does not name.\nSo counted, {} of {total} validations caught at least one each.{}\n",
        caught.len(),
        total - unproven.len(),
        if unproven.is_empty() { "" } else { " These caught none:\n" },
    )
    .expect("a string takes text");
    for (area, functions) in by_area(&unproven) {
        writeln!(text, "- `{area}`: {}", functions.join(", ")).expect("a string takes text");
    }
    text
}

/// The validations that noticed no bug. One that a tenth of the suite notices proves nothing
/// about a validation that it does not name.
fn unproven<'v>(caught: &[Caught], validations: &'v [String]) -> Vec<&'v str> {
    let is_blunt = |caught: &&Caught| caught.catchers().count() > validations.len() / 10;
    let sharp = caught.iter().filter(|caught| !is_blunt(caught));
    let mut proven: BTreeSet<&str> = sharp.flat_map(Caught::catchers).collect();
    proven.extend(caught.iter().map(|caught| caught.bug.catcher));
    validations.iter().map(String::as_str).filter(|path| !proven.contains(path)).collect()
}

fn by_area<'v>(paths: &[&'v str]) -> BTreeMap<&'v str, Vec<String>> {
    let mut areas: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (area, function) in paths.iter().filter_map(|path| path.split_once("::")) {
        areas.entry(area).or_default().push(format!("`{function}`"));
    }
    areas
}
