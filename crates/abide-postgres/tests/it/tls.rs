//! Encryption as the URL says, and who the server is: against a server with a certificate of the test's own authority.
//!
//! The certificates are made by the command `openssl`. Deliberately absent: certificates of clients, which abide does not support.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use abide_host::{SystemClock, SystemEntropy};
use abide_model::Entropy as _;
use abide_postgres::{OpenError, PostgresProvider};
use abide_provider::Provider as _;
use abide_throwaway::{Mode, Server, Settings, own};
use futures::executor::block_on;

use crate::support::database::{Database, wait_until};
use crate::support::items::start;

/// The only name in the server's certificate.
const NAME: &str = "localhost";

#[test]
fn connections_are_encrypted_as_the_url_says() {
    let Some(site) = Site::new() else { return };
    let root = site.folder.file("authority.pem");
    for (options, is_encrypted) in [
        (format!("sslmode=verify-full&sslrootcert={root}"), true),
        (format!("sslmode=verify-ca&sslrootcert={root}"), true),
        (format!("sslmode=require&sslrootcert={root}"), true),
        ("sslmode=require".to_owned(), true),
        ("sslmode=prefer".to_owned(), true),
        ("sslmode=disable".to_owned(), false),
    ] {
        let database = Database::at(site.server.url());
        let store = open(&site.url(NAME, &options), &database).expect(&options);
        block_on(store.enqueue_for_orchestrator(start("a"), None)).expect(&options);
        wait_until(|| store.is_listening());
        let connections = encrypted(&database);
        // One for work and one for notices, at least.
        assert!(connections.len() >= 2, "{options}: {connections:?}");
        assert!(connections.iter().all(|(_, ssl)| *ssl == is_encrypted), "{options}: {connections:?}");
    }
}

#[test]
fn a_server_that_is_not_who_it_should_be_is_refused() {
    let Some(site) = Site::new() else { return };
    let database = Database::at(site.server.url());
    let (root, stranger) = (site.folder.file("authority.pem"), site.folder.file("stranger.pem"));
    for (host, options, reason) in [
        // Signed by somebody else.
        (NAME, format!("sslmode=verify-full&sslrootcert={stranger}"), "UnknownIssuer"),
        (NAME, format!("sslmode=verify-ca&sslrootcert={stranger}"), "UnknownIssuer"),
        (NAME, format!("sslmode=require&sslrootcert={stranger}"), "UnknownIssuer"),
        (NAME, "sslmode=verify-full".to_owned(), "UnknownIssuer"),
        // Signed by the right one, for another.
        ("127.0.0.1", format!("sslmode=verify-full&sslrootcert={root}"), "127.0.0.1"),
        (
            "db.elsewhere",
            format!("hostaddr=127.0.0.1&sslmode=verify-full&sslrootcert={root}"),
            "db.elsewhere",
        ),
    ] {
        let url = site.url(host, &options);
        let error = open(&url, &database).map(|store| store.schema().to_owned()).expect_err(&options);
        assert!(matches!(error, OpenError::Connect { .. }), "{options}: {error:?}");
        let text = error.to_string();
        assert!(text.contains("certificate") && text.contains(reason), "{options}: {text}");
    }
    let schemas = "SELECT count(*) FROM pg_namespace WHERE nspname = $1";
    assert_eq!(database.rows(schemas, &[&database.schema()])[0].get::<_, i64>(0), 0, "somebody got in");
}

#[test]
fn a_server_without_encryption_is_talked_to_only_by_those_who_do_not_insist() {
    let Some(server) = own(&Settings::common().set("ssl", "off")).unwrap() else { return };
    let database = Database::at(server.url());
    let open = |options: &str| open(&format!("{}?{options}", server.url()), &database);
    for options in ["sslmode=require", "sslmode=verify-full"] {
        let error = open(options).map(|store| store.schema().to_owned()).expect_err(options);
        assert!(matches!(error, OpenError::Connect { .. }), "{options}: {error:?}");
        assert!(error.to_string().contains("does not support TLS"), "{options}: {error}");
    }
    let _store = open("sslmode=prefer").unwrap();
    assert!(encrypted(&database).iter().all(|(_, ssl)| !ssl));
}

