//! The store of memories.

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use ctxproto_memory::{
    Change, Changes, Error, Filter, GoOn, Model, Moment, Query, Record, Scope, Stats, Store, Vectors,
    at_work, background, pool,
};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::enter::{self, Stopped};
use crate::errors;
use crate::memory_rows::{self, Row, attributes};
use crate::numbers::Rows;

/// How often a call that waits for another writer tries again, beside the wait of the store itself.
const AGAIN: Duration = Duration::from_millis(2);

/// How long a search may read before it goes on on a thread of its own.
const SOON: Duration = Duration::from_millis(20);

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

    #[pyo3(signature = (rows, embedded=None))]
    fn insert(
        &self,
        py: Python<'_>,
        rows: Vec<Row>,
        embedded: Option<(String, Bound<'_, PyAny>)>,
    ) -> PyResult<()> {
        let records: Vec<Record> = rows.into_iter().map(Record::from).collect();
        let Some((model, vectors)) = embedded else {
            return self.call(py, |store| store.insert(&records));
        };
        let Rows { numbers, dims, .. } = Rows::read("embedder", &vectors, records.len())?;
        let vectors = Vectors { model: &model, dims, numbers: &numbers };
        self.call(py, |store| store.insert_embedded(&records, &vectors))
    }

    /// Texts are pairs of an id and a content.
    #[expect(clippy::needless_pass_by_value, reason = "as PyO3 gives it")]
    fn embed(
        &self,
        py: Python<'_>,
        texts: Vec<(String, String)>,
        model: &str,
        vectors: &Bound<'_, PyAny>,
    ) -> PyResult<usize> {
        let Rows { numbers, dims, .. } = Rows::read("embedder", vectors, texts.len())?;
        let vectors = Vectors { model, dims, numbers: &numbers };
        self.call(py, |store| store.embed(&texts, &vectors))
    }

    fn without_vector(
        &self,
        py: Python<'_>,
        key: Vec<u8>,
        below: bool,
        now: Moment,
        most: usize,
    ) -> PyResult<Vec<(String, String)>> {
        let scope = Scope { key, below };
        self.call(py, |store| store.without_vector(&scope, now, most))
    }

    /// (name, dims, low, high)
    fn model(&self, py: Python<'_>) -> PyResult<Option<(String, usize, f64, f64)>> {
        let told = |Model { name, dims, low, high }| (name, dims, low, high);
        Ok(self.call(py, Store::model)?.map(told))
    }

    /// The model as another store knows it.
    fn take_model(&self, py: Python<'_>, name: String, dims: usize, low: f64, high: f64) -> PyResult<()> {
        let model = Model { name, dims, low, high };
        self.call(py, |store| store.introduce(&model, false))
    }

    /// The model whose vectors these are: of texts that have nothing to do with each other, so many on each side.
    fn introduce(
        &self,
        py: Python<'_>,
        name: String,
        sides: (usize, usize),
        vectors: &Bound<'_, PyAny>,
        replace: bool,
    ) -> PyResult<()> {
        let model = measured(py, name, sides, vectors)?;
        self.call(py, |store| store.introduce(&model, replace))
    }

    /// The same for the model that is known.
    fn calibrate(
        &self,
        py: Python<'_>,
        name: String,
        sides: (usize, usize),
        vectors: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let model = measured(py, name, sides, vectors)?;
        self.call(py, |store| store.calibrate(&model))
    }

    fn get(&self, py: Python<'_>, key: Vec<u8>, below: bool, id: &str, now: Moment) -> PyResult<Option<Row>> {
        let scope = Scope { key, below };
        Ok(self.call(py, |store| store.get(&scope, id, now))?.map(Row::from))
    }

    #[pyo3(signature = (key, below, id, now, embedded, *, content, kind, purpose, importance, valid_to, expires, metadata))]
    #[expect(clippy::too_many_arguments, reason = "the fields of a change")]
    #[expect(clippy::needless_pass_by_value, reason = "as PyO3 gives it")]
    fn update(
        &self,
        py: Python<'_>,
        key: Vec<u8>,
        below: bool,
        id: &str,
        now: Moment,
        embedded: Option<(String, Bound<'_, PyAny>)>,
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
        let rows = one_vector(embedded.as_ref())?;
        let vector = as_vectors(rows.as_ref(), embedded.as_ref());
        Ok(self.call(py, |store| store.update(&scope, id, change.clone(), vector.as_ref(), now))?.into())
    }

    #[expect(clippy::too_many_arguments, reason = "a scope, a memory, a vector and a time")]
    #[expect(clippy::needless_pass_by_value, reason = "as PyO3 gives it")]
    fn supersede(
        &self,
        py: Python<'_>,
        key: Vec<u8>,
        below: bool,
        id: &str,
        row: Row,
        now: Moment,
        embedded: Option<(String, Bound<'_, PyAny>)>,
    ) -> PyResult<Row> {
        let (scope, new) = (Scope { key, below }, Record::from(row));
        let rows = one_vector(embedded.as_ref())?;
        let vector = as_vectors(rows.as_ref(), embedded.as_ref());
        Ok(self.call(py, |store| store.supersede(&scope, id, new.clone(), vector.as_ref(), now))?.into())
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

    #[pyo3(signature = (key, below, query, now, at, kind, limit, *, embedded, near, raw, mmr, recency, half_life, importance, explain))]
    #[expect(clippy::too_many_arguments, reason = "the fields of a filter and of a query")]
    #[expect(clippy::needless_pass_by_value, reason = "as PyO3 gives it")]
    fn search<'py>(
        &self,
        py: Python<'py>,
        key: Vec<u8>,
        below: bool,
        query: &str,
        now: Moment,
        at: Option<Moment>,
        kind: Option<String>,
        limit: Option<usize>,
        embedded: Option<(String, Bound<'_, PyAny>)>,
        near: Vec<i64>,
        raw: bool,
        mmr: f64,
        recency: f64,
        half_life: f64,
        importance: f64,
        explain: bool,
    ) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let (scope, filter) = (Scope { key, below }, Filter { now, at, kind, limit });
        let rows = one_vector(embedded.as_ref())?;
        let vector = as_vectors(rows.as_ref(), embedded.as_ref());
        let query =
            Query { text: query, vector, near: &near, raw, lambda: mmr, recency, half_life, importance };
        let hits = self.read(py, |store, go_on| store.search_while(go_on, &scope, &query, &filter))?;
        hits.into_iter().map(|hit| attributes(py, hit, explain)).collect()
    }

    /// How many memories a scope has.
    fn count(&self, py: Python<'_>, key: Vec<u8>, below: bool) -> PyResult<usize> {
        let scope = Scope { key, below };
        self.call(py, |store| store.count(&scope))
    }

    /// How many candidates a search for so many needs.
    #[staticmethod]
    fn pool(most: usize) -> usize {
        pool(most)
    }

    fn vector_changes<'py>(
        &self,
        py: Python<'py>,
        key: Vec<u8>,
        below: bool,
        since: Option<i64>,
    ) -> PyResult<VectorChanges<'py>> {
        let scope = Scope { key, below };
        let Changes { counter, all, new, rows, gone } =
            self.call(py, |store| store.vector_changes(&scope, since))?;
        let bytes = PyBytes::new_with(py, size_of_val(&*rows), |bytes| {
            for (place, number) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(&rows) {
                *place = number.to_ne_bytes();
            }
            Ok(())
        })?;
        Ok((counter, all, new, bytes, gone))
    }

    /// Numbers in the store, and cosines.
    #[expect(clippy::too_many_arguments, reason = "the fields of a filter")]
    #[expect(clippy::needless_pass_by_value, reason = "as PyO3 gives it")]
    fn nearest(
        &self,
        py: Python<'_>,
        key: Vec<u8>,
        below: bool,
        embedded: (String, Bound<'_, PyAny>),
        near: Vec<i64>,
        now: Moment,
        at: Option<Moment>,
        kind: Option<String>,
        limit: usize,
    ) -> PyResult<Vec<(i64, f32)>> {
        let (scope, filter) = (Scope { key, below }, Filter { now, at, kind, limit: Some(limit) });
        let Rows { numbers, dims, .. } = Rows::read("embedder", &embedded.1, 1)?;
        let vector = Vectors { model: &embedded.0, dims, numbers: &numbers };
        self.call(py, |store| store.nearest(&scope, &vector, &near, &filter))
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

fn measured(
    py: Python<'_>,
    name: String,
    sides: (usize, usize),
    vectors: &Bound<'_, PyAny>,
) -> PyResult<Model> {
    let Rows { numbers, dims, .. } = Rows::read("embedder", vectors, sides.0.saturating_add(sides.1))?;
    let (one, other) = numbers.split_at(sides.0 * dims);
    let (low, high) = enter::detached(py, || background(one, other, dims))?.map_err(|error| told(&error))?;
    Ok(Model { name, dims, low, high })
}

/// What was made of one text.
fn one_vector(embedded: Option<&(String, Bound<'_, PyAny>)>) -> PyResult<Option<Rows>> {
    embedded.map(|(_, vectors)| Rows::read("embedder", vectors, 1)).transpose()
}

fn as_vectors<'v>(
    rows: Option<&'v Rows>,
    embedded: Option<&'v (String, Bound<'_, PyAny>)>,
) -> Option<Vectors<'v>> {
    let (rows, (model, _)) = rows.zip(embedded)?;
    Some(Vectors { model, dims: rows.dims, numbers: &rows.numbers })
}

/// (counter, whether these are all, numbers, their vectors as bytes, numbers that are gone)
type VectorChanges<'py> = (i64, bool, Vec<i64>, Bound<'py, PyBytes>, Vec<i64>);

