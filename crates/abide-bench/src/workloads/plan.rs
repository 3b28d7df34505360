//! What is measured: the bounded set, everything, and what the reference is asked as well.

use std::time::Duration;

use super::line::Side;
use super::targets;

/// In the order in which they are shown.
pub(crate) const STORES: [&str; 5] = ["sqlite-full", "postgres", "memory", "sqlite-memory", "sqlite-normal"];
pub(crate) const WORKLOADS: [&str; 14] =
    ["w1", "w2", "w2-busy", "w2-flood", "w3", "w4", "w5", "w6", "w7", "w8", "w9", "w10", "w11", "w12"];
/// Besides the default.
const SLOTS: [u64; 5] = [1, 2, 4, 16, 64];

/// One thing to measure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) workload: &'static str,
    pub(crate) store: &'static str,
    pub(crate) size: u64,
    pub(crate) slots: Option<u64>,
    pub(crate) nodes: u64,
    pub(crate) activity_ms: u64,
    pub(crate) samples: u64,
    pub(crate) seconds: u64,
    pub(crate) who: Who,
    pub(crate) repeat: Repeat,
    pub(crate) limit: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    Ours,
    /// In turn.
    Both,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    Once,
    /// As often as was asked for.
    Often,
}

/// How much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// A few minutes.
    Bounded,
    Full,
}

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) extent: Extent,
    /// Who is measured where the reference can finish.
    pub(crate) who: Who,
    /// All if empty.
    pub(crate) only: Vec<&'static str>,
    /// Those of the extent if empty.
    pub(crate) stores: Vec<&'static str>,
    pub(crate) size: Option<u64>,
    pub(crate) slots: Option<u64>,
    /// How many seconds one measurement may take, if not as planned.
    pub(crate) limit: Option<u64>,
}

impl Case {
    fn new(workload: &'static str, store: &'static str, size: u64) -> Self {
        let (samples, seconds) = match workload {
            "w6" => (20, 20),
            "w7" => (100, 20),
            "w10" => (50, 20),
            _ => (200, 20),
        };
        let (slots, nodes, activity_ms) = (None, 1, 0);
        let (who, repeat, limit) = (Who::Ours, Repeat::Often, Duration::from_secs(120));
        Self { workload, store, size, slots, nodes, activity_ms, samples, seconds, who, repeat, limit }
    }

    fn lasting(mut self, seconds: u64) -> Self {
        self.limit = Duration::from_secs(seconds);
        self
    }

    fn once(mut self) -> Self {
        self.repeat = Repeat::Once;
        self
    }

    /// The same at a size that somebody named. It may take as long as where it is planned, if it is.
    fn of_size(&self, size: u64) -> Self {
        let planned =
            large(self.store).into_iter().find(|it| (it.workload, it.size) == (self.workload, size));
        let limit = planned.unwrap_or_else(|| Self::new(self.workload, self.store, size)).limit;
        let repeat = if self.slots.is_none() { Repeat::Often } else { self.repeat };
        Self { size, repeat, limit, ..self.clone() }
    }

    /// Whether it is run once more to count what it costs: few enough to be soon done, and enough to say what a step is.
    pub(crate) fn is_counted(&self) -> bool {
        matches!(self.workload, "w1" | "w4") && self.size <= 1_000 && self.slots.is_none()
    }

    /// For people.
    pub(crate) fn title(&self) -> String {
        let mut title = format!("{} {} on {}", self.workload, self.size, self.store);
        if let Some(slots) = self.slots {
            title = format!("{title}, {slots} slots");
        }
        title + &self.subject(Side::Ours).processes()
    }
}

impl Request {
    /// In the order in which they are measured.
    pub(crate) fn cases(&self) -> Vec<Case> {
        let of_extent: &[&'static str] = match self.extent {
            Extent::Bounded => &STORES[..2],
            Extent::Full => &STORES,
        };
        let stores = if self.stores.is_empty() { of_extent } else { &self.stores };
        let mut cases = Vec::new();
        for store in stores {
            cases.extend(bounded(store));
            if self.extent == Extent::Full {
                cases.extend(large(store));
                cases.extend(slots(store));
            }
        }
        if self.who == Who::Both {
            compare(&mut cases, stores.iter().copied().filter(|store| has_reference(store)));
        }
        let mut cases: Vec<Case> = cases.into_iter().filter(|case| self.wants(case)).collect();
        if self.stores.is_empty() {
            // Whoever wants to see more often what has no target names the store.
            for case in cases.iter_mut().filter(|case| !has_target(case.store)) {
                case.repeat = Repeat::Once;
            }
        }
        if let Some(slots) = self.slots {
            cases.retain(|case| case.slots.is_none());
            for case in &mut cases {
                case.slots = Some(slots);
            }
        }
        if let Some(size) = self.size {
            for case in &mut cases {
                *case = case.of_size(size);
                // Whoever names a size knows whether the reference gets there.
                let is_plain = case.slots.is_none() && case.nodes == 1;
                if self.who == Who::Both && is_plain && has_reference(case.store) {
                    case.who = Who::Both;
                }
            }
            let mut once = Vec::new();
            for case in cases {
                if !once.contains(&case) {
                    once.push(case);
                }
            }
            cases = once;
        }
        if let Some(limit) = self.limit {
            for case in &mut cases {
                case.limit = Duration::from_secs(limit);
            }
        }
        cases
    }

