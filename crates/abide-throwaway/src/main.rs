//! A PostgreSQL server for as long as one watches it: prints its URL, and ends with its input.

use std::error::Error;
use std::io::{self, Write};

use abide_throwaway::{Server, Settings};

fn main() -> Result<(), Box<dyn Error>> {
    let server = Server::start_with(&Settings::common())?;
    let mut output = io::stdout();
    writeln!(output, "{}", server.url())?;
    writeln!(output, "{}", server.folder().display())?;
    eprintln!(
        "PostgreSQL {}, without fsync; press Ctrl-C or close the input to remove it",
        server.version().major()
    );
    io::copy(&mut io::stdin(), &mut io::sink())?;
    Ok(())
}