impl Records {
    fn call<T: Send>(&self, py: Python<'_>, work: impl Fn(&Store) -> Result<T, Error> + Sync) -> PyResult<T> {
        patient(py, self.wait, || work(&self.store))
    }

    /// The same for what may first have to read very much: then on a thread of its own, so that Ctrl-C ends it.
    fn read<T: Send>(
        &self,
        py: Python<'_>,
        work: impl Fn(&Store, GoOn<'_>) -> Result<T, Error> + Sync,
    ) -> PyResult<T> {
        let begin = Instant::now();
        let soon = patient(py, self.wait, || match work(&self.store, &|| begin.elapsed() < SOON) {
            Err(Error::Stopped) => Ok(None),
            done => done.map(Some),
        })?;
        if let Some(done) = soon {
            return Ok(done);
        }
        let later = enter::long(py, |stop| match at_work(|| work(&self.store, &|| stop.check().is_ok())) {
            Err(Error::Stopped) => Err(Stopped),
            done => Ok(done),
        })?;
        match later {
            // What it read stays read: this time it is soon done.
            Err(Error::Busy) => patient(py, self.wait, || work(&self.store, &|| true)),
            done => done.map_err(|error| told(&error)),
        }
    }
}

/// Closes the files of all stores and holds every call of theirs back, and all that is made once, until `after_fork`.
#[pyfunction]
pub(crate) fn before_fork(py: Python<'_>) -> PyResult<()> {
    // Given up, for the calls that are waited for need it to end. They may make values: those are waited for after them.
    enter::detached(py, || {
        ctxproto_memory::before_fork();
        ctxproto_once::before_fork();
    })?;
    errors::ready(py);
    memory_rows::ready(py)
}

/// Lets calls go on.
#[pyfunction]
pub(crate) fn after_fork() -> PyResult<()> {
    enter::attached(|| {
        ctxproto_once::after_fork();
        ctxproto_memory::after_fork();
    })
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
        Error::Model(..) | Error::Vector => errors::model(&error.to_string()),
        _ => errors::store(error.to_string()),
    }
}