    /// Whether what has no store is measured, too.
    pub(crate) fn has_engine(&self) -> bool {
        self.extent == Extent::Full && self.only.is_empty()
    }

    fn wants(&self, case: &Case) -> bool {
        self.only.is_empty() || self.only.contains(&case.workload)
    }
}

/// Each workload at the sizes that take seconds.
fn bounded(store: &'static str) -> Vec<Case> {
    let sizes: [(&str, &[u64]); 13] = [
        ("w1", &[200, 1_000, 5_000]),
        ("w2", &[1]),
        ("w2-busy", &[1]),
        ("w2-flood", &[1]),
        ("w3", &[1_000, 10_000]),
        ("w4", &[1_000]),
        ("w5", &[500]),
        ("w6", &[1, 1_000]),
        ("w7", &[1, 500]),
        ("w8", &[200]),
        ("w9", &[0]),
        ("w10", &[1]),
        ("w11", &[2_000]),
    ];
    let mut cases = Vec::new();
    for (workload, sizes) in sizes {
        if workload == "w11" && !is_shared(store) {
            continue;
        }
        cases.extend(sizes.iter().map(|size| Case::new(workload, store, *size)));
    }
    if is_shared(store) {
        cases.push(Case { nodes: 2, ..Case::new("w10", store, 1) });
    }
    if store == "postgres" {
        cases.extend(nodes(store));
    }
    cases
}

/// Whether several processes can have it.
fn is_shared(store: &str) -> bool {
    !matches!(store, "memory" | "sqlite-memory")
}

/// W12: trivial activities, and some that take a while.
fn nodes(store: &'static str) -> impl Iterator<Item = Case> {
    let trivial = [1, 2, 4].map(|nodes| Case { nodes, ..Case::new("w12", store, 1_000) });
    let slow = [1, 2, 4].map(|nodes| Case {
        nodes,
        activity_ms: 20,
        slots: Some(16),
        ..Case::new("w12", store, 1_000)
    });
    trivial.into_iter().chain(slow)
}

/// What takes minutes.
fn large(store: &'static str) -> Vec<Case> {
    let mut cases = vec![
        Case::new("w1", store, 20_000),
        Case::new("w3", store, 100_000).lasting(300),
        Case::new("w4", store, 10_000).once(),
        // Often, although it takes minutes: a hundred steps are a tenth of a second, and what the machine did in one says little.
        Case::new("w4", store, 100_000).lasting(900),
        Case::new("w5", store, 10_000),
        Case::new("w6", store, 100_000).lasting(300).once(),
        Case::new("w8", store, 5_000),
        Case::new("w9", store, 100_000).lasting(500).once(),
    ];
    if is_shared(store) {
        cases.push(Case::new("w11", store, 10_000).lasting(200));
    }
    if store == "memory" {
        // The model looks at all it has with every call, on purpose: it is not asked for so many at once.
        cases.retain(|case| matches!(case.workload, "w4" | "w5" | "w8"));
    }
    cases
}

/// Everything with other numbers of slots: nothing may fail or hang.
pub(crate) fn slots(store: &'static str) -> Vec<Case> {
    // By workload, size, and number of processes.
    let all = [
        ("w1", 1_000, 1),
        ("w2", 1, 1),
        ("w2-busy", 1, 1),
        ("w2-flood", 1, 1),
        ("w3", 1_000, 1),
        ("w4", 200, 1),
        ("w5", 500, 1),
        ("w6", 1_000, 1),
        ("w7", 500, 1),
        ("w8", 200, 1),
        ("w9", 0, 1),
        ("w10", 1, 1),
        ("w10", 1, 2),
        ("w11", 500, 1),
        ("w12", 200, 2),
    ];
    let is_possible = |(workload, _, nodes): &(&str, u64, u64)| match *workload {
        "w12" => store == "postgres",
        "w11" => is_shared(store),
        _ => *nodes == 1 || is_shared(store),
    };
    let with = |slots: u64| {
        all.into_iter().filter(is_possible).map(move |(workload, size, nodes)| {
            let case = Case::new(workload, store, size).once();
            let samples = case.samples.min(20);
            let seconds = if workload == "w9" && has_target(store) { case.seconds } else { 5 };
            Case { slots: Some(slots), nodes, samples, seconds, ..case }
        })
    };
    SLOTS.into_iter().flat_map(with).collect()
}

/// Of any workload by itself.
fn has_target(store: &str) -> bool {
    targets::all().iter().any(|target| target.store == store && target.workload != "all")
}

/// Its file and its PostgreSQL; what it has in memory nobody would use.
fn has_reference(store: &str) -> bool {
    matches!(store, "sqlite-full" | "postgres")
}

