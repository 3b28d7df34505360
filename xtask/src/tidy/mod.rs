//! `cargo xtask tidy`: the rules of this repository that neither the compiler nor clippy checks.
//!
//! A rule is a function from the [`Tree`] to its violations, in its own file under `rules/`, next to a good and a
//! bad example. The two tables people edit are [`dependency_table`] and the exceptions of `rules/ambient/`.
//!
//! Deliberately absent: what clippy does already (lints without a reason, forgotten futures, boolean parameters).

use anyhow::bail;

use crate::workspace::Workspace;
use tree::Tree;
use violation::Violation;

mod dependency_table;
mod manifest;
mod rules;
mod source;
mod tree;
mod violation;

pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<()> {
    let tree = Tree::read(workspace.root())?;
    let mut violations: Vec<Violation> = rules::OF_THE_TREE.iter().flat_map(|rule| rule(&tree)).collect();
    violations.extend(rules::transitive_dependencies::check_engine(workspace)?);
    violations.sort();

    for violation in &violations {
        println!("{violation}");
    }
    match violations.len() {
        0 => Ok(()),
        1 => bail!("tidy found 1 violation"),
        count => bail!("tidy found {count} violations"),
    }
}
