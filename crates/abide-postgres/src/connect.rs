//! Opening a connection: where to, how encrypted, and with which settings.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::Context;
use std::time::Duration;

use abide_model::Clock;
use futures_channel::mpsc;
use futures_util::future::{Either, select};
use tokio::task::JoinHandle;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use tokio_postgres::{AsyncMessage, Client, Config, Notification};

use crate::error::{CallError, OpenError, describe};
use crate::hosts::one_by_one;
use crate::schema::Schema;
use crate::tls::{Encryption, Stream};

/// How long it may take until somebody answers at an address, unless the URL says so by `connect_timeout`.
const PATIENCE: Duration = Duration::from_secs(3);

/// And until the connection is set up after that: a server may go silent at any point.
const SETTING_UP: Duration = Duration::from_secs(7);

/// The same where there is another host to turn to.
const SETTING_UP_ONE_OF_SEVERAL: Duration = Duration::from_secs(3);

/// What every connection begins with.
///
/// Plans are made once, and must be right for tables of any size: only loops over indexes, beginning with the arguments. Planning anew for
/// the arrays of each call costs more than the call; a plan that was made while a table was small, and is kept, must not scan or hash it. (JIT
/// is off because forbidden plans count as very expensive ones.) Nothing that others made is found by a name of the server's own. A wait for
/// a lock, and a statement, come to an end by themselves. A server whose default gives up durability does not get its way: what is
/// acknowledged is on its disk. A statement whose client is gone ends within seconds, where the server's system
/// can tell.
pub(crate) const SETTINGS: &str = "
    SET client_min_messages = warning;
    SET search_path = pg_catalog, pg_temp;
    SET default_transaction_isolation = 'read committed';
    SET plan_cache_mode = force_generic_plan;
    SET enable_seqscan = off;
    SET enable_hashjoin = off;
    SET enable_mergejoin = off;
    SET jit = off;
    SET lock_timeout = '5s';
    SET statement_timeout = '120s';
    SET idle_in_transaction_session_timeout = '60s';
    SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';
    DO $$ BEGIN
        PERFORM set_config('client_connection_check_interval', '5s', false)
        WHERE current_setting('client_connection_check_interval') = '0';
    EXCEPTION WHEN others THEN NULL; END $$;
";

/// Where connections go.
#[derive(Clone)]
pub(crate) struct Target {
    /// One for each host, in the order in which they are tried.
    hosts: Vec<Config>,
    encryption: Encryption,
    /// The place in that order of the host that last took a connection, which is tried first.
    preferred: Arc<AtomicUsize>,
    /// How long it may take until there is a connection to one of them.
    patience_each: Duration,
    /// For people: without user and password.
    pub(crate) place: String,
}

