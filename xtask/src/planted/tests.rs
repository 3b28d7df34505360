//! The runner on a tiny workspace of its own, with real cargo and real tests.

use std::path::{Path, PathBuf};
use std::process;

use super::bugs::Edit;
use super::*;
use Thoroughness::{EveryTest, FirstCatch};

const FILE: &str = "crates/abide-engine/src/lib.rs";

const MANIFEST: &str = "[workspace]\nmembers = [\"crates/*\"]\nresolver = \"3\"\n";
const PACKAGE: &str = "[package]\nname = \"abide-engine\"\nversion = \"0.0.0\"\nedition = \"2024\"\n";
const ENGINE: &str = "pub fn sum(a: u8, b: u8) -> u8 { a + b }\n\
                      pub fn count(to: u8) -> u8 { let mut n = 0; while n < to { n += 1; } n }\n";
const TESTS: &str = "use abide_engine::{count, sum};\n\
                     #[test] fn sums() { assert_eq!(sum(2, 1), 3); }\n\
                     #[test] fn counts() { assert_eq!(count(3), 3); }\n\
                     #[test] fn idles() {}\n";

const fn bug(name: &'static str, edits: &'static [Edit]) -> PlantedBug {
    PlantedBug { name, story: "A story.", file: FILE, edits, caught_by: &["idles", "sums"] }
}

const CAUGHT: PlantedBug = bug("caught", &[Edit { find: "a + b", replace: "a - b" }]);
const OVERLOOKED: PlantedBug = bug("overlooked", &[Edit { find: "a + b", replace: "b + a" }]);
const STALE: PlantedBug = bug("stale", &[Edit { find: "a * b", replace: "a - b" }]);
const BROKEN: PlantedBug = bug("broken", &[Edit { find: "a + b", replace: "a + nothing" }]);
const ENDLESS: PlantedBug =
    PlantedBug { caught_by: &["counts"], ..bug("endless", &[Edit { find: "n += 1", replace: "n += 0" }]) };
const CRASHING: PlantedBug =
    bug("crashing", &[Edit { find: "a + b", replace: "{ let _ = (a, b); std::process::abort() }" }]);
const MISDIRECTED: PlantedBug = PlantedBug {
    caught_by: &["no_such_test"],
    ..bug("misdirected", &[Edit { find: "a + b", replace: "a - b" }])
};

/// A workspace in the folder for temporary files, removed in the end.
struct Playground {
    folder: PathBuf,
}

impl Playground {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("abide-planted-{}-{name}", process::id()));
        let playground = Self { folder };
        playground.write("Cargo.toml", MANIFEST);
        playground.write("crates/abide-engine/Cargo.toml", PACKAGE);
        playground.write("crates/abide-engine/tests/it/main.rs", TESTS);
        playground.write(FILE, ENGINE);
        playground
    }

    fn write(&self, path: &str, text: &str) {
        let file = self.folder.join("source").join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    fn copy_of(&self, path: &str) -> String {
        fs::read_to_string(self.folder.join("work").join(path)).unwrap()
    }

    fn bench(&self) -> Workbench {
        let part = |name: &str| self.folder.join(name);
        Workbench::new(&part("source"), &part("work"), &part("target"), Duration::from_secs(5))
    }
}

impl Drop for Playground {
    fn drop(&mut self) {
        // A folder left behind for temporary files harms nobody, a panic in here would hide the failure.
        fs::remove_dir_all(&self.folder).ok();
    }
}

#[test]
fn every_kind_of_bug_is_reported_as_what_it_is() {
    let playground = Playground::new("kinds");
    let bench = playground.bench();

    let catches = plant_all(&bench, &[&CAUGHT, &ENDLESS, &CRASHING], EveryTest).unwrap();
    let noticed: Vec<_> = catches.iter().map(|catch| (catch.bug.name, catch.noticed.as_slice())).collect();
    assert_eq!(
        noticed,
        [
            ("caught", &[("sums", Ending::Failed)][..]),
            ("endless", &[("counts", Ending::Hung)][..]),
            ("crashing", &[("sums", Ending::Crashed)][..]),
        ]
    );

    let failure =
        plant_all(&bench, &[&OVERLOOKED, &STALE, &BROKEN, &CAUGHT], FirstCatch).unwrap_err().to_string();
    assert!(failure.contains("`overlooked`: not caught by idles, sums"), "{failure}");
    assert!(failure.contains("`stale`: `find` does not occur"), "{failure}");
    assert!(failure.contains("`broken`: it does not compile"), "{failure}");
    assert!(!failure.contains("`caught`"), "{failure}");
    assert_eq!(playground.copy_of(FILE), ENGINE, "the copy is restored");
}

#[test]
fn a_catcher_must_exist_and_pass_without_the_bug() {
    let playground = Playground::new("baseline");
    let bench = playground.bench();
    let failure = format!("{:#}", plant_all(&bench, &[&MISDIRECTED], FirstCatch).unwrap_err());
    assert!(failure.contains("there is no test `no_such_test`"), "{failure}");

    playground.write("crates/abide-engine/tests/it/main.rs", &TESTS.replace("1), 3", "1), 4"));
    let failure = format!("{:#}", plant_all(&bench, &[&CAUGHT], FirstCatch).unwrap_err());
    assert!(failure.contains("the test `sums` fails, so it proves nothing"), "{failure}");
}

#[test]
fn the_copy_follows_the_workspace() {
    let playground = Playground::new("mirror");
    let bench = playground.bench();
    bench.mirror().unwrap();
    let stray = playground.folder.join("work/crates/abide-engine/tests/it/stray.txt");
    fs::write(&stray, "left by a failed test").unwrap();
    playground.write(FILE, "pub fn changed() {}\n");
    let unchanged = playground.folder.join("work/Cargo.toml");
    let modified = |file: &Path| fs::metadata(file).unwrap().modified().unwrap();
    let before = modified(&unchanged);

    bench.mirror().unwrap();

    assert!(!stray.exists());
    assert_eq!(playground.copy_of(FILE), "pub fn changed() {}\n");
    assert_eq!(modified(&unchanged), before, "an equal file is not written");
}

#[test]
fn bugs_are_chosen_by_name() {
    let table = [CAUGHT, STALE];
    let names = |wanted: &[&str]| -> anyhow::Result<Vec<&str>> {
        let wanted: Vec<String> = wanted.iter().map(|name| (*name).to_owned()).collect();
        Ok(choose(&table, &wanted)?.into_iter().map(|bug| bug.name).collect())
    };
    assert_eq!(names(&[]).unwrap(), ["caught", "stale"]);
    assert_eq!(names(&["stale"]).unwrap(), ["stale"]);
    let failure = names(&["stail"]).unwrap_err().to_string();
    assert!(failure.contains("[caught, stale]"), "{failure}");
}
