//! The store of memories.

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use ctxproto_memory::{Change, Error, Filter, Judgement, Moment, Record, Scope, Stats, Store, at_work};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;

use crate::{enter, errors};

/// How often a call that waits for another writer tries again, beside the wait of the store itself.
const AGAIN: Duration = Duration::from_millis(2);

/// A memory as a dict.
#[derive(FromPyObject, IntoPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Row {
    id: String,
    namespace: Vec<u8>,
    content: String,
    kind: String,
    purpose: String,
    importance: f64,
    provenance: String,
    created: Moment,
    valid_from: Moment,
    valid_to: Option<Moment>,
    supersedes: Option<String>,
    superseded_by: Option<String>,
    expires: Option<Moment>,
    metadata: String,
}

macro_rules! same_fields {
    ($from:ty => $to:ident) => {
        impl From<$from> for $to {
            fn from(r: $from) -> Self {
                Self {
                    id: r.id,
                    namespace: r.namespace,
                    content: r.content,
                    kind: r.kind,
                    purpose: r.purpose,
                    importance: r.importance,
                    provenance: r.provenance,
                    created: r.created,
                    valid_from: r.valid_from,
                    valid_to: r.valid_to,
                    supersedes: r.supersedes,
                    superseded_by: r.superseded_by,
                    expires: r.expires,
                    metadata: r.metadata,
                }
            }
        }
    };
}
same_fields!(Row => Record);
same_fields!(Record => Row);

/// A store; `ctxproto.memory.store` has validated the arguments. A scope is a key and whether all below it is in.
#[pyclass(frozen, module = "ctxproto._core")]
pub(crate) struct Records {
    store: Store,
    /// How long a call waits for other processes.
    wait: Duration,
}

#[pymethods]
impl Records {
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "as PyO3 gives it")]
    fn py_new(py: Python<'_>, path: Option<PathBuf>, wait: f64) -> PyResult<Self> {
        let wait = Duration::try_from_secs_f64(wait).unwrap_or_default();
        let store = patient(py, wait, || Store::open(path.as_deref()))?;
        Ok(Self { store, wait })
    }

    fn insert(&self, py: Python<'_>, rows: Vec<Row>) -> PyResult<()> {
        let records: Vec<Record> = rows.into_iter().map(Record::from).collect();
        self.call(py, |store| store.insert(&records))
    }

    fn get(&self, py: Python<'_>, key: Vec<u8>, below: bool, id: &str, now: Moment) -> PyResult<Option<Row>> {
        let scope = Scope { key, below };
        Ok(self.call(py, |store| store.get(&scope, id, now))?.map(Row::from))
    }

    #[pyo3(signature = (key, below, id, now, *, content, kind, purpose, importance, valid_to, expires, metadata))]
    #[expect(clippy::too_many_arguments, reason = "the fields of a change")]
    fn update(
        &self,
        py: Python<'_>,
        key: Vec<u8>,
        below: bool,
        id: &str,
        now: Moment,
        content: Option<String>,
        kind: Option<String>,
        purpose: Option<String>,
        importance: Option<f64>,
        valid_to: Option<(Option<Moment>,)>,
        expires: Option<(Option<Moment>,)>,
        metadata: Option<String>,
    ) -> PyResult<Row> {
        let scope = Scope { key, below };
        let (valid_to, expires) = (valid_to.map(|new| new.0), expires.map(|new| new.0));
        let change = Change { content, kind, purpose, importance, valid_to, expires, metadata };
        Ok(self.call(py, |store| store.update(&scope, id, change.clone(), now))?.into())
    }

    fn supersede(
        &self,
        py: Python<'_>,
        key: Vec<u8>,
        below: bool,
        id: &str,
        row: Row,
        now: Moment,
    ) -> PyResult<Row> {
        let (scope, new) = (Scope { key, below }, Record::from(row));
        Ok(self.call(py, |store| store.supersede(&scope, id, new.clone(), now))?.into())
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of a filter")]
    fn list(
        &self,
        py: Python<'_>,
        key: Vec<u8>,
        below: bool,
        now: Moment,
        at: Option<Moment>,
        kind: Option<String>,
        limit: Option<usize>,
    ) -> PyResult<Vec<Row>> {
        let (scope, filter) = (Scope { key, below }, Filter { now, at, kind, limit });
        Ok(self.call(py, |store| store.list(&scope, &filter))?.into_iter().map(Row::from).collect())
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of a filter")]
    fn search(
        &self,
        py: Python<'_>,
        key: Vec<u8>,
        below: bool,
        query: &str,
        now: Moment,
        at: Option<Moment>,
        kind: Option<String>,
        limit: Option<usize>,
    ) -> PyResult<Vec<(Row, f64, f64)>> {
        let (scope, filter) = (Scope { key, below }, Filter { now, at, kind, limit });
        let hits = self.call(py, |store| store.search(&scope, query, &filter))?;
        Ok(hits.into_iter().map(|hit| (hit.record.into(), hit.relevance, hit.bm25)).collect())
    }

    fn delete(&self, py: Python<'_>, key: Vec<u8>, below: bool, id: &str) -> PyResult<bool> {
        let scope = Scope { key, below };
        self.call(py, |store| store.delete(&scope, id))
    }

    fn forget(&self, py: Python<'_>, key: Vec<u8>, below: bool) -> PyResult<usize> {
        let scope = Scope { key, below };
        self.call(py, |store| store.forget(&scope))
    }

    fn sweep(&self, py: Python<'_>, now: Moment) -> PyResult<usize> {
        self.call(py, |store| store.sweep(now))
    }

    /// Removes what the files still hold of what was deleted; `all`, also of what stood beside something else.
    fn purge(&self, py: Python<'_>, all: bool) -> PyResult<()> {
        // Two steps, for the second may have to wait, and the first is long.
        if all {
            self.call(py, Store::rewrite)?;
        }
        self.call(py, Store::empty_log)
    }

    fn namespaces(&self, py: Python<'_>, key: Vec<u8>, below: bool, now: Moment) -> PyResult<Vec<Vec<u8>>> {
        let scope = Scope { key, below };
        self.call(py, |store| store.namespaces(&scope, now))
    }

    /// (current, past, expired, namespaces, bytes)
    fn stats(
        &self,
        py: Python<'_>,
        key: Vec<u8>,
        below: bool,
        now: Moment,
    ) -> PyResult<(i64, i64, i64, i64, i64)> {
        let scope = Scope { key, below };
        let Stats { current, past, expired, namespaces, bytes } =
            self.call(py, |store| store.stats(&scope, now))?;
        Ok((current, past, expired, namespaces, bytes))
    }

    fn check(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, Store::check)
    }
}

