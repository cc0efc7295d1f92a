//! Fields of JSON.

use ctxproto_trim::{Fields, Lookup as Engine};
use pyo3::prelude::*;

use crate::text::{Text, output};
use crate::{enter, trim};

/// A JSON text to take fields out of; `ctxproto.tasks` decides what they are for.
#[pyclass(frozen, module = "ctxproto._core")]
pub(crate) struct Lookup(Engine);

/// The values as they are written, whether the path stands for all of them, and where the first one stands.
type Found<'py> = (Vec<Bound<'py, PyAny>>, bool, String);

#[pymethods]
impl Lookup {
    /// The text (str or bytes) read; None if it is no JSON.
    #[staticmethod]
    fn read(text: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let py = text.py();
        let text = Text::of(text, "read()")?;
        let bytes = text.bytes();
        Ok(enter::detached(py, || Engine::new(bytes.to_vec()))?.map(Self))
    }

    /// What each path leads to, None where it leads nowhere.
    fn find<'py>(&self, py: Python<'py>, paths: Vec<String>) -> PyResult<Vec<Option<Found<'py>>>> {
        let fields = trim::each("field_names", paths, Fields::new, |one| Fields::new([one]))?;
        let found = enter::detached(py, || self.0.find(&fields))?;
        let each = found.into_iter().map(|found| {
            let Some(found) = found else { return Ok(None) };
            let values = found.values.iter().map(|value| output(py, value, true));
            Ok(Some((values.collect::<PyResult<_>>()?, found.many, found.place)))
        });
        each.collect()
    }
}
