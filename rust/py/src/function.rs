//! A function of Python's that counts tokens, where an encoding could.

use std::cell::RefCell;

use ctxproto_trim::Count;
use pyo3::prelude::*;

thread_local! {
    /// What the function raised in this call: the work between knows nothing of exceptions.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Takes a str, returns its tokens. What is asked of it must be [`settled`].
pub(crate) struct Function(pub(crate) Py<PyAny>);

impl Function {
    fn ask(&self, text: &[u8]) -> PyResult<usize> {
        Python::attach(|py| self.0.call1(py, (String::from_utf8_lossy(text),))?.extract(py))
    }

    /// The furthest of the places from `from` to `to` that `fits` holds for, by bisection: more text is taken to have
    /// more tokens. `from` is taken to fit.
    fn furthest(from: usize, to: usize, fits: impl Fn(usize) -> bool) -> usize {
        let (mut low, mut step) = (from, FIRST);
        let mut high = loop {
            let next = low.saturating_add(step).min(to);
            if !fits(next) {
                break next;
            }
            if next == to {
                return to;
            }
            (low, step) = (next, step * 2);
        };
        while high - low > 1 {
            let middle = usize::midpoint(low, high);
            if fits(middle) { low = middle } else { high = middle }
        }
        low
    }
}

/// Bytes that are tried first.
const FIRST: usize = 1024;

impl Count for Function {
    /// 0 once the function has raised: what is made of that is thrown away.
    fn count(&self, text: &[u8]) -> usize {
        if RAISED.with_borrow(Option::is_some) {
            return 0;
        }
        self.ask(text).unwrap_or_else(|error| {
            RAISED.set(Some(error));
            0
        })
    }

    fn limit(&self, text: &[u8], most: usize) -> usize {
        let whole = |at: usize| (0..=at).rev().find(|&at| is_boundary(text, at)).unwrap_or(0);
        whole(Self::furthest(0, text.len(), |at| self.count(&text[..whole(at)]) <= most))
    }

    fn limit_back(&self, text: &[u8], most: usize) -> usize {
        let whole = |len: usize| {
            (text.len() - len..text.len()).find(|&at| is_boundary(text, at)).unwrap_or(text.len())
        };
        whole(Self::furthest(0, text.len(), |len| self.count(&text[whole(len)..]) <= most))
    }
}

/// Whether no character goes on at `at`.
fn is_boundary(text: &[u8], at: usize) -> bool {
    text.get(at).is_none_or(|byte| byte & 0xC0 != 0x80)
}

/// Runs what may ask a [`Function`]; what that raised goes before what came of it.
pub(crate) fn settled<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    RAISED.set(None);
    let outcome = work();
    match RAISED.take() {
        Some(error) => Err(error),
        None => outcome,
    }
}