impl Records {
    fn call<T: Send>(&self, py: Python<'_>, work: impl Fn(&Store) -> Result<T, Error> + Sync) -> PyResult<T> {
        patient(py, self.wait, || work(&self.store))
    }
}

/// Judges what is to be remembered: the rule that decides, the share of letters where that is it, and the place in
/// `existing` of what it repeats.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "as PyO3 gives it")]
pub(crate) fn judge(
    py: Python<'_>,
    text: &str,
    seen: Vec<PyBackedStr>,
    existing: Vec<PyBackedStr>,
) -> PyResult<(&'static str, Option<f64>, Option<usize>)> {
    let (seen, existing): (Vec<&str>, Vec<&str>) =
        (seen.iter().map(|one| &**one).collect(), existing.iter().map(|one| &**one).collect());
    Ok(match enter::detached(py, || ctxproto_memory::judge(text, &seen, &existing))? {
        Judgement::Fine => ("accepted", None, None),
        Judgement::LowDensity(letters) => ("low_density", Some(letters), None),
        Judgement::RawLog => ("raw_log", None, None),
        Judgement::Reasoning => ("reasoning", None, None),
        Judgement::Chatter => ("chatter", None, None),
        Judgement::Echo => ("echo", None, None),
        Judgement::Duplicate(at) => ("duplicate", None, Some(at)),
        Judgement::Merge(at) => ("merge", None, Some(at)),
    })
}

/// How long a text is for the write gate.
#[pyfunction]
pub(crate) fn judged_length(text: &str) -> PyResult<usize> {
    enter::attached(|| ctxproto_memory::length(text))
}

/// Closes the files of all stores and holds every call back, until `after_fork`.
#[pyfunction]
pub(crate) fn before_fork(py: Python<'_>) -> PyResult<()> {
    // Given up, for the calls that are waited for need it to end.
    enter::detached(py, ctxproto_memory::before_fork)
}

/// Lets calls go on.
#[pyfunction]
pub(crate) fn after_fork() -> PyResult<()> {
    enter::attached(ctxproto_memory::after_fork)
}

/// Tries again while another process writes, and looks for Ctrl-C in between. What was busy did nothing.
fn patient<T: Send>(
    py: Python<'_>,
    wait: Duration,
    work: impl Fn() -> Result<T, Error> + Sync,
) -> PyResult<T> {
    let begin = Instant::now();
    loop {
        match enter::detached(py, || at_work(&work))? {
            Err(Error::Busy) if begin.elapsed() < wait => {
                py.check_signals()?;
                enter::detached(py, || thread::sleep(AGAIN))?;
            }
            done => return done.map_err(|error| told(&error)),
        }
    }
}

fn told(error: &Error) -> PyErr {
    match error {
        Error::Missing | Error::Superseded | Error::Exists => errors::memory_id(error.to_string()),
        Error::Never => errors::config(error.to_string()),
        _ => errors::store(error.to_string()),
    }
}
