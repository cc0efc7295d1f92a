//! Whole files and pipes: `run_batch` and `run_filter`, and what they report; `read_text` for their text alone.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ctxproto_batch::{Action, Batch, Control, Error, Job, Progress, Report, Status, Stdin};
use ctxproto_redact::Format;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use crate::enter::{self, Panicked};
use crate::redaction::{self, Names};
use crate::redactor::Redactor;
use crate::{errors, text};

/// Counters of a running batch, to be read by another thread: bytes read as they lie on disk, files done, findings.
#[pyclass(frozen, module = "ctxproto._core")]
#[derive(Default)]
pub(crate) struct BatchProgress(Progress);

#[pymethods]
impl BatchProgress {
    #[new]
    fn py_new() -> Self {
        Self::default()
    }

    #[getter]
    fn bytes(&self) -> u64 {
        self.0.bytes()
    }

    #[getter]
    fn files(&self) -> u64 {
        self.0.files()
    }

    #[getter]
    fn findings(&self) -> u64 {
        self.0.findings()
    }
}

/// What happened to one input.
///
/// `status` is "clean", "found", "skipped" (binary data) or "failed", then with an `error`; `broken_pipe` says that
/// nobody reads the output any more. Sizes are in bytes, of files as they lie on disk and of the `text` after
/// decompression. `counts` has the number of findings by rule id; `findings` details the first of them.
#[pyclass(frozen, get_all, module = "ctxproto._core")]
pub(crate) struct FileReport {
    status: &'static str,
    error: Option<String>,
    broken_pipe: bool,
    bytes_in: u64,
    bytes_text: u64,
    bytes_out: u64,
    counts: Py<PyDict>,
    findings: Py<PyTuple>,
}

impl FileReport {
    fn new(py: Python<'_>, names: &Names, report: Report) -> PyResult<Self> {
        let counts = PyDict::new(py);
        for (&rule, &count) in &report.counts {
            counts.set_item(names.id(py, rule), count)?;
        }
        Ok(Self {
            status: match report.status {
                Status::Clean => "clean",
                Status::Found => "found",
                Status::Skipped => "skipped",
                Status::Failed => "failed",
            },
            broken_pipe: matches!(report.error, Some(Error::BrokenPipe)),
            error: report.error.map(|error| error.to_string()),
            bytes_in: report.bytes_in,
            bytes_text: report.bytes_text,
            bytes_out: report.bytes_out,
            counts: counts.unbind(),
            findings: redaction::findings(py, names, &report.findings)?.unbind(),
        })
    }
}

