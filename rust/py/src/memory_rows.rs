//! Memories as Python has them.

use ctxproto_memory::{Hit, Moment, Record};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

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

/// What a search found, for as long as nobody asks for more than most do.
#[pyclass(frozen, module = "ctxproto._core")]
pub(crate) struct Found(Hit);

#[pymethods]
impl Found {
    /// The whole memory.
    fn row(&self) -> Row {
        self.0.record.clone().into()
    }

    /// What its score was made of.
    fn components<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let Hit { record, bm25, lexical, cosine, semantic, relevance, recency, .. } = &self.0;
        let parts = PyDict::new(py);
        parts.set_item("bm25", bm25)?;
        parts.set_item("lexical", lexical)?;
        parts.set_item("cosine", cosine)?;
        parts.set_item("semantic", semantic)?;
        parts.set_item("relevance", relevance)?;
        parts.set_item("recency", recency)?;
        parts.set_item("importance", record.importance)?;
        Ok(parts)
    }
}

/// The attributes of a `MemoryHit`, made here at once: most of the time that a search takes in Python would go to them.
/// Its namespace is the key.
pub(crate) fn attributes(py: Python<'_>, hit: Hit) -> PyResult<Bound<'_, PyDict>> {
    let fields = PyDict::new(py);
    fields.set_item(intern!(py, "content"), &hit.record.content)?;
    fields.set_item(intern!(py, "relevance_score"), hit.score)?;
    fields.set_item(intern!(py, "namespace"), PyBytes::new(py, &hit.record.namespace))?;
    fields.set_item(intern!(py, "memory_id"), &hit.record.id)?;
    fields.set_item(intern!(py, "bm25"), hit.bm25)?;
    fields.set_item(intern!(py, "_found"), Found(hit))?;
    Ok(fields)
}
