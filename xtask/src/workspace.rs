//! Where the workspace is, and how to call cargo in it.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

#[derive(Debug)]
pub(crate) struct Workspace {
    root: PathBuf,
}

impl Workspace {
    pub(crate) fn locate() -> anyhow::Result<Self> {
        // Cargo sets the variable when it runs us. It is preferred to the path compiled in, which is wrong after the
        // directory was moved or when two checkouts share a target directory.
        let manifest_dir = env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = manifest_dir.parent().context("the xtask package lies in no workspace")?;
        Ok(Self { root: root.to_owned() })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn target_dir(&self) -> PathBuf {
        let chosen = env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| OsString::from("target"));
        self.root.join(chosen)
    }

    pub(crate) fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = cargo();
        command.args(arguments).current_dir(&self.root);
        // What the cargo that runs us says about us. Build scripts take it for news, and much would be built again.
        for (name, _) in env::vars_os() {
            if name
                .to_str()
                .is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_"))
            {
                command.env_remove(name);
            }
        }
        if env::var_os("CI").is_some() {
            // What is built once and thrown away is built faster, and a third smaller, without a memory of it.
            command.env("CARGO_INCREMENTAL", "0");
        }
        command
    }
}

/// The cargo that runs us, so that every step uses one toolchain.
pub(crate) fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")))
}