/// Works on many files, several at a time.
///
/// A job is an input path, one of "scan", "print", "write" and "replace", and for "write" the output path. `done` is
/// called in the order of the jobs with a job's index and its `FileReport`; what it raises ends the batch and is
/// raised here. The outputs do not depend on `threads`. Raises nothing for files that cannot be worked on: their
/// reports say why.
#[pyfunction]
#[pyo3(signature = (redactor, jobs, *, format, threads, details, progress, done))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments")]
pub(crate) fn run_batch(
    py: Python<'_>,
    redactor: &Bound<'_, Redactor>,
    jobs: Vec<(PathBuf, String, Option<PathBuf>)>,
    #[pyo3(from_py_with = text::format)] format: Format,
    threads: usize,
    details: usize,
    progress: &Bound<'_, BatchProgress>,
    done: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let jobs = jobs.into_iter().map(job).collect::<PyResult<Vec<_>>>()?;
    let Redactor { engine, names, .. } = redactor.get();
    let batch = Batch { redactor: Arc::clone(engine), format, details };
    let progress = &progress.get().0;
    let done = done.clone().unbind();
    // What `done` raised, or the panic of a worker: the batch ends with the first of them.
    let failure: Mutex<Option<PyErr>> = Mutex::new(None);
    let failed = AtomicBool::new(false);
    let fail = |error: PyErr| {
        failed.store(true, Ordering::Relaxed);
        failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    };
    enter::long(py, |stop| {
        let stopped = || failed.load(Ordering::Relaxed) || stop.check().is_err();
        let control = Control::new(progress, &stopped);
        let work = |job: &Job| {
            enter::guarded(|| ctxproto_batch::process(&batch, job, control)).unwrap_or_else(
                |panic: Panicked| {
                    fail(panic.into());
                    None
                },
            )
        };
        ctxproto_batch::run(threads, &jobs, work, |index, report| {
            if !failed.load(Ordering::Relaxed) {
                Python::attach(|py| {
                    let told =
                        FileReport::new(py, names, report).and_then(|report| done.call1(py, (index, report)));
                    told.map_or_else(&fail, drop);
                });
            }
        });
        Ok(())
    })?;
    failure.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

fn job((input, action, output): (PathBuf, String, Option<PathBuf>)) -> PyResult<Job> {
    let action = match (action.as_str(), output) {
        ("scan", None) => Action::Scan,
        ("print", None) => Action::Print,
        ("replace", None) => Action::Replace,
        ("write", Some(output)) => Action::Write(output),
        _ => return Err(errors::input("a job scans or prints or replaces, or writes to an output".into())),
    };
    Ok(Job { input, action })
}

/// Works on standard input as it arrives; with `write` the redacted text goes to standard output and is flushed
/// whenever it is certain. Returns when the input ends, or nobody reads the output any more.
#[pyfunction]
#[pyo3(signature = (redactor, *, write, format, details))]
pub(crate) fn run_filter(
    py: Python<'_>,
    redactor: &Bound<'_, Redactor>,
    write: bool,
    #[pyo3(from_py_with = text::format)] format: Format,
    details: usize,
) -> PyResult<FileReport> {
    let Redactor { engine, names, .. } = redactor.get();
    let batch = Batch { redactor: Arc::clone(engine), format, details };
    let progress = Progress::new();
    let report = enter::long(py, |stop| {
        let stopped = || stop.check().is_err();
        let control = Control::new(&progress, &stopped);
        let filtered = Stdin::new(control).map_err(Error::Read).and_then(|stdin| {
            if write {
                let stdout = ctxproto_batch::stdout().map_err(Error::Write)?;
                ctxproto_batch::filter(&batch, stdin, stdout, control)
            } else {
                ctxproto_batch::find(&batch, stdin, control)
            }
        });
        match filtered {
            Err(Error::Stopped) => Err(enter::Stopped),
            Err(error) => Ok(Report::failed(error)),
            Ok(report) => Ok(report),
        }
    })?;
    FileReport::new(py, names, report)
}

/// Hands the text of a file, or of standard input when `path` is None, to `take`: in pieces of bytes, decompressed, in
/// UTF-8 where it is UTF-16. Returns whether it is text: of binary data nothing is handed on. Raises `OSError` with a
/// message of ours when it cannot be read, and what `take` raises.
#[pyfunction]
#[pyo3(signature = (path, take))]
pub(crate) fn read_text(py: Python<'_>, path: Option<PathBuf>, take: &Bound<'_, PyAny>) -> PyResult<bool> {
    let take = take.clone().unbind();
    let progress = Progress::new();
    let mut failure = None;
    let read = enter::long(py, |stop| {
        let failed = AtomicBool::new(false);
        let stopped = || failed.load(Ordering::Relaxed) || stop.check().is_err();
        let control = Control::new(&progress, &stopped);
        let piece = |piece: &[u8]| {
            if !failed.load(Ordering::Relaxed)
                && let Err(error) = Python::attach(|py| take.call1(py, (PyBytes::new(py, piece),)).map(drop))
            {
                failed.store(true, Ordering::Relaxed);
                failure = Some(error);
            }
        };
        let read = match path {
            Some(path) => ctxproto_batch::read_file(&path, control, piece),
            None => Stdin::new(control)
                .map_err(Error::Read)
                .and_then(|stdin| ctxproto_batch::read(stdin, control, piece)),
        };
        match read {
            Err(Error::Stopped) if !failed.load(Ordering::Relaxed) => Err(enter::Stopped),
            read => Ok(read),
        }
    })?;
    match (failure, read) {
        (Some(error), _) => Err(error),
        (None, Ok(text)) => Ok(text),
        (None, Err(error)) => Err(PyOSError::new_err(error.to_string())),
    }
}
