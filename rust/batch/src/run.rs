//! Many files on several threads.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use ctxproto_redact::{Format, Redactor};

use crate::atomic::sync_directory;
use crate::{Action, Control, Job, Report, process};

/// What all files of a batch have in common.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The policy.
    pub redactor: Arc<Redactor>,
    /// The layout of the files' text.
    pub format: Format,
    /// Findings reported in detail for each file; beyond that they are only counted, because a file may hold more
    /// of them than memory does.
    pub details: usize,
    /// Worker threads; at least one is used, and never more than there are files.
    pub threads: usize,
}

impl Batch {
    /// One thread, format by inspection, no details.
    pub fn new(redactor: Arc<Redactor>) -> Self {
        Self { redactor, format: Format::Auto, details: 0, threads: 1 }
    }
}

/// Processes all jobs; `done` hears of each on the calling thread, in the order of `jobs`, with the job's index.
///
/// After a stop the reports of the files that were not finished never come; what was finished stays.
/// Threads live as long as the call: nothing is left over that a fork could break.
pub fn run(batch: &Batch, jobs: &[Job], control: Control<'_>, mut done: impl FnMut(usize, Report)) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..batch.threads.clamp(1, jobs.len().max(1)) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                while !control.stopped() {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(index) else { break };
                    if sender.send((index, process(batch, job, control))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let mut early = BTreeMap::new();
        let mut expected = 0;
        for (index, report) in receiver {
            early.insert(index, report);
            while let Some(report) = early.remove(&expected) {
                if !matches!(report.error, Some(crate::Error::Interrupted)) {
                    done(expected, report);
                }
                expected += 1;
            }
        }
    });
    let targets = jobs.iter().filter_map(|job| match &job.action {
        Action::Scan | Action::Print => None,
        Action::Write(target) => target.parent(),
        Action::Replace => job.input.parent(),
    });
    for directory in targets.collect::<BTreeSet<_>>() {
        sync_directory(if directory.as_os_str().is_empty() { Path::new(".") } else { directory });
    }
}