impl Target {
    pub(crate) fn parse(url: &str) -> Result<Self, OpenError> {
        if !["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) {
            let reason = "it does not begin with `postgres://`".to_owned();
            return Err(OpenError::Url { url: without_password(url), reason });
        }
        let (rest, encryption) = Encryption::take_from(url)?;
        let mut config: Config = rest.parse().map_err(|error: tokio_postgres::Error| OpenError::Url {
            url: without_password(url),
            reason: describe(&error),
        })?;
        if config.get_hosts().is_empty() {
            let reason = "it names no host".to_owned();
            return Err(OpenError::Url { url: without_password(url), reason });
        }
        // What is said about encryption in a way that was not understood above must not be lost.
        if config.get_ssl_mode() != SslMode::Prefer {
            let reason = "what it says about `sslmode` cannot be told from the rest; write it behind the only `?`, and `?` in a password \
                          as `%3F`";
            return Err(OpenError::Url { url: without_password(url), reason: reason.to_owned() });
        }
        // The first of them may have become a standby: the one is meant that takes writes.
        if config.get_hosts().len() > 1 && !says(&rest, "target_session_attrs") {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        let for_one_address = config.get_connect_timeout().copied().unwrap_or(PATIENCE);
        config.connect_timeout(for_one_address);
        config.ssl_mode(encryption.mode());
        // A host that is gone is noticed within half a minute, also by the connection that only listens.
        config.tcp_user_timeout(Duration::from_secs(15)).keepalives_idle(Duration::from_secs(15));
        config.keepalives_interval(Duration::from_secs(5)).keepalives_retries(3);
        let place = place_of(&config);
        let hosts = one_by_one(&config);
        let patience_each = if hosts.len() > 1 {
            for_one_address.saturating_add(SETTING_UP_ONE_OF_SEVERAL)
        } else {
            // More than one, if the driver chooses among them.
            let addresses = u32::try_from(config.get_hosts().len()).unwrap_or(u32::MAX);
            for_one_address.saturating_mul(addresses).saturating_add(SETTING_UP)
        };
        Ok(Self { hosts, encryption, preferred: Arc::default(), patience_each, place })
    }

    /// The hosts with their places in the list, the one that last took a connection first.
    fn in_order(&self) -> impl Iterator<Item = (usize, &Config)> {
        let preferred = self.preferred.load(Ordering::Relaxed);
        let (before, from) = self.hosts.split_at(preferred.min(self.hosts.len()));
        let numbered = (preferred..).zip(from);
        numbered.chain(before.iter().enumerate())
    }
}

/// Whether a URL sets this option.
fn says(url: &str, option: &str) -> bool {
    let pairs = url.split_once('?').map_or("", |(_, query)| query).split('&');
    pairs.filter_map(|pair| pair.split_once('=')).any(|(name, _)| name == option)
}

/// `host:port/database`, for people.
fn place_of(config: &Config) -> String {
    let hosts = config.get_hosts().iter().enumerate().map(|(order, host)| {
        let port = config.get_ports().get(order).or(config.get_ports().first()).copied().unwrap_or(5432);
        match host {
            Host::Tcp(name) => format!("{name}:{port}"),
            Host::Unix(folder) => folder.display().to_string(),
        }
    });
    let hosts: Vec<String> = hosts.collect();
    format!("{}/{}", hosts.join(","), config.get_dbname().unwrap_or_default())
}

/// A URL that can be shown.
fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return "(not shown)".to_owned() };
    // Where the address ends cannot be told, and a password may be on either side.
    if rest.split_once('?').is_some_and(|(_, options)| options.contains('@')) {
        return "(not shown)".to_owned();
    }
    let place = rest.rsplit_once('@').map_or(rest, |(_, place)| place);
    let place = place.split_once('?').map_or(place, |(place, _)| place);
    format!("{scheme}://{place}")
}

/// The task that moves bytes for one connection. It ends with this value.
pub(crate) struct Driver {
    task: JoinHandle<()>,
    moved: Arc<Moved>,
}

impl Driver {
    fn start(
        stream: Stream,
        notices: Option<mpsc::UnboundedSender<Notification>>,
        clock: &Arc<dyn Clock>,
    ) -> Self {
        let moved = Arc::new(Moved::new(Arc::clone(clock)));
        let task = tokio::runtime::Handle::current().spawn(drive(stream, notices, Arc::clone(&moved)));
        Self { task, moved }
    }

    /// When bytes were last sent or received, in monotonic time.
    pub(crate) fn moved_at(&self) -> Duration {
        Duration::from_micros(self.moved.at_micros.load(Ordering::Relaxed))
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// When a connection last moved bytes.
struct Moved {
    at_micros: AtomicU64,
    clock: Arc<dyn Clock>,
}

impl Moved {
    fn new(clock: Arc<dyn Clock>) -> Self {
        let moved = Self { at_micros: AtomicU64::new(0), clock };
        moved.note();
        moved
    }

    fn note(&self) {
        let now = u64::try_from(self.clock.monotonic().as_micros()).unwrap_or(u64::MAX);
        self.at_micros.store(now, Ordering::Relaxed);
    }
}

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Opening,
    Work,
    Renewals,
    Notices,
}

impl Purpose {
    const fn name(self) -> &'static str {
        match self {
            Self::Opening => "opening",
            Self::Work => "work",
            Self::Renewals => "renewals",
            Self::Notices => "notices",
        }
    }
}

