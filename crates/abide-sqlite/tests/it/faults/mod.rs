//! Disks that fail: nothing acknowledged is lost, every failure is one that may pass, and when it has passed the store
//! goes on in the same process.
//!
//! [`injected`]: the nth system call fails, by `strace`. [`full`]: a disk without space. [`locked`]: a file that another
//! program keeps locked.

mod full;
mod injected;
mod locked;
