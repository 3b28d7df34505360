//! Builds of a service as child processes, and what they left behind.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use abide::providers::BlockKind;
use abide_chaos::deploy::{Code, READY};
use abide_throwaway::{Settings, own};
use serde_json::Value;

use super::cpu;
use super::database::Database;
use super::site::Site;
use super::wait::until;

/// Runs a test on a file, and on a server if there is one.
pub(crate) fn on_every_store(label: &str, test: impl Fn(&Site)) {
    test(&Site::new(label));
    if let Some(database) = Database::shared() {
        test(&Site::on(label, database));
    }
}

/// Runs a test on a file, and on a server that no other test uses: what the server does is the test's.
pub(crate) fn on_own_stores(label: &str, test: impl Fn(&Site)) {
    test(&Site::new(label));
    if let Some(server) = own(&Settings::common()).unwrap() {
        test(&Site::on(label, Database::at(&server.url())));
    }
}

/// How a build is started.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deploy<'a> {
    pub(crate) build: &'a str,
    pub(crate) code: Code,
    /// More options of its command line.
    pub(crate) options: &'a [&'a str],
}

impl<'a> Deploy<'a> {
    pub(crate) fn of(build: &'a str, code: Code) -> Self {
        Self { build, code, options: &[] }
    }

    pub(crate) fn with(self, options: &'a [&'a str]) -> Self {
        Self { options, ..self }
    }
}

/// A running build. It is killed and buried when it goes out of scope.
#[derive(Debug)]
pub(crate) struct Build {
    child: Child,
    log: PathBuf,
}

impl Build {
    /// Starts a build and waits until its runtime has started.
    pub(crate) fn start(site: &Site, deploy: Deploy<'_>) -> Self {
        let build = Self::start_unawaited(site, deploy);
        until("a build to be ready", || build.log().lines().any(|line| line == READY).then_some(()));
        build
    }

    /// Starts a build that may end before it is ready.
    pub(crate) fn start_unawaited(site: &Site, deploy: Deploy<'_>) -> Self {
        let Deploy { build, code, options } = deploy;
        let log = (0..).map(|number| site.folder().join(format!("{build}-{number}.log")));
        let log = log.into_iter().find(|log| !log.exists()).expect("there are many numbers");
        let (db, schema) = site.store().names();
        let mut command = Command::new(env!("CARGO_BIN_EXE_deploy-worker"));
        command.args(["--db", &db, "--build", build, "--code", code.name()]).args(options);
        command.arg("--effects").arg(effects(site));
        if let Some(schema) = schema {
            command.args(["--schema", &schema]);
        }
        // Every refusal is logged at `debug`, also those that have no line of their own at `error`.
        command.env("RUST_LOG", "warn,abide=debug");
        command.stdin(Stdio::piped()).stdout(File::create(&log).unwrap()).stderr(Stdio::null());
        Self { child: command.spawn().unwrap(), log }
    }

    /// Waits for its end, by whatever it is brought about.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        until("the end of a build", || self.child.try_wait().unwrap())
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Ends it in good order.
    pub(crate) fn end(mut self) {
        self.terminate();
    }

    /// The same, for a test that reads its log afterwards.
    pub(crate) fn terminate(&mut self) {
        let kill = format!("kill -TERM {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success(), "{kill}");
        let status = self.wait();
        assert!(status.success(), "{status}: {}", self.log());
    }

    /// How long it has computed.
    pub(crate) fn cpu_time(&self) -> Duration {
        cpu::of_process(self.child.id())
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    /// Its log lines of this level.
    pub(crate) fn lines(&self, level: &str) -> Vec<Value> {
        let log = self.log();
        let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.filter(|line| line["level"] == level).collect()
    }

    /// How often it refused each instance.
    pub(crate) fn refusals(&self) -> BTreeMap<String, usize> {
        let mut refusals = BTreeMap::new();
        let lines = ["ERROR", "DEBUG"].into_iter().flat_map(|level| self.lines(level));
        for line in lines {
            let fields = &line["fields"];
            let is_refusal = fields["kind"].as_str().is_some_and(|kind| kind.parse::<BlockKind>().is_ok());
            if let Some(instance) = fields["instance_id"].as_str().filter(|_| is_refusal) {
                *refusals.entry(instance.to_owned()).or_insert(0) += 1;
            }
        }
        refusals
    }
}

impl Drop for Build {
    fn drop(&mut self) {
        // It has ended already, or does now.
        let _killed = self.child.kill();
        let _buried = self.child.wait();
    }
}

fn effects(site: &Site) -> PathBuf {
    site.folder().join("effects")
}

/// What activities did, each effect with how often it happened.
pub(crate) fn effects_of(site: &Site) -> BTreeMap<String, usize> {
    let mut effects_of = BTreeMap::new();
    for line in std::fs::read_to_string(effects(site)).unwrap_or_default().lines() {
        *effects_of.entry(line.to_owned()).or_insert(0) += 1;
    }
    effects_of
}

/// Leases that are over soon after their process has died: a server does not see it die.
pub(crate) const SHORT_LEASE: [&str; 2] = ["--lease-ms", "1000"];
