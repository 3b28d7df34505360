//! A function has at most 70 lines, from `fn` to its closing brace.
//!
//! Clippy has a lint of this kind, but it counts neither comments nor blank lines, and a reader scrolls over both.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Block, ImplItemFn, ItemFn, Signature, TraitItemFn};

use crate::tidy::source::SourceFile;
use crate::tidy::tree::Tree;
use crate::tidy::violation::Violation;

const LIMIT: usize = 70;

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    tree.sources.iter().flat_map(check_file).collect()
}

fn check_file(source: &SourceFile) -> Vec<Violation> {
    let mut measure = Measure { path: &source.path, violations: Vec::new() };
    measure.visit_file(&source.syntax);
    measure.violations
}

struct Measure<'file> {
    path: &'file str,
    violations: Vec<Violation>,
}

impl Measure<'_> {
    fn function(&mut self, signature: &Signature, body: &Block) {
        let first = signature.fn_token.span().start().line;
        let last = body.span().end().line;
        let lines = last - first + 1;
        if lines > LIMIT {
            self.violations.push(Violation {
                path: self.path.to_owned(),
                line: first,
                rule: "function-length",
                message: format!(
                    "`{}` has {lines} lines, at most {LIMIT} are allowed; give its parts names",
                    signature.ident
                ),
            });
        }
    }
}

impl<'ast> Visit<'ast> for Measure<'_> {
    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        self.function(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        self.function(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast TraitItemFn) {
        if let Some(body) = &function.default {
            self.function(&function.sig, body);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A function of exactly so many lines, with an attribute that does not count.
    fn function(lines: usize) -> String {
        format!("#[must_use]\nfn f() {{\n{}}}\n", "    // A line.\n".repeat(lines - 2))
    }

    fn found(text: &str) -> Vec<(usize, String)> {
        check(&Tree::of(&[("src/lib.rs", text)])).into_iter().map(|it| (it.line, it.message)).collect()
    }

    #[test]
    fn seventy_lines_are_allowed() {
        assert_eq!(found(&function(LIMIT)), []);
    }

    #[test]
    fn one_line_more_is_not_wherever_the_function_stands() {
        let long = function(LIMIT + 1);
        let places = [
            (long.clone(), 2),
            (format!("impl A {{\n{long}}}\n"), 3),
            (format!("trait A {{\n{long}}}\n"), 3),
            (format!("mod a {{\n{long}}}\n"), 3),
        ];
        for (text, line) in places {
            let violations = found(&text);
            assert_eq!(violations.len(), 1, "{text}");
            assert_eq!(violations[0].0, line);
            assert!(violations[0].1.starts_with("`f` has 71 lines"), "{}", violations[0].1);
        }
    }
}
