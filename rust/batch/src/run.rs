//! Many files on several threads.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use crate::atomic::sync_directory;
use crate::{Action, Job, Report};

/// Does `work` (see [`process`](crate::process)) for every job on up to `threads` threads. `done` hears of each on the
/// calling thread, in the order of `jobs`, with the job's index.
///
/// When `work` gives no report the batch ends: files begun by then still finish, no others are begun. The threads live
/// as long as the call; nothing is left over that a fork could break.
pub fn run(
    threads: usize,
    jobs: &[Job],
    work: impl Fn(&Job) -> Option<Report> + Sync,
    mut done: impl FnMut(usize, Report),
) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..threads.clamp(1, jobs.len().max(1)) {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(index) else { break };
                    let Some(report) = work(job) else {
                        next.store(jobs.len(), Ordering::Relaxed);
                        break;
                    };
                    if sender.send((index, report)).is_err() {
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
                done(expected, report);
                expected += 1;
            }
        }
        // Behind a job that was given up, finished ones are still news.
        for (index, report) in early {
            done(index, report);
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
