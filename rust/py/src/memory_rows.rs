//! Memories as Python has them.

use crate::names::name;
use ctxproto_memory::{Hit, Moment, Record};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// A memory as a dict.
#[derive(Default, FromPyObject, IntoPyObject)]
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

/// Makes the names of its items, as `errors::ready` looks up exceptions.
pub(crate) fn ready(py: Python<'_>) -> PyResult<()> {
    Row::default().into_pyobject(py)?.extract::<Row>().map(|_| ())
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

/// A memory that a search found, until somebody asks for more of it than most do.
#[pyclass(frozen, module = "ctxproto._core")]
pub(crate) struct Found(Record);

#[pymethods]
impl Found {
    fn row(&self) -> Row {
        self.0.clone().into()
    }
}

/// The attributes of a `MemoryHit`, made here at once: most of the time that a search takes in Python would go to them.
/// Its namespace is the key, and the record is `_found`.
pub(crate) fn attributes(py: Python<'_>, hit: Hit, explain: bool) -> PyResult<Bound<'_, PyDict>> {
    let components = PyDict::new(py);
    if explain {
        components.set_item("bm25", hit.bm25)?;
        components.set_item("lexical", hit.lexical)?;
        components.set_item("cosine", hit.cosine)?;
        components.set_item("semantic", hit.semantic)?;
        components.set_item("relevance", hit.relevance)?;
        components.set_item("recency", hit.recency)?;
        components.set_item("importance", hit.record.importance)?;
    }
    let fields = PyDict::new(py);
    fields.set_item(name!(py, "content"), &hit.record.content)?;
    fields.set_item(name!(py, "relevance_score"), hit.score)?;
    fields.set_item(name!(py, "namespace"), PyBytes::new(py, &hit.record.namespace))?;
    fields.set_item(name!(py, "memory_id"), &hit.record.id)?;
    fields.set_item(name!(py, "bm25"), hit.bm25)?;
    fields.set_item(name!(py, "components"), components)?;
    fields.set_item(name!(py, "_found"), Found(hit.record))?;
    Ok(fields)
}
