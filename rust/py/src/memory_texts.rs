//! What is said of the texts of memories, wherever they are kept.

use ctxproto_memory::Judgement;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;

use crate::enter;

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

/// The words of a text as searches compare them, each once.
#[pyfunction]
pub(crate) fn memory_words(py: Python<'_>, text: &str) -> PyResult<Vec<String>> {
    enter::detached(py, || {
        let mut words = ctxproto_memory::words(text);
        words.sort_unstable();
        words.dedup();
        words
    })
}

/// Those that a query asks for.
#[pyfunction]
pub(crate) fn query_words(py: Python<'_>, query: &str) -> PyResult<Vec<String>> {
    enter::detached(py, || ctxproto_memory::query_words(query))
}

/// How long a text is for the write gate.
#[pyfunction]
pub(crate) fn judged_length(text: &str) -> PyResult<usize> {
    enter::attached(|| ctxproto_memory::length(text))
}
