//! Every page under `docs/` is reachable: another Markdown file links to it. And no link between pages is dead.

use std::collections::BTreeSet;
use std::path::Path;

use crate::tidy::tree::{TextFile, Tree};
use crate::tidy::violation::Violation;

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = unlinked_pages(tree);
    violations.extend(tree.files_with_extension("md").flat_map(|file| dead_links(tree, file)));
    violations
}

/// Links to pages that do not exist.
fn dead_links(tree: &Tree, file: &TextFile) -> Vec<Violation> {
    let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let is_page = |target: &str| tree.files_with_extension("md").any(|page| page.path == target);
    link_targets(&file.text)
        .into_iter()
        .filter(|target| Path::new(target).extension().is_some_and(|extension| extension == "md"))
        .filter_map(|target| resolve(folder, target))
        .filter(|target| !is_page(target))
        .map(|target| Violation {
            path: file.path.clone(),
            line: 1 + file.text.lines().take_while(|line| !line.contains(target.as_str())).count(),
            rule: "linked-docs",
            message: format!("there is no page {target}; correct the link, or write the page"),
        })
        .collect()
}

fn unlinked_pages(tree: &Tree) -> Vec<Violation> {
    let linked: BTreeSet<String> = tree.files_with_extension("md").flat_map(pages_linked_from).collect();
    tree.files_with_extension("md")
        .filter(|page| page.path.starts_with("docs/") && !linked.contains(&page.path))
        .map(|page| Violation {
            path: page.path.clone(),
            line: 1,
            rule: "linked-docs",
            message: "no other Markdown file links here; link it where a reader would look, or delete it"
                .to_owned(),
        })
        .collect()
}

/// A link to a folder leads to its `README.md`, as it does in a browser.
fn pages_linked_from(file: &TextFile) -> Vec<String> {
    let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let resolved = link_targets(&file.text).into_iter().filter_map(|target| resolve(folder, target));
    resolved
        .flat_map(|page| {
            let index = if page.is_empty() { "README.md".to_owned() } else { format!("{page}/README.md") };
            [page, index]
        })
        .filter(|page| *page != file.path)
        .collect()
}

/// The targets of `[text](target)` and `[label]: target`, without their anchors.
fn link_targets(text: &str) -> Vec<&str> {
    let inline = text.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
    let labelled = text.lines().filter_map(|line| {
        let (_, target) = line.trim_start().strip_prefix('[')?.split_once("]: ")?;
        target.split_whitespace().next()
    });
    inline.chain(labelled).map(|target| target.split('#').next().unwrap_or(target)).collect()
}

/// Nothing for a link that leaves the repository.
fn resolve(folder: &str, target: &str) -> Option<String> {
    if target.is_empty() || target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (base, target) = match target.strip_prefix('/') {
        Some(from_root) => ("", from_root),
        None => (folder, target),
    };
    let mut parts: Vec<&str> = base.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unlinked(files: &[(&str, &str)]) -> Vec<String> {
        check(&Tree::of(files)).into_iter().map(|it| it.path).collect()
    }

    #[test]
    fn pages_linked_in_any_form_are_good() {
        let files = [
            (
                "README.md",
                "See [a](docs/a.md#part), [the folder](docs/adr/) and [b][].\n\n[b]: docs/b.md \"B\"\n",
            ),
            ("docs/a.md", "[c](./sub/c.md)"),
            ("docs/b.md", "A page without links, see https://example.org."),
            ("docs/sub/c.md", "[up](../a.md)"),
            ("docs/adr/README.md", "# Decisions"),
        ];
        assert!(unlinked(&files).is_empty());
    }

    #[test]
    fn a_page_that_only_links_to_itself_is_lost() {
        let files = [("README.md", "docs/a.md is not a link"), ("docs/a.md", "[me](a.md)")];
        assert_eq!(unlinked(&files), ["docs/a.md"]);
    }

    #[test]
    fn a_link_to_a_page_that_does_not_exist_is_dead() {
        let files = [("README.md", "text\n[gone](docs/gone.md) [elsewhere](https://example.org/x.md)")];
        let violations = check(&Tree::of(&files));
        assert_eq!(violations.len(), 1);
        assert!(violations.iter().all(|it| it.line == 2 && it.message.contains("docs/gone.md")));
    }

    #[test]
    fn pages_outside_docs_need_no_link() {
        assert!(unlinked(&[("CONTRIBUTING.md", "")]).is_empty());
    }
}
