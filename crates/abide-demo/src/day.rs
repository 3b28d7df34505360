//! A day in the shop, seen through the client: orders are placed, approvals given, and in the middle the worker is killed.
//!
//! Everything here runs side by side in one task: a watcher per order, the crash, and a guard that paints the board.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::path::Path;
use std::pin::pin;
use std::time::{Duration, Instant};

use futures_util::future::{Either, select, try_join, try_join_all};

use crate::board::{Board, State, WorkerState, stamp};
use crate::cli::Crash;
use crate::closing::{self, Books};
use crate::line::{Line, Tone};
use crate::screen::Screen;
use crate::shop::orchestrations::{APPROVAL, PROCESS_ORDER};
use crate::shop::{Decision, Kind, Purchase, Step};
use crate::summary;
use crate::time;
use crate::window::ShopError;
use crate::words::{counted, readable};
use crate::worker_process::WorkerProcess;
use crate::world::World;
use abide::{Client, ClientError, OrchestrationStatus, ProviderRef};

/// The orders come in over this time, or faster if there are few.
const RUSH: Duration = Duration::from_millis(4_500);
const SLOWEST_ARRIVAL: Duration = Duration::from_millis(375);
/// How long the manager thinks about a big order.
const THINKING: Duration = Duration::from_millis(700);
/// How long there is no worker, so that people see it.
const SILENCE: Duration = Duration::from_millis(800);
/// How often the board is painted.
const FRAME: Duration = Duration::from_millis(80);
/// How often the world is looked at where it matters.
const LOOK: Duration = Duration::from_millis(5);
/// So long without any news, and something is wrong.
const STUCK: Duration = Duration::from_secs(60);

pub(crate) struct Day<'shop> {
    purchases: Vec<Purchase>,
    client: Client,
    world: World,
    screen: &'shop RefCell<Screen>,
    worker: &'shop RefCell<WorkerProcess>,
    board: RefCell<Board>,
    began: Instant,
    last_news: Cell<Instant>,
    crash: Cell<Option<summary::Crash>>,
}

impl<'shop> Day<'shop> {
    pub(crate) fn new(
        purchases: Vec<Purchase>,
        store: ProviderRef,
        folder: &Path,
        screen: &'shop RefCell<Screen>,
        worker: &'shop RefCell<WorkerProcess>,
    ) -> Self {
        Self {
            board: RefCell::new(Board::new(&purchases)),
            purchases,
            client: Client::new(store),
            world: World::in_folder(folder),
            screen,
            worker,
            began: time::now(),
            last_news: Cell::new(time::now()),
            crash: Cell::new(None),
        }
    }

    /// From the first order to the last.
    pub(crate) async fn run(&self, crash: Crash) -> Result<(), ShopError> {
        self.start_worker("A worker was started")?;
        let watching = try_join_all((0..self.purchases.len()).map(|index| self.serve(index)));
        let crashing = async {
            match crash {
                Crash::InTheMiddle => self.crash().await,
                Crash::Never => Ok(()),
            }
        };
        match select(pin!(try_join(watching, crashing)), pin!(self.guard())).await {
            Either::Left((done, _)) => done.map(|(_watched, ())| ()),
            Either::Right((broken, _)) => broken.map(|never| match never {}),
        }
    }

    /// Places one order and follows it to its end.
    async fn serve(&self, index: usize) -> Result<(), ShopError> {
        let Purchase { kind, order } = &self.purchases[index];
        let place = u32::try_from(index).unwrap_or(u32::MAX);
        let orders = u32::try_from(self.purchases.len()).unwrap_or(u32::MAX);
        let status = self.client.get_orchestration_status(&order.id).await?;
        // Orders of a day that was interrupted were placed already.
        if status == OrchestrationStatus::NotFound {
            time::sleep((RUSH / orders).min(SLOWEST_ARRIVAL) * place).await;
        }
        self.client.start_orchestration_typed(&order.id, PROCESS_ORDER, order).await?;
        self.note(index, State::Placed)?;
        let mut seen = 0;
        loop {
            let news = self.client.wait_for_status_change(&order.id, seen, FRAME, STUCK).await;
            let status = match news {
                Err(ClientError::Timeout) => continue,
                news => news?,
            };
            match status {
                OrchestrationStatus::NotFound => {}
                OrchestrationStatus::Running { custom_status, custom_status_version } => {
                    seen = custom_status_version;
                    let Some(step) = custom_status.as_deref().and_then(Step::from_text) else { continue };
                    self.note(index, State::At(step))?;
                    if step == Step::AwaitingApproval {
                        self.decide(*kind, &order.id).await?;
                    }
                }
                OrchestrationStatus::Completed { .. } | OrchestrationStatus::Failed { .. } => {
                    let outcome = closing::outcome(&self.client, &order.id).await?;
                    return self.note(index, outcome.map_or(State::Broken, State::Ended));
                }
            }
        }
    }

