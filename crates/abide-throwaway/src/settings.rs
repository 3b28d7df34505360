//! How a server is configured.

use crate::installed::Version;

/// Lines of `postgresql.conf`, each as a name and a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    values: Vec<(String, String)>,
}

/// For every server: what went wrong can be read in its log, by code.
const READABLE: &[(&str, &str)] = &[
    // The code of an error at its place: `40P01` is a deadlock in every language.
    ("log_line_prefix", "%m [%p] %q%d %e "),
    ("lc_messages", "C"),
    ("log_lock_waits", "on"),
    // A test that deadlocks should fail soon; and whoever waits for a lock this long is in the log.
    ("deadlock_timeout", "200ms"),
    // By default a file that all servers of one version would share.
    ("external_pid_file", ""),
];

impl Settings {
    /// For a server that is crashed: what it acknowledged is on the disk.
    #[must_use]
    pub fn durable() -> Self {
        Self::readable().set("fsync", "on")
    }

    /// For a server that many tests share, and that nobody stops: faster, and with room for all of them.
    #[must_use]
    pub fn common() -> Self {
        let fast = Self::readable().set("fsync", "off").set("max_connections", "300");
        // Nobody waits this long in the middle of a transaction: it was forgotten, and the log will say so (`25P03`).
        fast.set("idle_in_transaction_session_timeout", "60s")
    }

    /// With this line, in place of any other for the same name.
    #[must_use]
    pub fn set(mut self, name: &str, value: &str) -> Self {
        self.values.retain(|(known, _)| known != name);
        self.values.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With the figures of every statement, if the extension that collects them is installed.
    pub(crate) fn with_statistics(self, version: &Version) -> Self {
        let extension = "pg_stat_statements";
        let loads = |(name, _): &(String, String)| name == "shared_preload_libraries";
        if self.values.iter().any(loads) || !version.has_library(extension) {
            return self;
        }
        self.set("shared_preload_libraries", extension)
    }

    /// As options of `pg_virtualenv`, of which later ones win over those it has itself.
    pub(crate) fn options(&self) -> impl Iterator<Item = String> {
        self.values.iter().flat_map(|(name, value)| ["-o".to_owned(), format!("{name}={value}")])
    }

    fn readable() -> Self {
        let values = READABLE.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Self { values: values.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_takes_the_place_of_another() {
        let settings = Settings::common().set("fsync", "on").set("work_mem", "1MB");
        let options: Vec<String> = settings.options().collect();
        assert_eq!(options.iter().filter(|it| it.starts_with("fsync=")).collect::<Vec<_>>(), ["fsync=on"]);
        assert_eq!(options[options.len() - 2..], ["-o", "work_mem=1MB"]);
    }
}
