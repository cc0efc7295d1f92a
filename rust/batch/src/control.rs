//! What the outside sees of a running batch, and how it stops one.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Counters of a running batch; any thread may read them at any time.
#[derive(Debug, Default)]
pub struct Progress {
    bytes: AtomicU64,
    files: AtomicU64,
    findings: AtomicU64,
}

impl Progress {
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
#[derive(Debug, Default)]
pub struct Control {
    /// Counters to show.
    pub progress: Progress,
    interrupted: AtomicBool,
}

impl Control {
    /// Stops the work at the next block; unfinished outputs are removed.
    pub fn interrupt(&self) {
        self.interrupted.store(true, Ordering::Relaxed);
    }

    /// Whether somebody asked to stop.
    pub fn interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}
