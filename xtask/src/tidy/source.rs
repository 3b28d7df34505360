//! A parsed Rust file that knows which of its lines exist for tests only.

use std::ops::RangeInclusive;

use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItemFn, Item, ItemMod, Meta, Token};

use super::violation::Violation;

pub(crate) struct SourceFile {
    pub(crate) path: String,
    pub(crate) syntax: syn::File,
    line_count: usize,
    test_items: Vec<RangeInclusive<usize>>,
    /// Under `tests/` or `benches/`, or reached through a `#[cfg(test)] mod name;`.
    is_test_file: bool,
    /// Files and folders that this file declares as test-only modules.
    test_module_files: Vec<String>,
}

impl SourceFile {
    pub(crate) fn parse(path: &str, text: &str) -> Result<Self, Violation> {
        let syntax = syn::parse_file(text).map_err(|error| Violation {
            path: path.to_owned(),
            line: error.span().start().line,
            rule: "syntax",
            message: format!("this is not Rust: {error}; make it compile"),
        })?;
        let mut finder =
            TestItemFinder { folder: module_folder(path), items: Vec::new(), module_files: Vec::new() };
        finder.visit_file(&syntax);
        Ok(Self {
            path: path.to_owned(),
            syntax,
            line_count: text.lines().count(),
            test_items: finder.items,
            is_test_file: path.split('/').any(|part| part == "tests" || part == "benches"),
            test_module_files: finder.module_files,
        })
    }

    pub(crate) fn is_test_line(&self, line: usize) -> bool {
        self.is_test_file || self.test_items.iter().any(|item| item.contains(&line))
    }

    /// The lines a reader of this file has to know: without its inline tests, but a file of tests counts whole.
    pub(crate) fn relevant_line_count(&self) -> usize {
        if self.is_test_file {
            return self.line_count;
        }
        (1..=self.line_count).filter(|line| !self.is_test_line(*line)).count()
    }
}

/// Out-of-line test modules are declared in one file and lie in another, so this needs all files.
pub(crate) fn mark_test_files(sources: &mut [SourceFile]) {
    let declared: Vec<String> =
        sources.iter().flat_map(|source| source.test_module_files.iter().cloned()).collect();
    for source in sources {
        source.is_test_file |= declared.iter().any(|test| {
            source.path == *test || (test.ends_with('/') && source.path.starts_with(test.as_str()))
        });
    }
}

/// The folder in which the modules declared by this file lie.
fn module_folder(path: &str) -> String {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    match name.strip_suffix(".rs").unwrap_or(name) {
        "lib" | "main" | "mod" => folder.to_owned(),
        module => format!("{folder}/{module}"),
    }
}

struct TestItemFinder {
    folder: String,
    items: Vec<RangeInclusive<usize>>,
    module_files: Vec<String>,
}

impl TestItemFinder {
    fn note(&mut self, item: &impl Spanned) {
        let span = item.span();
        self.items.push(span.start().line..=span.end().line);
    }

    fn note_file_of(&mut self, module: &ItemMod) {
        let location = format!("{}/{}", self.folder, module.ident);
        self.module_files.push(format!("{location}.rs"));
        self.module_files.push(format!("{location}/"));
    }
}

impl<'ast> Visit<'ast> for TestItemFinder {
    fn visit_item(&mut self, item: &'ast Item) {
        if !attributes_of(item).iter().any(is_test_only) {
            return visit::visit_item(self, item);
        }
        self.note(item);
        if let Item::Mod(module) = item
            && module.content.is_none()
        {
            self.note_file_of(module);
        }
    }

    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        let outside = self.folder.clone();
        self.folder = format!("{outside}/{}", module.ident);
        visit::visit_item_mod(self, module);
        self.folder = outside;
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        if function.attrs.iter().any(is_test_only) {
            self.note(function);
        } else {
            visit::visit_impl_item_fn(self, function);
        }
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "syn may add kinds of items; they are then treated as product code"
)]
fn attributes_of(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(it) => &it.attrs,
        Item::Enum(it) => &it.attrs,
        Item::Fn(it) => &it.attrs,
        Item::Impl(it) => &it.attrs,
        Item::Macro(it) => &it.attrs,
        Item::Mod(it) => &it.attrs,
        Item::Static(it) => &it.attrs,
        Item::Struct(it) => &it.attrs,
        Item::Trait(it) => &it.attrs,
        Item::Type(it) => &it.attrs,
        Item::Use(it) => &it.attrs,
        _ => &[],
    }
}

fn is_test_only(attribute: &Attribute) -> bool {
    attribute.path().is_ident("test")
        || (attribute.path().is_ident("cfg")
            && attribute.parse_args::<Meta>().is_ok_and(|condition| holds_only_in_tests(&condition)))
}

fn holds_only_in_tests(condition: &Meta) -> bool {
    match condition {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) => {
            let Ok(parts) = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated) else {
                return false;
            };
            (list.path.is_ident("all") && parts.iter().any(holds_only_in_tests))
                || (list.path.is_ident("any") && !parts.is_empty() && parts.iter().all(holds_only_in_tests))
        }
        Meta::NameValue(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(path: &str, text: &str) -> SourceFile {
        SourceFile::parse(path, text).unwrap()
    }

    fn test_lines(text: &str) -> Vec<usize> {
        let source = parse("src/lib.rs", text);
        (1..=text.lines().count()).filter(|line| source.is_test_line(*line)).collect()
    }

    #[test]
    fn inline_test_modules_and_test_functions_are_test_lines() {
        assert_eq!(test_lines("fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n"), [2, 3, 4, 5]);
        assert_eq!(test_lines("#[test]\nfn a() {}\nfn b() {}\n"), [1, 2]);
        assert_eq!(test_lines("struct A;\nimpl A {\n    #[cfg(test)]\n    fn b() {}\n}\n"), [3, 4]);
    }

    #[test]
    fn only_conditions_that_imply_test_count() {
        assert_eq!(test_lines("#[cfg(all(test, unix))]\nfn a() {}\n"), [1, 2]);
        for product in ["not(test)", "any(test, feature = \"testing\")", "feature = \"test\"", "unix"] {
            assert!(test_lines(&format!("#[cfg({product})]\nfn a() {{}}\n")).is_empty(), "{product}");
        }
    }

    #[test]
    fn a_file_declared_as_a_test_module_elsewhere_is_a_test_file() {
        let mut sources = vec![
            parse("src/lib.rs", "mod product;\n"),
            parse("src/product.rs", "#[cfg(test)]\nmod tests;\nmod inner;\n"),
            parse("src/product/tests.rs", "fn a() {}\n"),
            parse("src/product/tests/deep.rs", "fn a() {}\n"),
            parse("src/product/inner.rs", "fn a() {}\n"),
        ];
        mark_test_files(&mut sources);
        let test_files: Vec<_> = sources
            .iter()
            .filter(|source| source.is_test_line(1))
            .map(|source| source.path.as_str())
            .collect();
        assert_eq!(test_files, ["src/product.rs", "src/product/tests.rs", "src/product/tests/deep.rs"]);
    }

    #[test]
    fn inline_tests_do_not_count_but_files_of_tests_do() {
        let text = "fn a() {}\n#[test]\nfn b() {}\n";
        assert_eq!(parse("src/lib.rs", text).relevant_line_count(), 1);
        assert_eq!(parse("tests/it/main.rs", text).relevant_line_count(), 3);
    }
}
