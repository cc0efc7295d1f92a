//! Vectors as Python gives them: an array of numbers, or lists of them.

use pyo3::buffer::{Element, PyBuffer};
use pyo3::prelude::*;

use crate::errors;

/// Rows of numbers, all of one length.
pub(crate) struct Rows {
    pub(crate) numbers: Vec<f32>,
    pub(crate) count: usize,
    pub(crate) dims: usize,
}

/// The most numbers that a vector may have.
const DIMS_MAX: usize = 1 << 15;

impl Rows {
    /// `count` vectors, which `what` returned.
    pub(crate) fn read(what: &str, given: &Bound<'_, PyAny>, count: usize) -> PyResult<Self> {
        let read = from_buffer::<f32>(given, |number| number)
            .or_else(|| from_buffer::<f64>(given, |number| number as f32))
            .or_else(|| from_lists(given));
        match read {
            Some(read) if read.count == count && (1..=DIMS_MAX).contains(&read.dims) => Ok(read),
            _ => {
                let takes = format!(
                    "a function that returns {count} vectors here, of 1 to {DIMS_MAX} numbers each and all of one length"
                );
                Err(errors::argument(what, &takes, given, given.try_iter().is_ok()))
            }
        }
    }
}

fn from_buffer<T: Element + Copy>(given: &Bound<'_, PyAny>, number: impl Fn(T) -> f32) -> Option<Rows> {
    let buffer = PyBuffer::<T>::get(given).ok()?;
    let [count, dims] = *buffer.shape() else { return None };
    let numbers = buffer.to_vec(given.py()).ok()?.into_iter().map(number).collect();
    Some(Rows { numbers, count, dims })
}

fn from_lists(given: &Bound<'_, PyAny>) -> Option<Rows> {
    let lists: Vec<Vec<f32>> = given
        .try_iter()
        .ok()?
        .map(|row| row.and_then(|row| row.try_iter()?.map(|number| number?.extract::<f32>()).collect()))
        .collect::<PyResult<_>>()
        .ok()?;
    let dims = lists.first().map_or(0, Vec::len);
    let same = lists.iter().all(|row| row.len() == dims);
    same.then(|| Rows { count: lists.len(), dims, numbers: lists.concat() })
}
