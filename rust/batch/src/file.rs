//! One file: opened, checked, pumped, put in its place.

use std::collections::BTreeMap;
use std::fs::{File, Metadata, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ctxproto_redact::{Finding, Format, Redactor};

use crate::atomic::AtomicFile;
use crate::codec::{Decoder, Encoder};
use crate::filter::{drain, stream};
use crate::pump::{Pump, Source, Tally};
use crate::stdio::stdout;
use crate::{Control, Error};

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
}

impl Batch {
    /// Format by inspection, no details.
    pub fn new(redactor: Arc<Redactor>) -> Self {
        Self { redactor, format: Format::Auto, details: 0 }
    }
}

/// What becomes of the redacted text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing: only the findings matter.
    Scan,
    /// Written to another file, whose missing parent directories are made.
    Write(PathBuf),
    /// Written to standard output: for a batch of one.
    Print,
    /// Takes the input's place; a file without findings is not touched.
    Replace,
}

/// One input and what to do with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The file to read.
    pub input: PathBuf,
    /// What becomes of it.
    pub action: Action,
}

impl Job {
    /// Find only.
    pub fn scan(input: impl Into<PathBuf>) -> Self {
        Self { input: input.into(), action: Action::Scan }
    }

    /// Write to another file.
    pub fn write(input: impl Into<PathBuf>, output: impl Into<PathBuf>) -> Self {
        Self { input: input.into(), action: Action::Write(output.into()) }
    }

    /// Write to standard output.
    pub fn print(input: impl Into<PathBuf>) -> Self {
        Self { input: input.into(), action: Action::Print }
    }

    /// Rewrite in place.
    pub fn replace(input: impl Into<PathBuf>) -> Self {
        Self { input: input.into(), action: Action::Replace }
    }
}

/// How a file ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Nothing was found.
    Clean,
    /// Something was found (and, unless only scanned, replaced).
    Found,
    /// Binary data: nothing was written.
    Skipped,
    /// See the error; no output was written.
    Failed,
}

/// What happened to one file; holds no part of any value.
#[derive(Debug)]
pub struct Report {
    /// How it ended.
    pub status: Status,
    /// Why it failed.
    pub error: Option<Error>,
    /// Bytes read, as they lie on disk.
    pub bytes_in: u64,
    /// Bytes of text after decompression.
    pub bytes_text: u64,
    /// Bytes written, as they lie on disk.
    pub bytes_out: u64,
    /// Findings by rule number, complete.
    pub counts: BTreeMap<u16, u64>,
    /// The first findings in detail, as many as the batch asked for.
    pub findings: Vec<Finding>,
}

impl Report {
    /// The report of an input that failed.
    pub fn failed(error: Error) -> Self {
        let (counts, findings) = (BTreeMap::new(), vec![]);
        let error = Some(error);
        Self { status: Status::Failed, error, bytes_in: 0, bytes_text: 0, bytes_out: 0, counts, findings }
    }

    pub(crate) fn done(tally: Tally, bytes_in: u64, bytes_out: u64) -> Self {
        let status = match () {
            () if tally.binary => Status::Skipped,
            () if tally.counts.is_empty() => Status::Clean,
            () => Status::Found,
        };
        let Tally { text, counts, findings, .. } = tally;
        Self { status, error: None, bytes_in, bytes_text: text, bytes_out, counts, findings }
    }
}

/// Processes one file from opening to renaming; `None` when the control said stop, and then nothing was written.
/// Depends on nothing but its arguments: the same input gives the same output and report on any thread.
pub fn process(batch: &Batch, job: &Job, control: Control<'_>) -> Option<Report> {
    let report = match attempt(batch, job, control) {
        Ok(report) => report,
        Err(Error::Stopped) => return None,
        Err(error) => Report::failed(error),
    };
    control.progress.add_file();
    Some(report)
}

fn attempt(batch: &Batch, job: &Job, control: Control<'_>) -> Result<Report, Error> {
    let (file, before) = open(&job.input, job.action == Action::Replace)?;
    let pump = Pump {
        redactor: &batch.redactor,
        format: batch.format,
        details: batch.details,
        eager: false,
        control,
    };
    match &job.action {
        Action::Scan => drain(&pump, file),
        Action::Print => stream(&pump, file, stdout().map_err(Error::Write)?),
        Action::Write(target) if is_same(target, &before) => {
            Err(Error::Refused("the output is the input itself; ask for rewriting in place to do that"))
        }
        Action::Write(target) => rewrite(&pump, file, &before, target, false),
        Action::Replace => rewrite(&pump, file, &before, &job.input, true),
    }
}

/// From an open file to a whole new one at `target`.
fn rewrite(
    pump: &Pump<'_>,
    file: File,
    before: &Metadata,
    target: &Path,
    in_place: bool,
) -> Result<Report, Error> {
    let mut source = Source::new(file, pump.control);
    let (codec, mut decoder) = Decoder::open(&mut source).map_err(|e| Error::read(e, pump.control))?;
    let mut encoder = Encoder::new(codec, AtomicFile::create(target)?).map_err(Error::write)?;
    let tally = pump.run(&mut decoder, &mut encoder)?;
    drop(decoder);
    if tally.binary || (in_place && tally.counts.is_empty()) {
        return Ok(Report::done(tally, source.bytes, 0));
    }
    let output = encoder.finish().map_err(Error::write)?;
    if in_place && !(is_same(target, before) && is_unchanged(target, before)) {
        return Err(Error::Refused("the file changed while it was read; it was left as it is"));
    }
    let bytes_out = output.commit(before).map_err(Error::write)?;
    Ok(Report::done(tally, source.bytes, bytes_out))
}

/// Opens a regular file for reading. The checks are made on the open file: the name may mean something else by now.
pub(crate) fn open(path: &Path, in_place: bool) -> Result<(File, Metadata), Error> {
    if in_place && std::fs::symlink_metadata(path).map_err(Error::Read)?.is_symlink() {
        return Err(Error::Refused("a symbolic link is not rewritten in place; name the file it points to"));
    }
    let mut options = OpenOptions::new();
    options.read(true);
    // Opening a FIFO would wait for its writer.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        rustix::fs::OFlags::NONBLOCK.bits().cast_signed(),
    );
    let file = options.open(path).map_err(Error::Read)?;
    let metadata = file.metadata().map_err(Error::Read)?;
    if metadata.is_dir() {
        return Err(Error::Refused("is a directory"));
    }
    if !metadata.is_file() {
        return Err(Error::Refused("is not a regular file; pipe it in and use -"));
    }
    #[cfg(unix)]
    if in_place && std::os::unix::fs::MetadataExt::nlink(&metadata) > 1 {
        return Err(Error::Refused(
            "has other hard links, which would keep the original; not rewritten in place",
        ));
    }
    Ok((file, metadata))
}

/// Whether `path` is the file that `metadata` was read from.
fn is_same(path: &Path, metadata: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata(path).is_ok_and(|m| (m.dev(), m.ino()) == (metadata.dev(), metadata.ino()))
    }
    #[cfg(not(unix))]
    {
        let id = |m: &Metadata| (m.created().ok(), m.modified().ok(), m.len());
        std::fs::metadata(path).is_ok_and(|m| id(&m) == id(metadata))
    }
}

/// Whether nobody wrote to the file since `before`: what a program appends after our last read would be lost.
fn is_unchanged(path: &Path, before: &Metadata) -> bool {
    std::fs::metadata(path)
        .is_ok_and(|now| now.len() == before.len() && now.modified().ok() == before.modified().ok())
}
