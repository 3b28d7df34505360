//! The engine and its words reach for nothing outside their arguments: no clock, chance, thread, file, network, log,
//! nor a map whose order differs from run to run.
//!
//! The rule looks at the paths and macros of the parsed code ([`mentions`]), so comments and strings are free, imports
//! and renames are followed, and tests are excluded. [`banned`] lists what is looked for.

use banned::BANNED;
use mentions::mentions_in;

use crate::tidy::source::SourceFile;
use crate::tidy::tree::Tree;
use crate::tidy::violation::Violation;

mod banned;
mod mentions;

const RULE: &str = "ambient";
const THIS_FILE: &str = "xtask/src/tidy/rules/ambient/mod.rs";
const PURE_FOLDERS: [&str; 2] = ["crates/abide-engine/src/", "crates/abide-model/src/"];

#[derive(Debug)]
struct Exception {
    path: &'static str,
    token: &'static str,
    reason: &'static str,
}

/// An exception that is no longer needed is itself a violation.
const EXCEPTIONS: &[Exception] = &[
    Exception {
        path: "crates/abide-model/src/event.rs",
        token: "SystemTime::now",
        reason: "the frozen constructor of an event stamps it; the engine sets the time itself",
    },
    Exception {
        path: "crates/abide-engine/src/context/kv.rs",
        token: "HashMap",
        reason: "`get_kv_all_values` returns one: its signature is frozen",
    },
];

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    check_with(tree, EXCEPTIONS)
}

fn check_with(tree: &Tree, exceptions: &[Exception]) -> Vec<Violation> {
    let pure = tree.sources.iter().filter(|source| PURE_FOLDERS.iter().any(|it| source.path.starts_with(it)));
    let found: Vec<Finding<'_>> = pure.flat_map(findings).collect();

    let forbidden = found.iter().filter(|finding| !exceptions.iter().any(|it| it.covers(finding)));
    let needless = exceptions.iter().filter(|exception| !found.iter().any(|it| exception.covers(it)));
    forbidden.map(Finding::violation).chain(needless.map(Exception::needless)).collect()
}

struct Finding<'tree> {
    path: &'tree str,
    line: usize,
    token: &'static str,
    instead: &'static str,
}

impl Finding<'_> {
    fn violation(&self) -> Violation {
        Violation {
            path: self.path.to_owned(),
            line: self.line,
            rule: RULE,
            message: format!("`{}` in pure code; {}", self.token, self.instead),
        }
    }
}

impl Exception {
    fn covers(&self, finding: &Finding<'_>) -> bool {
        self.path == finding.path && self.token == finding.token
    }

    fn needless(&self) -> Violation {
        Violation {
            path: self.path.to_owned(),
            line: 1,
            rule: RULE,
            message: format!(
                "`{}` has an exception ({}) but does not occur; remove the exception from {THIS_FILE}",
                self.token, self.reason
            ),
        }
    }
}

fn findings(source: &SourceFile) -> Vec<Finding<'_>> {
    let mentions = mentions_in(&source.syntax).into_iter().filter(|it| !source.is_test_line(it.line));
    mentions
        .filter_map(|mention| {
            let banned = BANNED.iter().find(|banned| banned.matches(&mention))?;
            let (token, instead) = (banned.token, banned.instead);
            Some(Finding { path: &source.path, line: mention.line, token, instead })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "crates/abide-engine/src/turn.rs";

    fn found(text: &str) -> Vec<(usize, String)> {
        let violations = check_with(&Tree::of(&[(PATH, text)]), &[]);
        violations.into_iter().map(|it| (it.line, it.message)).collect()
    }

    fn tokens(text: &str) -> Vec<String> {
        found(text)
            .into_iter()
            .filter_map(|(_, message)| Some(message.split('`').nth(1)?.to_owned()))
            .collect()
    }

    #[test]
    fn pure_code_is_good_and_so_are_comments_strings_and_tests() {
        let text = r#"
            //! Never calls SystemTime::now.
            use std::collections::BTreeMap;
            use std::time::{Duration, SystemTime};
            mod log;
            fn f(log: Vec<u8>, at: SystemTime) -> log::Line {
                let text = "std::fs, HashMap and tokio::spawn";
                let version = env!("CARGO_PKG_VERSION");
                format!("{log:?} {text} {version}")
            }
            #[cfg(test)]
            mod tests {
                fn g() { println!("{:?}", std::time::Instant::now()); }
            }
        "#;
        assert_eq!(found(text), []);
    }

    #[test]
    fn each_banned_thing_is_found() {
        for (text, token) in [
            ("fn f() { std::time::SystemTime::now(); }", "SystemTime::now"),
            ("fn f() { let clock = SystemTime::now; }", "SystemTime::now"),
            ("fn f() { <SystemTime>::now(); }", "SystemTime::now"),
            ("fn f(at: SystemTime) { at.elapsed(); }", ".elapsed"),
            ("use std::{collections::BTreeMap, fs};", "std::fs"),
            ("fn f() { std::env::var(\"HOME\"); }", "std::env"),
            ("use std::process;", "std::process"),
            ("use std::net::TcpStream;", "std::net"),
            ("fn f() { std::thread::spawn(g); }", "thread::spawn"),
            ("use std::collections::*; fn f(map: HashMap<u8, u8>) {}", "HashMap"),
            ("use std::collections::HashSet as Set;", "HashSet"),
            ("use tokio;", "tokio"),
            ("#[tracing::instrument] fn f() {}", "tracing"),
            ("fn f() { log::info!(\"x\"); }", "log"),
            ("fn f() { rand::random::<u8>(); }", "rand"),
            ("fn f() { println!(\"x\"); }", "println!"),
            ("fn f() { std::dbg!(1); }", "dbg!"),
        ] {
            assert_eq!(tokens(text), [token], "{text}");
        }
    }

    #[test]
    fn renames_and_macro_arguments_hide_nothing() {
        assert_eq!(tokens("use std::time::Instant as Point; fn f() { Point::now(); }"), ["Instant::now"]);
        assert_eq!(tokens("use std::thread as t; fn f() { t::sleep(d); }"), ["thread::sleep"]);
        assert_eq!(tokens("fn f() { assert!(a < SystemTime::now()); }"), ["SystemTime::now"]);
        assert_eq!(tokens("fn f() { vec![g(|| dbg!(1))]; }"), ["dbg!"]);
    }

    #[test]
    fn an_exception_covers_its_file_and_token_only() {
        let exceptions = [Exception { path: PATH, token: "HashMap", reason: "frozen" }];
        let check = |files: &[(&str, &str)]| check_with(&Tree::of(files), &exceptions).len();
        let map = "fn f(map: HashMap<u8, u8>) {}";
        assert_eq!(check(&[(PATH, map)]), 0);
        assert_eq!(check(&[(PATH, map), ("crates/abide-model/src/a.rs", map)]), 1);
        assert_eq!(check(&[(PATH, "use std::{collections::HashMap, fs};")]), 1);
    }

    #[test]
    fn an_exception_that_is_not_needed_is_a_violation() {
        let exceptions = [Exception { path: PATH, token: "HashMap", reason: "frozen" }];
        let violations = check_with(&Tree::of(&[(PATH, "fn f() {}")]), &exceptions);
        assert!(violations[0].message.contains("remove the exception"), "{violations:?}");
    }

    #[test]
    fn other_crates_may_do_io() {
        assert_eq!(check_with(&Tree::of(&[("crates/abide-demo/src/main.rs", "use std::fs;")]), &[]), []);
    }
}
