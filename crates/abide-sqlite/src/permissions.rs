//! Who may read what a store creates: the database, the files beside it, and the folders they are in.
//!
//! SQLite gives the log and the shared memory the mode of the database, and a lock file gets the same. So the mode is
//! chosen once, when the database is created, and a database that somebody made with another one keeps it.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::error::OpenError;

/// The mode of new files, as on Unix. Elsewhere the system decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileMode(u32);

impl Default for FileMode {
    /// Only the user that the process runs as.
    fn default() -> Self {
        Self(0o600)
    }
}

impl FileMode {
    /// A mode with which a store can work: the owner must be able to read and write, and a database is no program.
    pub(crate) fn new(mode: u32) -> Result<Self, OpenError> {
        if mode & 0o600 == 0o600 && mode & !0o666 == 0 {
            Ok(Self(mode))
        } else {
            Err(OpenError::FileMode { mode })
        }
    }

    /// The mode of the files beside a database.
    #[cfg_attr(not(unix), expect(unused_variables, reason = "there are no modes"))]
    fn beside(database: &Path) -> Self {
        #[cfg(unix)]
        if let Ok(found) = std::fs::metadata(database) {
            use std::os::unix::fs::PermissionsExt as _;
            return Self(found.permissions().mode() & 0o666);
        }
        Self::default()
    }

    /// Of a folder: who may read a file may look for it.
    #[cfg(unix)]
    const fn of_folder(self) -> u32 {
        self.0 | ((self.0 & 0o444) >> 2)
    }

    #[cfg_attr(not(unix), expect(clippy::unused_self, unused_variables, reason = "there are no modes"))]
    fn ask_of(self, options: &mut OpenOptions) {
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(options, self.0);
    }

    /// Whatever the umask takes away when a file is created.
    #[cfg_attr(not(unix), expect(clippy::unused_self, unused_variables, reason = "there are no modes"))]
    fn insist_on(self, file: &File) {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            // A file system without modes has its own rules; nobody gets more rights than were asked for.
            let _set = file.set_permissions(std::fs::Permissions::from_mode(self.0));
        }
    }
}

/// Makes an empty file for SQLite to fill, if there is none: SQLite would let everybody read it. If it cannot be made,
/// SQLite says why.
pub(crate) fn create_database(path: &Path, mode: FileMode) {
    // Closing a file gives up the locks that SQLite holds on it in this process, so nobody here may open the new file
    // before this handle is closed.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    mode.ask_of(&mut options);
    if let Ok(file) = options.open(path) {
        mode.insist_on(&file);
    }
}

/// Makes, or opens, a file beside a database.
pub(crate) fn create_beside(database: &Path, path: &Path) -> io::Result<File> {
    let mode = FileMode::beside(database);
    let mut options = OpenOptions::new();
    options.create(true).truncate(true).write(true);
    mode.ask_of(&mut options);
    let file = options.open(path)?;
    mode.insist_on(&file);
    Ok(file)
}

/// Makes a folder and those above it, as far as they are missing.
#[cfg_attr(not(unix), expect(clippy::only_used_in_recursion, reason = "there are no modes"))]
pub(crate) fn create_folders(folder: &Path, mode: FileMode) -> io::Result<()> {
    if folder == Path::new("") || folder.is_dir() {
        return Ok(());
    }
    if let Some(above) = folder.parent() {
        create_folders(above, mode)?;
    }
    #[cfg_attr(not(unix), expect(unused_mut, reason = "there are no modes"))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, mode.of_folder());
    match builder.create(folder) {
        Ok(()) => {
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt as _;
                let _set =
                    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(mode.of_folder()));
            }
            Ok(())
        }
        // Another process was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}
