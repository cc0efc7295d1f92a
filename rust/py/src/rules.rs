//! Rules that test themselves.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::enter;
use crate::errors;
use crate::redactor::Redactor;

/// Tests each rule of a redactor against examples and near misses generated from its shapes.
///
/// Returns the id of each rule that failed, with the reason.
#[pyfunction]
pub(crate) fn rules_test(py: Python<'_>, redactor: &Bound<'_, Redactor>) -> PyResult<Vec<(String, String)>> {
    let detector = redactor.get().engine.detector();
    enter::long(py, |stop| {
        let mut failed = vec![];
        for (rule, info) in (0..).zip(detector.rules()) {
            stop.check()?;
            if let Err(reason) = detector.self_test(rule) {
                failed.push((info.id.clone(), reason));
            }
        }
        Ok(failed)
    })
}

/// A made-up token of a rule, the same for the same seed; None for rules that are not described by a shape.
#[pyfunction]
pub(crate) fn _rule_example<'py>(
    py: Python<'py>,
    redactor: &Bound<'py, Redactor>,
    rule: &str,
    seed: u64,
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let detector = redactor.get().engine.detector();
    let Some((number, _)) = (0..).zip(detector.rules()).find(|(_, info)| info.id == rule) else {
        return Err(errors::input("there is no rule of that id".into()));
    };
    Ok(enter::attached(|| detector.example(number, seed))?.map(|token| PyBytes::new(py, &token)))
}