/// Lets the reference take part where it gets to an end, and adds sizes at which it does.
fn compare(cases: &mut Vec<Case>, stores: impl Iterator<Item = &'static str>) {
    const FINISHES: [(&str, u64); 12] = [
        ("w1", 200),
        ("w1", 1_000),
        ("w2", 1),
        ("w3", 1_000),
        ("w5", 500),
        ("w6", 1),
        ("w6", 1_000),
        ("w7", 1),
        ("w7", 500),
        ("w8", 200),
        ("w9", 0),
        ("w10", 1),
    ];
    for case in cases.iter_mut() {
        let is_plain = case.slots.is_none() && case.nodes == 1;
        let finishes = is_plain && FINISHES.contains(&(case.workload, case.size));
        if finishes && has_reference(case.store) {
            case.who = Who::Both;
        }
    }
    for store in stores {
        for (workload, size) in [("w4", 200), ("w11", 200)] {
            cases.push(Case { who: Who::Both, ..Case::new(workload, store, size) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(extent: Extent, who: Who) -> Request {
        Request { extent, who, only: vec![], stores: vec![], size: None, slots: None, limit: None }
    }

    #[test]
    fn every_workload_is_in_every_extent() {
        for extent in [Extent::Bounded, Extent::Full] {
            let cases = request(extent, Who::Ours).cases();
            for workload in WORKLOADS {
                assert!(cases.iter().any(|case| case.workload == workload), "{workload}");
            }
            assert!(cases.iter().all(|case| case.who == Who::Ours));
        }
    }

    #[test]
    fn everything_has_every_store_and_all_numbers_of_slots() {
        let cases = request(Extent::Full, Who::Ours).cases();
        for store in STORES {
            for slots in SLOTS {
                assert!(cases.iter().any(|case| case.store == store && case.slots == Some(slots)));
            }
        }
        for (workload, slots) in WORKLOADS.into_iter().flat_map(|it| SLOTS.map(|slots| (it, slots))) {
            let same =
                |case: &Case| (case.workload, case.store, case.slots) == (workload, "postgres", Some(slots));
            assert!(cases.iter().any(same), "{workload} with {slots} slots");
        }
        for workload in ["w3", "w4"] {
            assert!(cases.iter().any(|case| case.workload == workload && case.size == 100_000));
        }
        assert!(!cases.iter().any(|case| case.workload == "w11" && case.store == "memory"));
    }

    #[test]
    fn the_reference_takes_part_only_where_it_finishes() {
        let cases = request(Extent::Full, Who::Both).cases();
        let both: Vec<_> = cases.iter().filter(|case| case.who == Who::Both).collect();
        assert!(both.iter().any(|case| (case.workload, case.size) == ("w1", 1_000)));
        assert!(both.iter().all(|case| case.size <= 1_000 && case.slots.is_none() && case.nodes == 1));
        assert!(both.iter().all(|case| matches!(case.store, "sqlite-full" | "postgres")));
    }

    #[test]
    fn what_is_judged_is_measured_often_and_the_rest_if_somebody_names_it() {
        let everything = request(Extent::Full, Who::Ours);
        let named = Request { stores: vec!["memory"], ..everything.clone() };
        let often = |request: &Request, store: &str, size: u64| {
            let cases = request.cases();
            let mut same = cases.iter().filter(|it| (it.workload, it.store, it.size) == ("w4", store, size));
            same.any(|case| case.repeat == Repeat::Often)
        };
        assert!(often(&everything, "sqlite-full", 100_000) && often(&everything, "postgres", 1_000));
        assert!(!often(&everything, "memory", 1_000));
        assert!(often(&named, "memory", 1_000));
    }

    #[test]
    fn a_request_narrows_the_plan() {
        let narrow = Request {
            only: vec!["w1"],
            stores: vec!["memory"],
            size: Some(7),
            slots: Some(3),
            limit: Some(9),
            ..request(Extent::Bounded, Who::Ours)
        };
        let cases = narrow.cases();
        assert_eq!(cases.len(), 1);
        assert_eq!((cases[0].size, cases[0].slots, cases[0].store), (7, Some(3), "memory"));
        assert_eq!(cases[0].limit, Duration::from_secs(9));
        let compared = Request {
            only: vec!["w1"],
            stores: vec!["postgres"],
            size: Some(50),
            ..request(Extent::Bounded, Who::Both)
        };
        let cases = compared.cases();
        assert_eq!((cases.len(), cases[0].who), (1, Who::Both));
        let (only, stores, size) = (vec!["w4"], vec!["postgres"], Some(100_000));
        for extent in [Extent::Bounded, Extent::Full] {
            let (only, stores) = (only.clone(), stores.clone());
            let named = Request { only, stores, size, ..request(extent, Who::Ours) };
            let cases: Vec<Case> = named.cases().into_iter().filter(|case| case.slots.is_none()).collect();
            assert_eq!(cases.len(), 1, "each once");
            assert_eq!(cases[0].limit, Duration::from_secs(900), "as where it is planned");
        }
    }
}
