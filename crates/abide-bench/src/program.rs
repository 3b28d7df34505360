//! From the command line of a benchmark to its exit code: the same for all of them.

use std::process::ExitCode;

use crate::store::Fallible;

/// Whether everything was as it must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Met,
    Missed,
}

/// One of the benchmarks, as people know it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) usage: &'static str,
}

impl Program {
    /// Measures what the arguments ask for; without arguments, people wanted help.
    pub(crate) fn run<A>(
        self,
        arguments: Result<Option<A>, String>,
        measure: impl FnOnce(A) -> Fallible<Verdict>,
    ) -> ExitCode {
        let Self { name, usage } = self;
        match arguments.map(|arguments| arguments.map(measure)) {
            Ok(Some(Ok(Verdict::Met))) => ExitCode::SUCCESS,
            Ok(Some(Ok(Verdict::Missed))) => ExitCode::FAILURE,
            Ok(Some(Err(error))) => {
                eprintln!("{name}: {error}");
                ExitCode::FAILURE
            }
            Ok(None) => {
                println!("{usage}");
                ExitCode::SUCCESS
            }
            Err(complaint) => {
                eprintln!("{name}: {complaint}\n\n{usage}");
                ExitCode::from(2)
            }
        }
    }
}

/// For those that measure what needs an async runtime.
pub(crate) fn block_on<T>(measure: impl Future<Output = Fallible<T>>) -> Fallible<T> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(measure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_code_says_what_became_of_it() {
        let program = Program { name: "it", usage: "usage" };
        let code = |arguments: Result<Option<Fallible<Verdict>>, String>| {
            format!("{:?}", program.run(arguments, |verdict| verdict))
        };
        let is = |code: ExitCode| format!("{code:?}");
        assert_eq!(code(Ok(None)), is(ExitCode::SUCCESS));
        assert_eq!(code(Ok(Some(Ok(Verdict::Met)))), is(ExitCode::SUCCESS));
        assert_eq!(code(Ok(Some(Ok(Verdict::Missed)))), is(ExitCode::FAILURE));
        assert_eq!(code(Ok(Some(Err("it broke".into())))), is(ExitCode::FAILURE));
        assert_eq!(code(Err("there is no option".to_owned())), is(ExitCode::from(2)));
    }
}
