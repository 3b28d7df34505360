//! Ctrl-C, and the other polite ways of asking a program to stop.

use std::io;

/// Somebody asked the program to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Interrupted {
    /// What a shell expects of a program that ended for this reason.
    pub(crate) exit_code: u8,
}

#[cfg(unix)]
pub(crate) use unix::Interrupt;

#[cfg(not(unix))]
pub(crate) use elsewhere::Interrupt;

#[cfg(unix)]
mod unix {
    use std::pin::Pin;

    use futures_util::future::select_all;
    use tokio::signal::unix::{Signal, SignalKind, signal};

    use super::{Interrupted, io};

    /// Listens from the moment it is made.
    #[derive(Debug)]
    pub(crate) struct Interrupt {
        signals: Vec<(SignalKind, Signal)>,
    }

    impl Interrupt {
        pub(crate) fn listen() -> io::Result<Self> {
            let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
            let signals = kinds.into_iter().map(|kind| Ok((kind, signal(kind)?)));
            Ok(Self { signals: signals.collect::<io::Result<_>>()? })
        }

        /// Waits until the program is asked to stop.
        pub(crate) async fn wait(&mut self) -> Interrupted {
            type Waiting<'signal> = Pin<Box<dyn Future<Output = SignalKind> + 'signal>>;
            let waiting = self.signals.iter_mut().map(|(kind, signal)| {
                let waiting: Waiting<'_> = Box::pin(async {
                    let _arrived = signal.recv().await;
                    *kind
                });
                waiting
            });
            let (kind, _, _) = select_all(waiting).await;
            let number = u8::try_from(kind.as_raw_value()).unwrap_or(0);
            Interrupted { exit_code: 128 + number }
        }
    }
}

#[cfg(not(unix))]
mod elsewhere {
    use super::{Interrupted, io};

    #[derive(Debug)]
    pub(crate) struct Interrupt {}

    impl Interrupt {
        pub(crate) fn listen() -> io::Result<Self> {
            Ok(Self {})
        }

        /// Waits until the program is asked to stop.
        pub(crate) async fn wait(&mut self) -> Interrupted {
            // If there is no Ctrl-C here, nobody interrupts.
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending::<()>().await;
            }
            Interrupted { exit_code: 130 }
        }
    }
}
