//! What the outside sees of a running batch, and how it stops one.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of a running batch; any thread may read them at any time.
#[derive(Debug, Default)]
pub struct Progress {
    bytes: AtomicU64,
    files: AtomicU64,
    findings: AtomicU64,
}

impl Progress {
    /// All zero.
    pub const fn new() -> Self {
        Self { bytes: AtomicU64::new(0), files: AtomicU64::new(0), findings: AtomicU64::new(0) }
    }

    /// Bytes read from the inputs as they lie on disk.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Files done, whatever came of them.
    pub fn files(&self) -> u64 {
        self.files.load(Ordering::Relaxed)
    }

    /// Findings so far.
    pub fn findings(&self) -> u64 {
        self.findings.load(Ordering::Relaxed)
    }

    pub(crate) fn add_bytes(&self, n: u64) {
        self.bytes.fetch_add(n, Ordering::Relaxed);
    }

    pub(crate) fn add_file(&self) {
        self.files.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn add_findings(&self, n: u64) {
        self.findings.fetch_add(n, Ordering::Relaxed);
    }
}

/// Progress out, interrupt in; shared by the caller and all workers.
#[derive(Clone, Copy)]
pub struct Control<'a> {
    /// Counters to show.
    pub progress: &'a Progress,
    stop: &'a (dyn Fn() -> bool + Sync),
}

impl<'a> Control<'a> {
    /// `stop` is asked before each block, by every worker: once it is true, work ends and unfinished outputs are
    /// removed.
    pub const fn new(progress: &'a Progress, stop: &'a (dyn Fn() -> bool + Sync)) -> Self {
        Self { progress, stop }
    }

    /// Whether somebody asked to stop.
    pub fn stopped(&self) -> bool {
        (self.stop)()
    }
}

impl fmt::Debug for Control<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").field("progress", self.progress).field("stopped", &self.stopped()).finish()
    }
}
