//! `Vault`: values that were replaced, to be put back before a tool runs.

use std::sync::Arc;

use ctxproto_redact::Vault as Engine;
use pyo3::prelude::*;

use crate::enter;
use crate::text::Text;
use crate::walk::{self, Place, Replacement, Visit};

/// Keeps the values that a `Redactor(placeholder=vault)` replaces, in this process only, until it is wiped.
///
/// Its placeholders look like `[GITHUB_TOKEN:V5d41402abc4b2a76]` and can be guessed by nobody; those of other vaults
/// mean nothing to it. A `with` block wipes it at its end.
#[pyclass(frozen, module = "ctxproto")]
pub(crate) struct Vault(pub(crate) Arc<Engine>);

#[pymethods]
impl Vault {
    #[new]
    fn py_new(py: Python<'_>) -> PyResult<Self> {
        let key = py.import("os")?.call_method1("urandom", (32,))?.extract::<[u8; 32]>()?;
        Ok(Self(Arc::new(Engine::new(&key))))
    }

    /// Puts the values back into a str, bytes, or parsed JSON value, wherever its placeholders stand.
    ///
    /// Returns the same object when there are none, and never changes what it was given. Raises `InputError` for
    /// values that are nested too deep or refer to themselves.
    fn restore<'py>(&self, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let new = enter::attached(|| walk::walk(value, &mut Restore(&self.0)))??;
        Ok(new.unwrap_or_else(|| value.clone()))
    }

    /// Forgets all values, overwriting their memory.
    fn wipe(&self) -> PyResult<()> {
        enter::attached(|| self.0.wipe())
    }

    /// How many values it holds.
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// A vault is there even while it is empty.
    #[expect(clippy::unused_self, reason = "the protocol has it")]
    fn __bool__(&self) -> bool {
        true
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __exit__(
        &self,
        _kind: &Bound<'_, PyAny>,
        _error: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.wipe()
    }

    fn __repr__(&self) -> String {
        let count = self.0.len();
        format!("<Vault: {count} value{}>", if count == 1 { "" } else { "s" })
    }
}

struct Restore<'a>(&'a Engine);

impl<'py> Visit<'py> for Restore<'_> {
    fn text(&mut self, text: &Bound<'py, PyAny>, _place: &Place<'_, 'py>) -> Replacement<'py> {
        let py = text.py();
        let text = Text::of(text, "restore()")?;
        let restored = self.0.restore(text.bytes());
        if restored == text.bytes() { Ok(None) } else { text.rewritten(py, &restored).map(Some) }
    }

    fn other(&mut self, _value: &Bound<'py, PyAny>, _place: &Place<'_, 'py>) -> Replacement<'py> {
        Ok(None)
    }
}
