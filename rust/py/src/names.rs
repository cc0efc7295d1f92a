//! Names of attributes and keys, made once.

use std::sync::OnceLock;

use pyo3::prelude::*;
use pyo3::types::PyString;

/// A str that is made once. `pyo3::intern` gives the interpreter up while it makes one: a process that is forked off just
/// then would wait for it for ever.
pub(crate) struct Name(&'static str, OnceLock<Py<PyString>>);

impl Name {
    pub(crate) const fn new(text: &'static str) -> Self {
        Self(text, OnceLock::new())
    }

    #[inline]
    pub(crate) fn get<'py>(&self, py: Python<'py>) -> &Bound<'py, PyString> {
        // Nothing here gives the interpreter up, so that no other thread can fork or wait meanwhile.
        self.1.get_or_init(|| PyString::intern(py, self.0).unbind()).bind(py)
    }
}

/// The name, a str of the interpreter's.
macro_rules! name {
    ($py: expr, $text: expr) => {{
        static NAME: crate::names::Name = crate::names::Name::new($text);
        NAME.get($py)
    }};
}

pub(crate) use name;
