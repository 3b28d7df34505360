//! The guide for authors of providers names every validation, and nothing that is not one.

use std::collections::BTreeSet;

use abide_conformance::{Validation, validations};

const GUIDE: &str = include_str!("../../../../docs/guide/providers.md");

/// A numbered promise.
#[derive(Debug)]
struct Clause {
    number: (u32, u32),
    /// The validations that it names.
    paths: Vec<String>,
}

#[test]
fn every_validation_is_named_by_a_clause_and_every_named_one_exists() {
    let suite: BTreeSet<String> = validations().iter().map(Validation::path).collect();
    let named: BTreeSet<String> = prose().flat_map(paths_in).collect();
    let in_clauses: BTreeSet<String> = clauses().into_iter().flat_map(|clause| clause.paths).collect();
    let unknown: Vec<_> = named.difference(&suite).collect();
    let missing: Vec<_> = suite.difference(&in_clauses).collect();
    assert!(unknown.is_empty(), "the guide names validations that there are not: {unknown:#?}");
    assert!(missing.is_empty(), "no clause of the guide names these validations: {missing:#?}");
}

#[test]
fn every_clause_names_a_validation() {
    let wishes: Vec<_> = clauses().into_iter().filter(|clause| clause.paths.is_empty()).collect();
    assert!(wishes.is_empty(), "nothing tries these clauses: {wishes:#?}");
}

#[test]
fn clauses_are_numbered_in_order_and_each_number_is_given_once() {
    let numbers: Vec<_> = clauses().iter().map(|clause| clause.number).collect();
    assert!(numbers.len() > 100, "only {} clauses were found", numbers.len());
    let wrong: Vec<_> = numbers.windows(2).filter(|pair| pair[0] >= pair[1]).collect();
    assert!(wrong.is_empty(), "these clauses follow each other: {wrong:?}");
}

#[test]
fn every_clause_that_is_referred_to_exists() {
    let numbers: BTreeSet<_> = clauses().iter().map(|clause| clause.number).collect();
    let references = GUIDE.lines().flat_map(|line| line.split('§').skip(1));
    let dangling: Vec<_> = references
        .filter(|reference| number_at(reference).is_none_or(|number| !numbers.contains(&number)))
        .collect();
    assert!(dangling.is_empty(), "there are no such clauses: {dangling:#?}");
}

/// The lines that are not code.
fn prose() -> impl Iterator<Item = &'static str> {
    let mut is_code = false;
    GUIDE.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// A clause is a list item that begins with its number, and ends with the next item or heading.
fn clauses() -> Vec<Clause> {
    let mut clauses: Vec<Clause> = Vec::new();
    let mut is_in_clause = false;
    for line in prose() {
        if let Some(rest) = line.strip_prefix("- **")
            && let Some(number) = number_at(rest)
        {
            clauses.push(Clause { number, paths: Vec::new() });
            is_in_clause = true;
        } else if !line.starts_with("  ") {
            is_in_clause = false;
        }
        if let Some(clause) = clauses.last_mut().filter(|_| is_in_clause) {
            clause.paths.extend(paths_in(line));
        }
    }
    clauses
}

/// `3.14` at the beginning of a text.
fn number_at(text: &str) -> Option<(u32, u32)> {
    let (section, rest) = text.split_once('.')?;
    let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    Some((section.parse().ok()?, rest[..end].parse().ok()?))
}

/// Inline code of the form `area::function`.
fn paths_in(line: &str) -> impl Iterator<Item = String> {
    line.split('`').skip(1).step_by(2).filter(|code| is_path(code)).map(str::to_owned)
}

fn is_path(code: &str) -> bool {
    let is_name = |text: &str| {
        text.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_')
    };
    code.split_once("::").is_some_and(|(area, function)| is_name(area) && is_name(function))
}
