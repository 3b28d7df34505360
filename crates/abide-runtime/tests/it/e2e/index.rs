//! The index says what is there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Where a test or validation of that path is written: `module::name` here, `crate/module::name` elsewhere.
fn sources(path: &str) -> Vec<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Some((owner, module)) = path.split_once('/') else {
        return vec![here.join(format!("tests/it/e2e/{path}.rs"))];
    };
    let folder = match owner {
        "runtime" => here.join("tests/it"),
        "conformance" => here.join("../abide-conformance/src"),
        other => here.join(format!("../abide-{other}/tests/it")),
    };
    let file = folder.join(format!("{module}.rs"));
    if file.exists() { vec![file] } else { files_below(&folder.join(module)) }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let (mut files, mut folders) = (Vec::new(), Vec::new());
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() { folders.push(path) } else { files.push(path) }
    }
    files.extend(folders.iter().flat_map(|folder| files_below(folder)));
    files
}

/// What stands between backticks in the index and looks like a test.
fn named() -> BTreeSet<(String, String)> {
    let quoted = include_str!("index.md").split('`').skip(1).step_by(2);
    let named = quoted.filter_map(|text| text.rsplit_once("::"));
    named.map(|(module, name)| (module.to_owned(), name.to_owned())).collect()
}

#[test]
fn everything_named_in_the_index_exists() {
    for (module, name) in named() {
        let defined = [format!("fn {name}("), format!("fn {name}<")];
        let found = sources(&module).iter().any(|file| {
            let text = std::fs::read_to_string(file).unwrap_or_default();
            defined.iter().any(|definition| text.contains(definition))
        });
        assert!(found, "{module}::{name} is not there");
    }
}

#[test]
fn every_scenario_is_in_the_index() {
    let named = named();
    for file in files_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/e2e")) {
        let module = file.file_stem().unwrap().to_string_lossy().into_owned();
        if module == "index" {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        for test in text.split("#[test]\nfn ").skip(1) {
            let name = test.split('(').next().unwrap();
            assert!(
                named.contains(&(module.clone(), name.to_owned())),
                "{module}::{name} is not in the index"
            );
        }
    }
}
