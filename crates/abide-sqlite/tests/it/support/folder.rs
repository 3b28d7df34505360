//! Folders and file systems that are gone when the test is, also if it panics.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

/// An empty folder that is removed with everything in it.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(label: &str) -> Self {
        Self::within(&std::env::temp_dir(), label)
    }

    /// One where writing costs nothing, if there is such a place: more happens in the same time.
    pub(crate) fn in_memory(label: &str) -> Self {
        let shared_memory = Path::new("/dev/shm");
        if shared_memory.is_dir() { Self::within(shared_memory, label) } else { Self::new(label) }
    }

    fn within(parent: &Path, label: &str) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name =
            format!("abide-sqlite-{}-{}-{label}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = parent.join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path.canonicalize().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The names of everything in it, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        names_in(&self.0)
    }
}

/// The names of everything in a folder, sorted.
pub(crate) fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            eprintln!("{} stays behind: {error}", self.0.display());
        }
    }
}

/// What a database is called in a URL.
pub(crate) fn url(path: &Path) -> String {
    format!("sqlite:{}", path.display())
}

/// A file with this added to its name: `data.db` and `-wal` are `data.db-wal`.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// A small file system in memory, to be filled.
#[derive(Debug)]
pub(crate) struct SmallDisk {
    folder: Folder,
}

impl SmallDisk {
    /// Mounts one; says why if that is not permitted.
    pub(crate) fn mount(label: &str, size: &str) -> Result<Self, String> {
        let folder = Folder::new(label);
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "abide-test"]).arg(folder.path());
        run(&mut mount).map(|()| Self { folder })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.file(name)
    }

    /// From now on nothing can be written to it.
    pub(crate) fn make_read_only(&self) -> Result<(), String> {
        run(Command::new("mount").args(["-o", "remount,ro"]).arg(self.path()))
    }

    /// Takes the space that is left, but for so many bytes.
    pub(crate) fn fill_but(&self, bytes: u64) -> Filler {
        use std::io::Write;
        let path = self.file("filler");
        let mut file = std::fs::File::create(&path).unwrap();
        for block in [vec![0_u8; 65_536], vec![0_u8; 4_096]] {
            while file.write_all(&block).is_ok() {}
        }
        let taken = file.metadata().unwrap().len();
        file.set_len(taken.saturating_sub(bytes)).unwrap();
        Filler { path }
    }

    /// Takes all the space that is left.
    pub(crate) fn fill(&self) -> Filler {
        self.fill_but(0)
    }
}

/// A file that takes all the space; dropping it gives the space back.
#[derive(Debug)]
pub(crate) struct Filler {
    path: PathBuf,
}

impl Drop for Filler {
    fn drop(&mut self) {
        std::fs::remove_file(&self.path).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let unmounted = run(Command::new("umount").arg(self.path()))
            // Something still has a file open: let go of the name at least.
            .or_else(|_| run(Command::new("umount").arg("-l").arg(self.path())));
        if let Err(error) = unmounted {
            eprintln!("{} stays mounted: {error}", self.path().display());
        }
    }
}

/// Runs a command to its end; what it complained about is the error.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}
