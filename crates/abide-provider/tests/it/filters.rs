//! Who may take what.

use std::collections::HashSet;
use std::panic::catch_unwind;

use abide_provider::{
    DispatcherCapabilityFilter, MAX_WORKER_TAGS, SemverRange, TagFilter, current_build_version,
};
use semver::Version;

fn set(tags: &[&str]) -> HashSet<String> {
    tags.iter().map(|tag| (*tag).to_owned()).collect()
}

#[test]
fn a_filter_matches_by_this_table() {
    let [none, gpu, cpu] = [None, Some("gpu"), Some("cpu")];
    let table = [
        (TagFilter::default_only(), [true, false, false]),
        (TagFilter::tags(["gpu"]), [false, true, false]),
        (TagFilter::tags(["gpu", "cpu"]), [false, true, true]),
        (TagFilter::default_and(["gpu"]), [true, true, false]),
        (TagFilter::any(), [true, true, true]),
        (TagFilter::none(), [false, false, false]),
        (TagFilter::Tags(HashSet::new()), [false, false, false]),
        (TagFilter::DefaultAnd(HashSet::new()), [true, false, false]),
    ];
    for (filter, expected) in table {
        assert_eq!([none, gpu, cpu].map(|tag| filter.matches(tag)), expected, "{filter:?}");
    }
    assert!(!TagFilter::default_only().matches(Some("")), "an empty tag is a tag");
}

#[test]
fn constructors_make_the_variants() {
    assert_eq!(TagFilter::tags(["a", "b", "a"]), TagFilter::Tags(set(&["a", "b"])));
    assert_eq!(TagFilter::default_and(vec![String::from("a")]), TagFilter::DefaultAnd(set(&["a"])));
    assert_eq!(TagFilter::default_only(), TagFilter::DefaultOnly);
    assert_eq!(TagFilter::default(), TagFilter::DefaultOnly);
    assert_eq!(TagFilter::any(), TagFilter::Any);
    assert_eq!(TagFilter::none(), TagFilter::None);
}

#[test]
fn a_worker_serves_at_least_one_and_at_most_five_tags() {
    type Make = fn() -> TagFilter;
    const NOTHING: [&str; 0] = [];
    assert_eq!(MAX_WORKER_TAGS, 5);
    let five = ["a", "b", "c", "d", "e"];
    assert_eq!(TagFilter::tags(five), TagFilter::Tags(set(&five)));
    assert_eq!(
        TagFilter::tags(["a", "b", "c", "d", "e", "a"]),
        TagFilter::Tags(set(&five)),
        "different ones"
    );
    let table: [(Make, &str); 4] = [
        (|| TagFilter::tags(NOTHING), "TagFilter::tags() requires at least one tag; "),
        (|| TagFilter::default_and(NOTHING), "TagFilter::default_and() requires at least one tag; "),
        (|| TagFilter::tags(["a", "b", "c", "d", "e", "f"]), "Worker can subscribe to at most 5 tags, got 6"),
        (
            || TagFilter::default_and(["a", "b", "c", "d", "e", "f"]),
            "Worker can subscribe to at most 5 tags, got 6",
        ),
    ];
    for (make, expected) in table {
        let panic = catch_unwind(make).unwrap_err();
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap();
        assert!(text.starts_with(expected), "{text}");
    }
}

#[test]
fn a_node_replays_what_lies_in_one_of_its_ranges() {
    let range = |low, high| SemverRange::new(Version::new(0, low, 0), Version::new(0, high, 9));
    let filter = DispatcherCapabilityFilter { supported_duroxide_versions: vec![range(1, 2), range(5, 5)] };
    let table = [
        ("0.0.9", false),
        ("0.1.0", true),
        ("0.1.0-rc.1", false),
        ("0.2.9", true),
        ("0.3.0", false),
        ("0.5.4", true),
        ("1.0.0", false),
    ];
    for (version, expected) in table {
        assert_eq!(filter.is_compatible(&version.parse().unwrap()), expected, "{version}");
    }
    let nothing = DispatcherCapabilityFilter { supported_duroxide_versions: vec![] };
    assert!(!nothing.is_compatible(&Version::new(0, 1, 0)));
}

#[test]
fn a_build_replays_everything_up_to_itself() {
    let filter = DispatcherCapabilityFilter::default_for_current_build();
    let current = current_build_version();
    let next = Version { patch: current.patch + 1, ..current.clone() };
    for (version, expected) in [(Version::new(0, 0, 0), true), (current, true), (next, false)] {
        assert_eq!(filter.is_compatible(&version), expected, "{version}");
    }
}
