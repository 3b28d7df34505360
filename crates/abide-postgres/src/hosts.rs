//! A URL may name several hosts; each is tried by itself.
//!
//! The driver goes through a list, too, but its patience ends with the TCP connection: a host that accepts one and says nothing keeps it
//! from the next for ever.

use tokio_postgres::Config;
use tokio_postgres::config::{Host, LoadBalanceHosts};

/// One configuration for each host, in order. What the driver would refuse, or choose from by chance, is left to it as it is.
pub(crate) fn one_by_one(config: &Config) -> Vec<Config> {
    let (hosts, addresses, ports) = (config.get_hosts(), config.get_hostaddrs(), config.get_ports());
    let matches = |count: usize| count == 0 || count == hosts.len();
    if config.get_load_balance_hosts() == LoadBalanceHosts::Random
        || !matches(addresses.len())
        || !(ports.len() == 1 || matches(ports.len()))
    {
        return vec![config.clone()];
    }
    let apart = hosts.iter().enumerate().map(|(order, host)| {
        let mut one = without_hosts(config);
        match host {
            Host::Tcp(name) => one.host(name),
            Host::Unix(folder) => one.host_path(folder),
        };
        if let Some(address) = addresses.get(order) {
            one.hostaddr(*address);
        }
        if let Some(port) = ports.get(order).or(ports.first()) {
            one.port(*port);
        }
        one
    });
    apart.collect()
}

/// Everything but where to go.
fn without_hosts(config: &Config) -> Config {
    let mut rest = Config::new();
    rest.ssl_mode(config.get_ssl_mode())
        .ssl_negotiation(config.get_ssl_negotiation())
        .keepalives(config.get_keepalives())
        .keepalives_idle(config.get_keepalives_idle())
        .target_session_attrs(config.get_target_session_attrs())
        .channel_binding(config.get_channel_binding())
        .load_balance_hosts(config.get_load_balance_hosts());
    if let Some(user) = config.get_user() {
        rest.user(user);
    }
    if let Some(password) = config.get_password() {
        rest.password(password);
    }
    if let Some(database) = config.get_dbname() {
        rest.dbname(database);
    }
    if let Some(options) = config.get_options() {
        rest.options(options);
    }
    if let Some(name) = config.get_application_name() {
        rest.application_name(name);
    }
    if let Some(limit) = config.get_connect_timeout() {
        rest.connect_timeout(*limit);
    }
    if let Some(limit) = config.get_tcp_user_timeout() {
        rest.tcp_user_timeout(*limit);
    }
    if let Some(interval) = config.get_keepalives_interval() {
        rest.keepalives_interval(interval);
    }
    if let Some(retries) = config.get_keepalives_retries() {
        rest.keepalives_retries(retries);
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERYTHING: &str = "user=me password=secret dbname=shop options='-c geqo=off' application_name=till \
                              sslmode=require sslnegotiation=direct connect_timeout=4 tcp_user_timeout=5 keepalives=0 \
                              keepalives_idle=6 keepalives_interval=7 keepalives_retries=8 \
                              target_session_attrs=read-write channel_binding=require";

    fn config(places: &str) -> Config {
        format!("{EVERYTHING} {places}").parse().unwrap()
    }

    #[test]
    fn nothing_is_lost_but_the_other_hosts() {
        for (together, apart) in [
            ("host=a", vec!["host=a"]),
            ("host=a port=1", vec!["host=a port=1"]),
            ("host=a,b,/run port=1,2,3", vec!["host=a port=1", "host=b port=2", "host=/run port=3"]),
            ("host=a,b port=9", vec!["host=a port=9", "host=b port=9"]),
            (
                "host=a,b hostaddr=10.0.0.1,10.0.0.2",
                vec!["host=a hostaddr=10.0.0.1", "host=b hostaddr=10.0.0.2"],
            ),
        ] {
            let apart: Vec<Config> = apart.into_iter().map(config).collect();
            assert_eq!(one_by_one(&config(together)), apart, "{together}");
        }
    }

    #[test]
    fn what_the_driver_has_to_judge_is_left_to_it() {
        for odd in ["host=a,b port=1,2,3", "host=a,b hostaddr=10.0.0.1", "host=a,b load_balance_hosts=random"]
        {
            assert_eq!(one_by_one(&config(odd)), [config(odd)], "{odd}");
        }
    }
}
