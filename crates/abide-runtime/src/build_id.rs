//! Which build of a program this is.

use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read};
use std::sync::OnceLock;

use tracing::warn;

const CHUNK: u64 = 1 << 20;

/// What the executable of this process is called on Linux. It opens the bytes that run, also if the file was replaced.
const RUNNING: &str = "/proc/self/exe";

/// The build id of this process: a hash of the bytes of its executable, or a text that says that they cannot be read.
///
/// The same executable has the same id on every machine. It is computed once per process, when first asked for.
pub(crate) fn of_this_executable() -> &'static str {
    static BUILD: OnceLock<String> = OnceLock::new();
    BUILD.get_or_init(|| {
        hash_executable().unwrap_or_else(|error| {
            warn!(target: "abide::runtime", %error,
                "cannot read the executable to tell this build from others; set RuntimeOptions::build_id");
            "unreadable-executable".to_owned()
        })
    })
}

fn hash_executable() -> io::Result<String> {
    let mut file = File::open(RUNNING).or_else(|_| File::open(std::env::current_exe()?))?;
    // Its keys are fixed, so that the same bytes give the same hash. Another compiler makes another executable anyway.
    let mut hasher = DefaultHasher::new();
    let mut chunk = Vec::new();
    loop {
        // A chunk is filled before it is hashed: two writes need not hash like one.
        let length = (&mut file).take(CHUNK).read_to_end(&mut chunk)?;
        hasher.write(&chunk);
        if length == 0 {
            return Ok(format!("{:016x}", hasher.finish()));
        }
        chunk.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_executable_has_the_same_id() {
        assert_eq!(hash_executable().unwrap(), of_this_executable());
        assert_eq!(of_this_executable().len(), 16);
    }
}
