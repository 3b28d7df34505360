//! The thread that reads the source: reading may take long, and must not hold up the caller's executor.

use std::io;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, unbounded};
use futures_channel::oneshot;

use super::error::ImportError;
use super::source::Source;
use crate::job::tell;

type Ask = Box<dyn FnOnce(&Source) + Send>;

/// A source that is open and locked, on a thread of its own. Dropping it closes the source.
pub(super) struct SourceThread {
    path: PathBuf,
    asks: Option<Sender<Ask>>,
    thread: Option<JoinHandle<()>>,
}

impl SourceThread {
    pub(super) async fn open(path: PathBuf) -> Result<Self, ImportError> {
        let (asks, inbox) = unbounded();
        let (reply, opened) = oneshot::channel();
        let opening = path.clone();
        let thread = std::thread::Builder::new()
            .name("abide-import".to_owned())
            .spawn(move || match Source::open(opening) {
                Ok(source) => {
                    tell(reply, Ok(()));
                    serve(&source, &inbox);
                }
                Err(error) => tell(reply, Err(error)),
            })
            .map_err(ImportError::Thread)?;
        let opened = opened.await.map_err(|_| stopped())?;
        opened.map(|()| Self { path, asks: Some(asks), thread: Some(thread) })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads, and waits for what was read.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Source) -> Result<T, ImportError> + Send + 'static,
    ) -> Result<T, ImportError> {
        let (reply, answer) = oneshot::channel();
        let ask: Ask = Box::new(move |source| tell(reply, read(source)));
        if let Some(asks) = &self.asks {
            let _sent = asks.send(ask); // a thread that has stopped drops the reply, which is the answer
        }
        answer.await.map_err(|_| stopped())?
    }
}

fn serve(source: &Source, inbox: &Receiver<Ask>) {
    while let Ok(ask) = inbox.recv() {
        ask(source);
    }
}

fn stopped() -> ImportError {
    ImportError::Thread(io::Error::other("it stopped"))
}

impl Drop for SourceThread {
    fn drop(&mut self) {
        self.asks = None;
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join(); // so that the file is closed when the caller renames it
        }
    }
}
