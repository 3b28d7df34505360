//! `drop` takes names or fields, never the result of a call.
//!
//! `drop(store.abandon(..))` on an async method drops a future that never ran, and nothing warns about it: clippy
//! knows `let _ = future` only. Calls inside the arguments of a macro are not seen.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Expr, ExprCall};

use crate::tidy::source::SourceFile;
use crate::tidy::tree::Tree;
use crate::tidy::violation::Violation;

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    tree.sources.iter().flat_map(check_file).collect()
}

fn check_file(source: &SourceFile) -> Vec<Violation> {
    let mut finder = DropFinder { lines: Vec::new() };
    finder.visit_file(&source.syntax);
    let product_lines = finder.lines.into_iter().filter(|line| !source.is_test_line(*line));
    product_lines
        .map(|line| Violation {
            path: source.path.clone(),
            line,
            rule: "dropped-call",
            message:
                "`drop` of an expression, and a dropped future never runs; await it, or name the value first"
                    .to_owned(),
        })
        .collect()
}

struct DropFinder {
    lines: Vec<usize>,
}

impl<'ast> Visit<'ast> for DropFinder {
    fn visit_expr_call(&mut self, call: &'ast ExprCall) {
        if is_drop(&call.func) && !call.args.iter().all(computes_nothing) {
            self.lines.push(call.span().start().line);
        }
        visit::visit_expr_call(self, call);
    }
}

fn is_drop(function: &Expr) -> bool {
    let Expr::Path(function) = function else { return false };
    let names: Vec<String> = function.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    matches!(names[..], ["drop"] | ["mem", "drop"] | ["std" | "core", "mem", "drop"])
}

#[expect(clippy::wildcard_enum_match_arm, reason = "every other expression computes something")]
fn computes_nothing(argument: &Expr) -> bool {
    match argument {
        Expr::Path(_) => true,
        Expr::Field(field) => computes_nothing(&field.base),
        Expr::Paren(inner) => computes_nothing(&inner.expr),
        Expr::Tuple(tuple) => tuple.elems.iter().all(computes_nothing),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(body: &str) -> Vec<usize> {
        let text = format!("fn f() {{\n{body}\n}}\n");
        check(&Tree::of(&[("src/lib.rs", &text)])).iter().map(|it| it.line).collect()
    }

    #[test]
    fn names_fields_and_other_functions_are_good() {
        for body in [
            "drop(guard);",
            "drop(self.lock.guard);",
            "std::mem::drop((pair.0));",
            "drop((left, right));",
            "table.drop(f());",
            "raindrop(f());",
        ] {
            assert!(lines(body).is_empty(), "{body}");
        }
    }

    #[test]
    fn dropped_calls_are_found() {
        for body in [
            "drop(f());",
            "drop(store.abandon(token));",
            "std::mem::drop(f());",
            "drop(async { 1 });",
            "drop(slot.take());",
            "drop((name, f()));",
        ] {
            assert_eq!(lines(body), [2], "{body}");
        }
    }

    #[test]
    fn tests_may_drop_what_they_like() {
        let text = "#[cfg(test)]\nmod tests {\n    fn f() { drop(g()); }\n}\n";
        assert_eq!(check(&Tree::of(&[("src/lib.rs", text)])), []);
    }
}
