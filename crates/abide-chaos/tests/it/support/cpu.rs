//! How long processes have computed, by the system's account of them.

use std::time::Duration;

/// A process, while it lives.
struct Process {
    parent: u32,
    own: Duration,
    /// Of its children that have ended.
    of_children: Duration,
}

impl Process {
    fn read(id: u32) -> Option<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The name of the program, in brackets, is the only field that may hold spaces.
        let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
        let ticks = |at: usize| Duration::from_millis(fields[at].parse::<u64>().unwrap() * 10);
        Some(Self {
            parent: fields[1].parse().unwrap(),
            own: ticks(11) + ticks(12),
            of_children: ticks(13) + ticks(14),
        })
    }
}

/// Of one process.
pub(crate) fn of_process(id: u32) -> Duration {
    Process::read(id).unwrap().own
}

/// Of the parent of a process, and of all of its children, also of those that have ended.
pub(crate) fn of_siblings(id: u32) -> Duration {
    let parent = Process::read(id).unwrap().parent;
    let all = Process::read(parent).unwrap();
    let folders = std::fs::read_dir("/proc").unwrap();
    let ids = folders.filter_map(|folder| folder.unwrap().file_name().to_str()?.parse().ok());
    let children = ids.filter_map(Process::read).filter(|process| process.parent == parent);
    all.own + all.of_children + children.map(|child| child.own).sum::<Duration>()
}