/// The server cuts longer names.
const LONGEST_APPLICATION_NAME: usize = 63;

/// By what name the server knows a session: that of the application, its schema, and what it is for. Schema
/// and purpose are always whole, because nodes find the sessions of their schema by them.
fn application_name(given: Option<&str>, schema: &Schema, purpose: Purpose) -> String {
    let ours = format!(" {schema} {}", purpose.name());
    let room = LONGEST_APPLICATION_NAME.saturating_sub(ours.len());
    let mut name = String::new();
    for character in given.unwrap_or("abide").chars() {
        if name.len() + character.len_utf8() > room {
            break;
        }
        name.push(character);
    }
    name + &ours
}

/// A connection with its settings. What the server says by itself goes to `notices`.
pub(crate) async fn connect(
    target: &Target,
    schema: &Schema,
    purpose: Purpose,
    clock: &Arc<dyn Clock>,
    notices: Option<mpsc::UnboundedSender<Notification>>,
) -> Result<(Client, Driver), CallError> {
    let who = Who { schema, purpose };
    connect_and(target, who, clock, notices, async |client| Ok(client.batch_execute(SETTINGS).await?)).await
}

/// A connection without settings.
pub(crate) async fn connect_bare(
    target: &Target,
    schema: &Schema,
    purpose: Purpose,
    clock: &Arc<dyn Clock>,
) -> Result<(Client, Driver), CallError> {
    connect_and(target, Who { schema, purpose }, clock, None, async |_| Ok(())).await
}

/// By what the server knows a session.
#[derive(Clone, Copy)]
struct Who<'s> {
    schema: &'s Schema,
    purpose: Purpose,
}

/// A connection to the first host that takes it, and on which `set_up` succeeds.
async fn connect_and(
    target: &Target,
    who: Who<'_>,
    clock: &Arc<dyn Clock>,
    notices: Option<mpsc::UnboundedSender<Notification>>,
    set_up: impl AsyncFn(&Client) -> Result<(), CallError>,
) -> Result<(Client, Driver), CallError> {
    let mut failures = Vec::new();
    for (place, host) in target.in_order() {
        let mut config = host.clone();
        config.application_name(application_name(config.get_application_name(), who.schema, who.purpose));
        let notices = notices.clone();
        // Connecting is a large future, and callers have several of them.
        let opened = Box::pin(within(&**clock, target.patience_each, async {
            let (client, stream) = target.encryption.connect(&config).await?;
            let driver = Driver::start(stream, notices, clock);
            set_up(&client).await?;
            Ok((client, driver))
        }));
        match opened.await {
            Ok(connected) => {
                target.preferred.store(place, Ordering::Relaxed);
                return Ok(connected);
            }
            Err(error) => failures.push((place_of(&config), error)),
        }
    }
    Err(failure_of(failures))
}

/// What is said about hosts of which none took a connection.
fn failure_of(mut failures: Vec<(String, CallError)>) -> CallError {
    let Some((place, last)) = failures.pop() else { return CallError::unknown("no host is named") };
    if failures.is_empty() {
        return last;
    }
    failures.push((place, last.clone()));
    let each = failures.iter().map(|(place, error)| format!("{place}: {}", error.message));
    CallError { message: each.collect::<Vec<_>>().join("; "), ..last }
}

/// Waits for an answer, but not for ever.
pub(crate) async fn within<T>(
    clock: &dyn Clock,
    patience: Duration,
    answer: impl Future<Output = Result<T, CallError>>,
) -> Result<T, CallError> {
    let deadline = clock.sleep_until(clock.monotonic().saturating_add(patience));
    match select(pin!(answer), deadline).await {
        Either::Left((answer, _)) => answer,
        Either::Right(_) => {
            Err(CallError::unknown(format!("no answer from PostgreSQL within {} s", patience.as_secs())))
        }
    }
}