    /// The manager looks at a big order, and says yes or no.
    async fn decide(&self, kind: Kind, id: &str) -> Result<(), ShopError> {
        time::sleep(THINKING).await;
        let decision = if kind == Kind::Refused { Decision::Refused } else { Decision::Approved };
        Ok(self.client.raise_event_typed(id, APPROVAL, &decision).await?)
    }

    /// When half of the orders have seen the card terminal, and one of them is just being charged: kills the worker, and
    /// starts another.
    async fn crash(&self) -> Result<(), ShopError> {
        while self.orders_at_the_till()? * 2 < self.purchases.len() {
            time::sleep(LOOK).await;
        }
        self.worker.borrow_mut().kill()?;
        let at_ms = time::wall_ms();
        let before = self.happenings()?;
        let under_way = self.board.borrow().under_way();
        self.board.borrow_mut().worker = WorkerState::Killed;
        self.say(
            Tone::Bad,
            &format!("The worker was killed (SIGKILL) with {} under way.", counted(under_way, "order")),
        )?;
        time::sleep(SILENCE).await;
        self.start_worker("Another worker was started")?;
        let restarted = time::now();
        while self.happenings()? == before {
            time::sleep(LOOK).await;
        }
        let gap = restarted.elapsed();
        self.crash.set(Some(summary::Crash { at_ms, under_way, gap }));
        self.say(Tone::Good, &format!("It was at work again after {}.", readable(gap)))
    }

    fn orders_at_the_till(&self) -> Result<usize, ShopError> {
        let entries = self.world.entries().map_err(ShopError::World)?;
        let payments = entries.iter().filter(|entry| entry.what.is_about_payment());
        Ok(payments.map(|entry| entry.order.as_str()).collect::<BTreeSet<_>>().len())
    }

    fn happenings(&self) -> Result<usize, ShopError> {
        Ok(self.world.entries().map_err(ShopError::World)?.len())
    }

    /// Paints the board, and notices when something is wrong. Never ends otherwise.
    async fn guard(&self) -> Result<std::convert::Infallible, ShopError> {
        loop {
            self.board.borrow_mut().happenings = self.happenings()?;
            self.paint()?;
            self.worker.borrow_mut().check()?;
            if self.last_news.get().elapsed() > STUCK {
                let under_way = self.board.borrow().under_way();
                return Err(ShopError::Stuck { seconds: STUCK.as_secs(), under_way });
            }
            time::sleep(FRAME).await;
        }
    }

    fn paint(&self) -> Result<(), ShopError> {
        let mut screen = self.screen.borrow_mut();
        let lines = self.board.borrow().lines(screen.size(), self.began.elapsed());
        screen.paint(&lines).map_err(ShopError::Output)
    }

    /// Notes where an order stands. Where there is no board, it deserves a line.
    fn note(&self, index: usize, state: State) -> Result<(), ShopError> {
        let now = self.began.elapsed();
        if !self.board.borrow_mut().update(index, state, now) {
            return Ok(());
        }
        self.last_news.set(time::now());
        if self.screen.borrow().is_live() {
            return Ok(());
        }
        let line = self.board.borrow().news(index, now);
        self.print(&[line])
    }

    fn start_worker(&self, text: &str) -> Result<(), ShopError> {
        let process = self.worker.borrow_mut().start()?;
        self.board.borrow_mut().worker = WorkerState::Running { process };
        self.say(Tone::Normal, &format!("{text} (process {process})."))
    }

    /// Says something that stays on the screen.
    fn say(&self, tone: Tone, text: &str) -> Result<(), ShopError> {
        self.print(&[stamp(self.began.elapsed()).and(tone, text)])
    }

    fn print(&self, lines: &[Line]) -> Result<(), ShopError> {
        self.screen.borrow_mut().print(lines).map_err(ShopError::Output)
    }

    /// The end of the day: everything that is known about it, to be judged.
    pub(crate) fn end(&self) -> Books<'_> {
        Books {
            purchases: &self.purchases,
            client: &self.client,
            world: &self.world,
            crash: self.crash.get(),
            took: self.began.elapsed(),
        }
    }
}
