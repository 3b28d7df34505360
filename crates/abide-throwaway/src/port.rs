//! A port that no other server takes, also not while ours is down for a restart.
//!
//! PostgreSQL listens on TCP. Of the port with the same number on UDP we hold the only socket, as a sign for others like us.

use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::process;

/// Below those that the system hands out by itself, or a client could get the port of a server that is down.
const FIRST: u16 = 20_000;
const COUNT: u16 = 10_000;

/// The right to a port, for as long as it lives.
#[derive(Debug)]
pub(crate) struct Port {
    number: u16,
    _sign: UdpSocket,
}

impl Port {
    /// Processes begin their search at different places.
    pub(crate) fn reserve() -> Option<Self> {
        let here = u16::try_from(process::id() % u32::from(COUNT)).unwrap_or(0);
        (here..COUNT).chain(0..here).find_map(|offset| Self::claim(FIRST + offset))
    }

    pub(crate) const fn number(&self) -> u16 {
        self.number
    }

    fn claim(number: u16) -> Option<Self> {
        let address = (Ipv4Addr::LOCALHOST, number);
        let sign = UdpSocket::bind(address).ok()?;
        // Something else may listen there, or a server whose owner was killed and that is not gone yet.
        TcpListener::bind(address).ok()?;
        Some(Self { number, _sign: sign })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_port_is_reserved_twice() {
        let ports: Vec<Port> = (0..5).map(|_| Port::reserve().unwrap()).collect();
        for (nth, port) in ports.iter().enumerate() {
            assert!(ports[..nth].iter().all(|other| other.number() != port.number()), "{ports:?}");
            assert!(Port::claim(port.number()).is_none(), "{ports:?}");
        }
    }

    #[test]
    fn a_port_that_is_listened_on_is_left_alone() {
        let port = Port::reserve().unwrap();
        let _server = TcpListener::bind((Ipv4Addr::LOCALHOST, port.number())).unwrap();
        let number = port.number();
        drop(port);
        assert!(Port::claim(number).is_none());
    }
}
