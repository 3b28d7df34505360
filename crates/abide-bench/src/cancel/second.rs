//! The second process: it runs activities, and takes no turn that cancels one.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use abide::runtime::Runtime;
use abide::{RuntimeOptions, SemverRange};
use abide_sqlite::SqliteProvider;

use super::program::{Say, Word, activities, orchestrations};
use crate::store::Fallible;

/// The process, for the first one.
pub(crate) struct Second(Child);

impl Second {
    /// Starts this program again, and passes on what it says.
    pub(crate) fn start(store: &str, say: Say) -> Fallible<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["cancel", "--worker", store])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let said = child.stdout.take().ok_or("the second process has no output")?;
        let listen = move || {
            for line in BufReader::new(said).lines().map_while(Result::ok) {
                if let Some(word) = Word::ALL.into_iter().find(|word| word.line() == line) {
                    say(word);
                }
            }
        };
        std::thread::Builder::new().name("second process".to_owned()).spawn(listen)?;
        Ok(Self(child))
    }

    /// Ends it in good order: without input it has nothing left to do.
    pub(crate) fn stop(mut self) -> Fallible<()> {
        let input = self.0.stdin.take();
        drop(input);
        let status = self.0.wait()?;
        if status.success() { Ok(()) } else { Err(format!("the second process ended with {status}").into()) }
    }
}

/// What the process does, until its input ends.
pub(crate) async fn work(store: &str) -> Fallible<()> {
    let store = Arc::new(SqliteProvider::new(store, None).await?);
    // Executions of today's build are not for this one, once they have begun.
    let earlier = SemverRange { min: "0.0.0".parse()?, max: "0.1.0".parse()? };
    let options = RuntimeOptions { supported_replay_versions: Some(earlier), ..RuntimeOptions::default() };
    let say: Say = Arc::new(|word| println!("{}", word.line()));
    let runtime =
        Runtime::start_with_options(store, activities(Arc::clone(&say)), orchestrations(), options).await;
    say(Word::Ready);
    let input = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
    let _bytes = input.await??;
    runtime.shutdown(None).await;
    Ok(())
}