/// Moves bytes until the connection ends. Why it ended is told to whoever waits for an answer.
async fn drive(mut stream: Stream, notices: Option<mpsc::UnboundedSender<Notification>>, moved: Arc<Moved>) {
    // It is polled when there is something to send, or the socket can take or has some.
    let mut next = |context: &mut Context<'_>| {
        moved.note();
        stream.poll_message(context)
    };
    while let Some(Ok(message)) = futures_util::future::poll_fn(&mut next).await {
        if let (AsyncMessage::Notification(notice), Some(notices)) = (message, &notices) {
            let _nobody_listens = notices.unbounded_send(notice);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_of_a_url_has_no_password() {
        let target = Target::parse("postgres://me:secret@db.example:5433/shop?sslmode=disable").unwrap();
        assert_eq!(target.place, "db.example:5433/shop");
        for url in [
            "postgres://me:secret@/x?port=y",
            "mysql://me:secret@host/db",
            "me:secret",
            "postgres://me:secret@host/db?nonsense=1",
        ] {
            let error = Target::parse(url).map(|target| target.place).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
            assert!(error.contains("postgres://user:password@host:5432/database"), "{error}");
        }
    }

    #[test]
    fn a_host_alone_has_more_time_than_one_of_several() {
        let patience = |url: &str| Target::parse(url).unwrap().patience_each;
        assert_eq!(patience("postgres://me@db1/shop"), PATIENCE + SETTING_UP);
        assert_eq!(patience("postgres://me@db1,db2/shop"), PATIENCE + SETTING_UP_ONE_OF_SEVERAL);
        assert_eq!(patience("postgres://me@db1,db2/shop?connect_timeout=20"), Duration::from_secs(23));
        let by_chance = patience("postgres://me@db1,db2/shop?load_balance_hosts=random");
        assert_eq!(by_chance, PATIENCE * 2 + SETTING_UP, "of both");
    }

    #[test]
    fn the_name_of_a_session_says_its_schema_however_long_the_others_are() {
        let name = |given: Option<&str>, schema: &str| {
            application_name(given, &Schema::new(schema).unwrap(), Purpose::Renewals)
        };
        assert_eq!(name(None, "orders"), "abide orders renewals");
        assert_eq!(name(Some("till"), "orders"), "till orders renewals");
        let long = "x".repeat(50);
        assert_eq!(name(Some("täglich"), &long), format!("tä {long} renewals"));
        assert_eq!(name(Some("täglich"), &long).len(), 63);
    }

    #[test]
    fn of_several_hosts_the_one_is_meant_that_takes_writes() {
        let meant = |url: &str| Target::parse(url).unwrap().hosts[0].get_target_session_attrs();
        assert_eq!(meant("postgres://me@db1/shop"), TargetSessionAttrs::Any);
        assert_eq!(meant("postgres://me@db1,db2/shop"), TargetSessionAttrs::ReadWrite);
        let by_chance = meant("postgres://me@db1,db2/shop?load_balance_hosts=random");
        assert_eq!(by_chance, TargetSessionAttrs::ReadWrite);
        assert_eq!(meant("postgres://me@db1,db2/shop?target_session_attrs=any"), TargetSessionAttrs::Any);
    }

    #[test]
    fn the_host_that_last_took_a_connection_is_tried_first_and_then_the_others_in_order() {
        let target = Target::parse("postgres://me@db0,db1,db2/shop").unwrap();
        let order = || target.in_order().map(|(place, _)| place).collect::<Vec<_>>();
        assert_eq!(order(), [0, 1, 2]);
        target.preferred.store(1, Ordering::Relaxed);
        assert_eq!(order(), [1, 2, 0]);
    }

    #[test]
    fn where_an_address_ends_is_not_guessed() {
        for url in ["postgres://host/db?password=a@secret", "postgres://me:se?cret@secret@host/db", "secret"]
        {
            assert_eq!(without_password(url), "(not shown)");
        }
        assert_eq!(without_password("postgres://me:secret@host/db?x=1"), "postgres://host/db");
    }
}
