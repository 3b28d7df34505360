//! The shop window: opens the shop, shows the day, and tidies up, however the day ends.
//!
//! Whatever stops the day (its end, Ctrl-C, an error, a reader who went away), the same things follow in the same order:
//! the board is removed, the worker is stopped, the database is closed, the folder is removed.

use std::cell::RefCell;
use std::io;
use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, select};

use crate::cli::{Crash, Options};
use crate::day::Day;
use crate::folder::{self, Folder, FolderError};
use crate::interrupt::{Interrupt, Interrupted};
use crate::line::{Line, Tone};
use crate::screen::{Screen, blank};
use crate::shop::purchases;
use crate::store::{Choice, StoreError};
use crate::time;
use crate::words::counted;
use crate::worker_process::{ProcessError, WorkerProcess};
use abide::ClientError;

/// Why the day could not be finished.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ShopError {
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error(transparent)]
    Process(#[from] ProcessError),
    #[error("the output cannot be written: {0}")]
    Output(io::Error),
    #[error("the effects cannot be read: {0}")]
    World(io::Error),
    #[error("it cannot listen to signals: {0}")]
    Signals(io::Error),
    #[error("nothing has happened for {seconds} seconds, and {under_way} orders are under way")]
    Stuck { seconds: u64, under_way: usize },
}

impl ShopError {
    /// Whether whoever read the output has seen enough.
    pub(crate) fn reader_is_gone(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// How the day ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    AllRight,
    SomethingWrong,
    Interrupted(Interrupted),
}

pub(crate) async fn open(options: &Options) -> Result<Ending, ShopError> {
    // First of all: from now on an interruption is tidied up after.
    let mut interrupt = Interrupt::listen().map_err(ShopError::Signals)?;
    let folder = Folder::prepare(&options.place)?;
    let plan = plan(options, &folder)?;
    let store = options.store.clone().unwrap_or_else(|| Choice::in_folder(folder.path()));
    let screen = RefCell::new(Screen::new(options.style));
    let worker = RefCell::new(WorkerProcess::new(folder.path(), store.clone()));

    let whole_day = from_start_to_end(&plan, &store, &folder, &screen, &worker);
    let ending = match select(pin!(interrupt.wait()), pin!(whole_day)).await {
        Either::Left((interrupted, _)) => Ok(Ending::Interrupted(interrupted)),
        Either::Right((ending, interruption)) => who_came_first(ending, interruption).await,
    };
    let removed = screen.borrow_mut().remove_board().map_err(ShopError::Output);
    let mut worker = worker.into_inner();
    worker.stop().await;
    let ending = ending?;
    removed?;
    print(&screen, &farewell(ending, &plan, &folder))?;
    Ok(ending)
}

/// A worker that is just being born still belongs to the group that a Ctrl-C is for. If one has ended on its own, that may be
/// why, and then the shop is about to hear of it, too.
async fn who_came_first(
    ending: Result<Ending, ShopError>,
    interruption: impl Future<Output = Interrupted> + Unpin,
) -> Result<Ending, ShopError> {
    const SOON: Duration = Duration::from_millis(250);
    if !matches!(ending, Err(ShopError::Process(ProcessError::Ended { .. }))) {
        return ending;
    }
    match select(interruption, pin!(time::sleep(SOON))).await {
        Either::Left((interrupted, _)) => Ok(Ending::Interrupted(interrupted)),
        Either::Right(_) => ending,
    }
}

async fn from_start_to_end(
    plan: &Plan,
    store: &Choice,
    folder: &Folder,
    screen: &RefCell<Screen>,
    worker: &RefCell<WorkerProcess>,
) -> Result<Ending, ShopError> {
    let database = store.open().await.map_err(StoreError::Open)?;
    if plan.continued == Continued::No && plan.day.store.is_some() {
        store.clear(&*database).await?;
    }
    print(screen, &opening(plan, folder))?;
    let day = Day::new(purchases(plan.day.orders, plan.day.seed), database, folder.path(), screen, worker);
    day.run(plan.crash).await?;
    let judgement = day.end().close().await?;
    let mut screen = screen.borrow_mut();
    screen.remove_board().and_then(|()| judgement.show(&mut screen)).map_err(ShopError::Output)?;
    Ok(judgement.ending())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Continued {
    Yes,
    No,
}

/// What is going to happen.
struct Plan {
    day: folder::Day,
    continued: Continued,
    crash: Crash,
}

/// Which orders there are: those of the folder if it has some, those that were asked for otherwise.
fn plan(options: &Options, folder: &Folder) -> Result<Plan, FolderError> {
    const ORDERS: usize = 12;
    const SEED: u64 = 1;
    let store = options.store.as_ref().map(Choice::shown);
    let Some(day) = folder.earlier_day()? else {
        let (orders, seed) = (options.orders.unwrap_or(ORDERS), options.seed.unwrap_or(SEED));
        let day = folder::Day { orders, seed, store };
        folder.mark(&day)?;
        return Ok(Plan { day, continued: Continued::No, crash: options.crash });
    };
    let path = folder.path().to_owned();
    let is_other =
        options.orders.is_some_and(|it| it != day.orders) || options.seed.is_some_and(|it| it != day.seed);
    if is_other {
        return Err(FolderError::AnotherDay { path, day });
    }
    if day.store != store {
        return Err(match day.store {
            Some(store) => FolderError::AnotherStore { path, store },
            None => FolderError::NoStore { path },
        });
    }
    // It was interrupted once: that was the crash.
    Ok(Plan { day, continued: Continued::Yes, crash: Crash::Never })
}

fn print(screen: &RefCell<Screen>, lines: &[Line]) -> Result<(), ShopError> {
    screen.borrow_mut().print(lines).map_err(ShopError::Output)
}

fn opening(plan: &Plan, folder: &Folder) -> Vec<Line> {
    let store = plan.day.store.as_deref().unwrap_or("an embedded SQLite file");
    let orders = counted(plan.day.orders, "order");
    let mut lines = vec![
        Tone::Bold
            .line("A shop on abide")
            .and(Tone::Normal, format!(": {orders}, {store}, a worker process.")),
    ];
    match plan.continued {
        Continued::Yes => lines
            .push(Tone::Normal.line(format!("It goes on where it stopped, in {}.", folder.path().display()))),
        Continued::No => {
            lines.push(Tone::Dim.line("`--help` explains the rest. Ctrl-C stops it in good order."));
        }
    }
    lines.push(blank());
    lines
}

fn farewell(ending: Ending, plan: &Plan, folder: &Folder) -> Vec<Line> {
    let mut lines = Vec::new();
    match ending {
        Ending::Interrupted(_) => {
            lines.push(Tone::Bold.line("Interrupted. The worker was stopped in good order."));
        }
        Ending::AllRight | Ending::SomethingWrong => {}
    }
    if let Some(store) = &plan.day.store {
        lines.push(Tone::Normal.line(format!("The orders are in {store}, until the next run.")));
    }
    if folder.is_kept() {
        lines.push(Tone::Normal.line(format!("The files are in {}", folder.path().display())));
    } else if matches!(ending, Ending::Interrupted(_)) {
        lines.push(
            Tone::Dim.line("Its files are removed. With --dir they stay, and the same command goes on."),
        );
    }
    lines
}
