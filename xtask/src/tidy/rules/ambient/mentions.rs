//! Every path and macro a file mentions, spelled out as far as its own imports tell.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{ExprMethodCall, ExprPath, ItemMod, ItemUse, Macro, Path, Type, UseTree};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Site {
    Import,
    Code,
}

#[derive(Debug)]
pub(super) struct Mention {
    pub(super) line: usize,
    pub(super) site: Site,
    /// A macro's last name ends with `!`; a method is a path of one name that begins with a dot.
    pub(super) path: Vec<String>,
}

pub(super) fn mentions_in(file: &syn::File) -> Vec<Mention> {
    let mut collector = Collector::default();
    collector.visit_file(file);
    let Collector { mut mentions, imports, modules } = collector;
    for mention in &mut mentions {
        spell_out(&mut mention.path, &imports, &modules);
    }
    mentions
}

/// Follows imports from the first name of a path. Imports are taken file-wide: a rule may be stricter than scoping.
fn spell_out(path: &mut Vec<String>, imports: &BTreeMap<String, Vec<String>>, modules: &BTreeSet<String>) {
    let mut followed = BTreeSet::new();
    while let Some(first) = path.first().cloned() {
        let Some(import) = imports.get(&first) else { break };
        if !followed.insert(first) {
            break;
        }
        path.splice(..1, import.iter().cloned());
    }
    if path.first().is_some_and(|first| modules.contains(first)) {
        path.insert(0, "self".to_owned());
    }
}

#[derive(Default)]
struct Collector {
    mentions: Vec<Mention>,
    imports: BTreeMap<String, Vec<String>>,
    modules: BTreeSet<String>,
}

impl Collector {
    fn note(&mut self, line: usize, path: Vec<String>) {
        self.mentions.push(Mention { line, site: Site::Code, path });
    }

    fn note_import(&mut self, name: Option<String>, path: Vec<String>, line: usize) {
        if let Some(name) = name {
            self.imports.insert(name, path.clone());
        }
        self.mentions.push(Mention { line, site: Site::Import, path });
    }

    fn import(&mut self, tree: &UseTree, prefix: &[String]) {
        let line = tree.span().start().line;
        let extended = |name: &Ident| [prefix, &[name.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.import(&path.tree, &extended(&path.ident)),
            UseTree::Group(group) => group.items.iter().for_each(|item| self.import(item, prefix)),
            UseTree::Glob(_) => self.note_import(None, prefix.to_vec(), line),
            UseTree::Name(name) if name.ident == "self" => {
                self.note_import(prefix.last().cloned(), prefix.to_vec(), line);
            }
            UseTree::Name(name) => {
                self.note_import(Some(name.ident.to_string()), extended(&name.ident), line);
            }
            UseTree::Rename(rename) => {
                let path = if rename.ident == "self" { prefix.to_vec() } else { extended(&rename.ident) };
                self.note_import(Some(rename.rename.to_string()), path, line);
            }
        }
    }
}

impl<'ast> Visit<'ast> for Collector {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.import(&item.tree, &[]);
    }

    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        self.modules.insert(module.ident.to_string());
        visit::visit_item_mod(self, module);
    }

    fn visit_path(&mut self, path: &'ast Path) {
        self.note(path.span().start().line, names(path));
        visit::visit_path(self, path);
    }

    fn visit_expr_path(&mut self, expression: &'ast ExprPath) {
        // `<SystemTime>::now`: the type stands outside the path.
        if let Some(Type::Path(ty)) = expression.qself.as_ref().map(|it| &*it.ty) {
            let path = [names(&ty.path), names(&expression.path)].concat();
            self.note(expression.span().start().line, path);
        }
        visit::visit_expr_path(self, expression);
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        self.note(call.method.span().start().line, vec![format!(".{}", call.method)]);
        visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        let mut path = names(&call.path);
        mark_as_macro(&mut path);
        self.note(call.path.span().start().line, path);
        self.visit_token_stream(&call.tokens);
    }

    fn visit_token_stream(&mut self, tokens: &'ast TokenStream) {
        for (line, path) in paths_among(tokens) {
            self.note(line, path);
        }
    }
}

fn names(path: &Path) -> Vec<String> {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}

fn mark_as_macro(path: &mut [String]) {
    if let Some(last) = path.last_mut() {
        last.push('!');
    }
}

/// What a macro is given is not parsed, so paths are recognised by their shape: names joined by `::`.
fn paths_among(tokens: &TokenStream) -> Vec<(usize, Vec<String>)> {
    let trees: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let mut found = Vec::new();
    let mut index = 0;
    while let Some(tree) = trees.get(index) {
        index += 1;
        match tree {
            TokenTree::Group(group) => found.extend(paths_among(&group.stream())),
            TokenTree::Ident(first) => {
                let is_member = ends_with_one_dot(&trees[..index - 1]);
                let mut path = vec![if is_member { format!(".{first}") } else { first.to_string() }];
                while let Some(next) = name_after_colons(&trees[index..]) {
                    path.push(next);
                    index += 3;
                }
                if is_punctuation(trees.get(index), '!')
                    && matches!(trees.get(index + 1), Some(TokenTree::Group(_)))
                {
                    mark_as_macro(&mut path);
                }
                found.push((first.span().start().line, path));
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
    found
}

fn name_after_colons(rest: &[TokenTree]) -> Option<String> {
    match rest {
        [first, second, TokenTree::Ident(name), ..]
            if is_punctuation(Some(first), ':') && is_punctuation(Some(second), ':') =>
        {
            Some(name.to_string())
        }
        _ => None,
    }
}

/// Two dots are a range, and what follows them is a path of its own.
fn ends_with_one_dot(before: &[TokenTree]) -> bool {
    let mut backwards = before.iter().rev();
    is_punctuation(backwards.next(), '.') && !is_punctuation(backwards.next(), '.')
}

fn is_punctuation(tree: Option<&TokenTree>, expected: char) -> bool {
    matches!(tree, Some(TokenTree::Punct(found)) if found.as_char() == expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Vec<String> {
        mentions_in(&syn::parse_file(text).unwrap()).into_iter().map(|it| it.path.join("::")).collect()
    }

    #[test]
    fn imports_are_spelled_out_through_groups_renames_and_self() {
        let text = "use a::{b, c::{self, d as e}, f::*};";
        assert_eq!(paths(text), ["a::b", "a::c", "a::c::d", "a::f"]);
    }

    #[test]
    fn paths_follow_imports_also_in_two_steps() {
        let text = "use std::time; use time::Instant as Point; fn f() { Point::now(); }";
        assert_eq!(paths(text).last().map(String::as_str), Some("std::time::Instant::now"));
    }

    #[test]
    fn an_import_of_itself_does_not_loop() {
        assert_eq!(paths("use a; fn f() { a::b(); }"), ["a", "a::b"]);
    }

    #[test]
    fn a_module_of_this_file_is_not_a_crate() {
        assert_eq!(paths("mod log; fn f() { log::line(); }"), ["self::log::line"]);
    }

    #[test]
    fn macro_arguments_are_searched() {
        let text = "fn f() { outer!(a::b(c.d()), [inner!(1)], 0..e::f); }";
        assert_eq!(paths(text), ["outer!", "a::b", "c", ".d", "inner!", "e::f"]);
    }
}
