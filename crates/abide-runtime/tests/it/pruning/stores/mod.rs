//! Any calls at any time, on both stores: nothing that runs, is current, or is between two executions ever goes, and
//! everything else goes as a few lines say.

mod both;
mod model;

use abide_model::PruneOptions;
use abide_provider::OrphanFilter;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use self::both::Both;
use self::model::Model;
use super::chance::config;

/// So many names.
const NAMES: usize = 6;

/// In milliseconds.
const MINUTE: u64 = 60_000;

/// When it begins.
const BEGIN: u64 = 100 * MINUTE;

/// Something that happens, if it can.
#[derive(Debug, Clone)]
enum Op {
    /// A root begins.
    Start(usize),
    /// The first, which runs, asks for the second, which begins.
    Child(usize, usize),
    /// It continues as new, and prunes.
    Continue(usize, Option<Rule>),
    /// Its successor begins.
    Resume(usize),
    /// It completes or fails.
    End(usize, Ending),
    /// Minutes pass.
    Pass(u64),
    Prune(usize, Rule),
    PruneAll(Rule),
    /// What ended so many minutes ago goes.
    Retain(u64),
    /// Orphans go; those whose parents ended so many minutes ago.
    Orphans(Option<u64>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Completed,
    Failed,
}

/// How many are kept, and what ended within so many minutes.
#[derive(Debug, Clone, Copy)]
struct Rule {
    keep: Option<u32>,
    age: Option<u64>,
}

impl Rule {
    fn options(self, now: u64) -> PruneOptions {
        let completed_before = self.age.map(|age| now.saturating_sub(age * MINUTE));
        PruneOptions { keep_last: self.keep, completed_before }
    }
}

fn orphans(age: Option<u64>, now: u64) -> OrphanFilter {
    let parent_completed_before = age.map(|age| now.saturating_sub(age * MINUTE));
    OrphanFilter { parent_completed_before, ..OrphanFilter::default() }
}

fn rules() -> impl Strategy<Value = Rule> {
    let keep = proptest::option::of(0_u32..4);
    (keep, proptest::option::of(0_u64..10)).prop_map(|(keep, age)| Rule { keep, age })
}

fn ops() -> impl Strategy<Value = Op> {
    let name = || 0..NAMES;
    let ending = prop_oneof![Just(Ending::Completed), Just(Ending::Failed)];
    prop_oneof![
        4 => name().prop_map(Op::Start),
        4 => (name(), name()).prop_map(|(parent, child)| Op::Child(parent, child)),
        8 => (name(), proptest::option::of(rules())).prop_map(|(name, rule)| Op::Continue(name, rule)),
        6 => name().prop_map(Op::Resume),
        5 => (name(), ending).prop_map(|(name, ending)| Op::End(name, ending)),
        5 => (0_u64..8).prop_map(Op::Pass),
        2 => (name(), rules()).prop_map(|(name, rule)| Op::Prune(name, rule)),
        1 => rules().prop_map(Op::PruneAll),
        2 => (0_u64..10).prop_map(Op::Retain),
        2 => proptest::option::of(0_u64..10).prop_map(Op::Orphans),
    ]
}

#[test]
fn nothing_that_is_needed_goes() {
    let property = |ops: Vec<Op>| {
        let (mut model, both) = (Model::new(), Both::open());
        for op in ops {
            let needed = model.needed();
            if !model.apply(&op) {
                continue;
            }
            both.apply(&op, &model);
            for (store, seen) in both.look() {
                let gone: Vec<_> = needed.iter().filter(|it| !seen.contains_key(*it)).collect();
                prop_assert!(gone.is_empty(), "{}: {:?} took {:?}", store, op, gone);
                prop_assert_eq!(&seen, &model.look(), "{}: after {:?}", store, op);
            }
        }
        Ok(())
    };
    let many = proptest::collection::vec(ops(), 1..60);
    TestRunner::new(config(150)).run(&many, property).unwrap();
}