fn open(url: &str, database: &Database) -> Result<PostgresProvider, OpenError> {
    let builder = PostgresProvider::builder(url).schema(database.schema());
    block_on(builder.clock(Arc::new(SystemClock::new())).open())
}

/// The connections of the stores in a schema, and whether each is encrypted.
fn encrypted(database: &Database) -> Vec<(String, bool)> {
    let query =
        "SELECT a.application_name, s.ssl FROM pg_stat_ssl AS s JOIN pg_stat_activity AS a USING (pid)
                 WHERE starts_with(a.application_name, $1)";
    let rows = database.rows(query, &[&format!("abide {} ", database.schema())]);
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

/// A server with a certificate, and the files of those who sign.
struct Site {
    server: Server,
    folder: Folder,
}

impl Site {
    /// `None` if there is no PostgreSQL, and the test is to be skipped.
    fn new() -> Option<Self> {
        let server = own(&Settings::common()).unwrap()?;
        let folder = Folder::with_certificates();
        let database = Database::at(server.url());
        for (file, name) in [("server.pem", "server.crt"), ("server.key", "server.key")] {
            let text = fs::read_to_string(folder.0.join(file)).unwrap();
            // By the server itself: it insists that its key is its own.
            database.run(&format!(
                "COPY (SELECT unnest(string_to_array('{text}', E'\\n'))) TO PROGRAM 'umask 077 && cat > {name}'"
            ));
        }
        for setting in ["ssl = on", "ssl_cert_file = 'server.crt'", "ssl_key_file = 'server.key'"] {
            database.run(&format!("ALTER SYSTEM SET {setting}"));
        }
        drop(database);
        server.restart(Mode::Fast).unwrap();
        Some(Self { server, folder })
    }

    /// The server under another name, and with options.
    fn url(&self, host: &str, options: &str) -> String {
        let url = self.server.url().replace("@127.0.0.1:", &format!("@{host}:"));
        format!("{url}?{options}")
    }
}

/// A folder that is gone when this is.
struct Folder(PathBuf);

impl Folder {
    /// `authority.pem` signed `server.pem`, and `stranger.pem` did not.
    fn with_certificates() -> Self {
        let folder =
            Self(std::env::temp_dir().join(format!("abide-certificates-{:016x}", SystemEntropy.next_u64())));
        fs::create_dir(&folder.0).unwrap();
        for name in ["authority", "stranger"] {
            let (key, certificate) = (format!("{name}.key"), format!("{name}.pem"));
            let subject = format!("/CN=abide test {name}");
            let new = format!("req -x509 {NEW_KEY} -days 2 -keyout {key} -out {certificate} -subj");
            openssl(&folder.0, &new, &subject);
        }
        let extensions = format!("subjectAltName=DNS:{NAME}\nbasicConstraints=critical,CA:FALSE\n");
        fs::write(folder.0.join("extensions"), extensions).unwrap();
        let request = format!("req {NEW_KEY} -keyout server.key -out server.csr -subj");
        openssl(&folder.0, &request, "/CN=abide test server");
        let sign = "x509 -req -in server.csr -CA authority.pem -CAkey authority.key -CAcreateserial -days 2 \
                    -extfile extensions -out";
        openssl(&folder.0, sign, "server.pem");
        folder
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder left behind for temporary files harms nobody, a panic in here would hide the failure.
        fs::remove_dir_all(&self.0).ok();
    }
}

const NEW_KEY: &str = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";

/// Runs it with these words, and a last one that may have spaces. Where there is a server of Debian's, there is `openssl`.
fn openssl(folder: &Path, words: &str, last: &str) {
    let command =
        Command::new("openssl").args(words.split_whitespace()).arg(last).current_dir(folder).output();
    let output = command.expect("`openssl` makes the certificates");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
