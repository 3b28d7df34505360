//! What `cargo run` shows: a shop on abide that loses its worker in the middle of the day, and no order.
//!
//! Start with `shop/orchestrations.rs`: the life of an order, as a user of abide writes it. `worker.rs` is the process that
//! runs it, and is killed. `window.rs` and `day.rs` are the other process: it places orders, watches them through the client,
//! and kills. `referee.rs` decides whether everything is right. The rest is about showing it.
//!
//! Deliberately absent: anything that knows about crashes on the side of the worker.

mod cli;
mod closing;
mod day;
mod shop;
mod store;
mod window;
mod worker;
mod worker_process;
mod world;

mod referee;
mod summary;
mod timeline;

mod board;
mod line;
mod screen;

mod folder;
mod interrupt;
mod time;
mod words;

use std::path::Path;
use std::process::ExitCode;

use cli::{Command, Options};
use screen::complain;
use window::{Ending, ShopError};

const WRONG_ARGUMENTS: u8 = 2;
/// As if SIGPIPE had ended it: whoever read the output has seen enough.
const READER_IS_GONE: u8 = 128 + 13;

fn main() -> ExitCode {
    screen::restore_on_panic();
    match cli::parse(std::env::args_os().skip(1)) {
        Ok(Command::Shop(options)) => run_shop(&options),
        Ok(Command::Worker(folder)) => run_worker(&folder),
        Ok(Command::Help) => match screen::write(cli::HELP) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::from(READER_IS_GONE),
        },
        Err(error) => {
            complain(&format!("{error} (`--help` lists the options)"));
            ExitCode::from(WRONG_ARGUMENTS)
        }
    }
}

fn run_shop(options: &Options) -> ExitCode {
    let ended = in_tokio(window::open(options));
    match ended {
        Ok(Ok(Ending::AllRight)) => ExitCode::SUCCESS,
        Ok(Ok(Ending::SomethingWrong)) => ExitCode::FAILURE,
        Ok(Ok(Ending::Interrupted(interrupted))) => ExitCode::from(interrupted.exit_code),
        Ok(Err(error)) if error.reader_is_gone() => ExitCode::from(READER_IS_GONE),
        Ok(Err(error)) => {
            complain(&error.to_string());
            match error {
                ShopError::Folder(_) => ExitCode::from(WRONG_ARGUMENTS),
                ShopError::Store(_)
                | ShopError::Client(_)
                | ShopError::Process(_)
                | ShopError::Output(_)
                | ShopError::World(_)
                | ShopError::Signals(_)
                | ShopError::Stuck { .. } => ExitCode::FAILURE,
            }
        }
        Err(error) => {
            complain(&error.to_string());
            ExitCode::FAILURE
        }
    }
}

fn run_worker(folder: &Path) -> ExitCode {
    match in_tokio(worker::work(folder)) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => {
            complain(&error.to_string());
            ExitCode::FAILURE
        }
        Err(error) => {
            complain(&error.to_string());
            ExitCode::FAILURE
        }
    }
}

/// Runs it on this thread: neither process has much to compute.
fn in_tokio<T>(program: impl Future<Output = T>) -> std::io::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(program))
}
