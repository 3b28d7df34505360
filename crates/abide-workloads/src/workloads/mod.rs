//! The workloads, a file per subject; `docs/benchmarks.md` says what each is for.

mod busy;
mod cancel;
mod events;
mod idle;
mod long;
mod many;
mod nodes;
mod process;
mod recovery;
mod timers;

use crate::arguments::Arguments;
use crate::program::Fallible;
use crate::report::Outcome;

pub(crate) async fn run(arguments: &Arguments) -> Fallible<Outcome> {
    match arguments.workload.as_str() {
        "w1" => many::chains(arguments).await,
        "w2" => many::one_by_one(arguments).await,
        "w2-busy" => busy::beside_many(arguments).await,
        "w2-flood" => busy::beside_a_flood(arguments).await,
        "w3" => long::fan_out(arguments).await,
        "w4" => long::sequence(arguments).await,
        "w5" => long::executions(arguments).await,
        "w6" => timers::timers(arguments).await,
        "w7" => events::events(arguments).await,
        "w8" => many::children(arguments).await,
        "w9" => idle::idle(arguments).await,
        "w10" => cancel::cancellations(arguments).await,
        "w11" => recovery::recovery(arguments).await,
        "w12" => nodes::nodes(arguments).await,
        // For other processes of this program.
        "victim" => recovery::victim(arguments).await,
        "patient" => cancel::patient(arguments).await,
        "node" => nodes::node(arguments).await,
        unknown => Err(format!("there is no workload '{unknown}'").into()),
    }
}
