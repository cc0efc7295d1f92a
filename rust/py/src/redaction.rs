//! What Python sees of a result: `Redaction`, `Finding`, `Rule`. None of them ever holds a value that was found.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use ctxproto_redact::Finding as Found;
use ctxproto_redact::detect::RuleInfo;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString, PyTuple, PyType};

use crate::errors;

/// A rule of a policy.
#[pyclass(frozen, get_all, eq, hash, module = "ctxproto")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Rule {
    /// Unique within the policy.
    id: String,
    /// What a placeholder shows.
    label: String,
    /// A short description.
    name: String,
    /// The rule file it came from.
    source: String,
    /// Personal data rather than a secret.
    pii: bool,
    /// The shapes, or the parser's name, or the pattern, as written.
    form: Vec<String>,
    /// The context words, of which one must be near, if it needs any.
    near: Vec<String>,
    /// The checksum's name, if it carries one, or None.
    check: Option<String>,
}

impl From<&RuleInfo> for Rule {
    fn from(info: &RuleInfo) -> Self {
        let RuleInfo { id, label, name, source, pii, form, near, check } = info.clone();
        Self { id, label, name, source, pii, form, near, check }
    }
}

#[pymethods]
impl Rule {
    fn __repr__(&self) -> String {
        format!(
            "Rule(id={:?}, label={:?}, pii={})",
            self.id,
            self.label,
            if self.pii { "True" } else { "False" }
        )
    }
}

/// The names of a policy's rules as Python strings, made once and shared by all its findings.
pub(crate) struct Names(Vec<(Py<PyString>, Py<PyString>)>);

impl Names {
    pub(crate) fn new(py: Python<'_>, rules: &[RuleInfo]) -> Self {
        let string = |s: &str| PyString::new(py, s).unbind();
        Self(rules.iter().map(|rule| (string(&rule.id), string(&rule.label))).collect())
    }

    pub(crate) fn id<'py>(&self, py: Python<'py>, rule: u16) -> &Bound<'py, PyString> {
        self.0[usize::from(rule)].0.bind(py)
    }
}

/// One place where something was found, without its value.
#[pyclass(frozen, module = "ctxproto")]
pub(crate) struct Finding {
    /// Id of the rule that found it.
    #[pyo3(get)]
    rule: Py<PyString>,
    /// What its placeholder shows.
    #[pyo3(get)]
    label: Py<PyString>,
    /// Where it begins in the text that was given: characters for str, bytes for bytes.
    #[pyo3(get)]
    start: usize,
    /// Where it ends, exclusive, in the same unit.
    #[pyo3(get)]
    end: usize,
    /// The line it begins in, from 1.
    #[pyo3(get)]
    line: usize,
    /// The column it begins in, from 1, in characters.
    #[pyo3(get)]
    column: usize,
    /// Where it stands in a JSON document, such as `messages[2].content`, or None.
    #[pyo3(get)]
    key_path: Option<String>,
    fingerprint: Fingerprint,
}

/// A keyed HMAC, written out when somebody asks; or what a caller gave in its place.
enum Fingerprint {
    Digest([u8; 8]),
    Given(String),
}

impl Fingerprint {
    fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Digest(digest) => Cow::Owned(hex(digest)),
            Self::Given(text) => Cow::Borrowed(text),
        }
    }
}

type Fields<'a, 'py> = (
    &'a Bound<'py, PyString>,
    &'a Bound<'py, PyString>,
    usize,
    usize,
    usize,
    usize,
    Option<&'a str>,
    &'a str,
);

impl Finding {
    fn new(py: Python<'_>, names: &Names, found: &Found) -> Self {
        let (rule, label) = &names.0[usize::from(found.rule)];
        Self {
            rule: rule.clone_ref(py),
            label: label.clone_ref(py),
            start: found.start,
            end: found.end,
            line: found.line,
            column: found.column,
            key_path: found.key_path.clone(),
            fingerprint: Fingerprint::Digest(found.fingerprint),
        }
    }

    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let Self { rule, label, start, end, line, column, key_path, fingerprint } = self;
        let fields: Fields<'_, 'py> = (
            rule.bind(py),
            label.bind(py),
            *start,
            *end,
            *line,
            *column,
            key_path.as_deref(),
            &fingerprint.text(),
        );
        fields.into_pyobject(py)
    }
}

/// A field of a finding that is text.
fn string<'py>(name: &str, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyString>> {
    match value.cast::<PyString>() {
        // The error of the conversion itself would carry the text.
        Ok(text) if text.to_str().is_ok() => Ok(text.clone()),
        text => Err(errors::argument(name, "a str without lone surrogates", value, text.is_ok())),
    }
}

/// A field of a finding that counts.
fn number(name: &str, value: &Bound<'_, PyAny>) -> PyResult<usize> {
    let is_int = value.is_instance_of::<PyInt>();
    let number = is_int.then(|| value.extract::<usize>().ok()).flatten();
    number.ok_or_else(|| errors::argument(name, "a whole number from 0 on", value, is_int))
}

#[pymethods]
impl Finding {
    #[new]
    #[pyo3(
        signature = (rule, label, start, end, line=None, column=None, key_path=None, fingerprint=None),
        text_signature = "(rule, label, start, end, line=1, column=1, key_path=None, fingerprint='')"
    )]
    #[expect(clippy::too_many_arguments, reason = "one for each field")]
    fn py_new(
        rule: &Bound<'_, PyAny>,
        label: &Bound<'_, PyAny>,
        start: &Bound<'_, PyAny>,
        end: &Bound<'_, PyAny>,
        line: Option<&Bound<'_, PyAny>>,
        column: Option<&Bound<'_, PyAny>>,
        key_path: Option<&Bound<'_, PyAny>>,
        fingerprint: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let text = |name, value| string(name, value)?.extract::<String>();
        Ok(Self {
            rule: string("rule", rule)?.unbind(),
            label: string("label", label)?.unbind(),
            start: number("start", start)?,
            end: number("end", end)?,
            line: line.map_or(Ok(1), |value| number("line", value))?,
            column: column.map_or(Ok(1), |value| number("column", value))?,
            key_path: key_path.map(|value| text("key_path", value)).transpose()?,
            fingerprint: Fingerprint::Given(
                fingerprint.map_or(Ok(String::new()), |value| text("fingerprint", value))?,
            ),
        })
    }

    /// A keyed HMAC of the value, 16 hex digits: equal for equal values under one key.
    #[getter]
    fn fingerprint(&self) -> Cow<'_, str> {
        self.fingerprint.text()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let Self { start, end, line, column, .. } = self;
        let fingerprint = self.fingerprint.text();
        let (rule, label) = (self.rule.bind(py).repr()?, self.label.bind(py).repr()?);
        let key_path = self.key_path.as_deref().into_pyobject(py)?.repr()?;
        Ok(format!(
            "Finding(rule={rule}, label={label}, start={start}, end={end}, line={line}, column={column}, \
             key_path={key_path}, fingerprint='{fingerprint}')"
        ))
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        match other.cast_exact::<Self>() {
            Ok(other) => Ok(self
                .fields(py)?
                .eq(other.get().fields(py)?)?
                .into_pyobject(py)?
                .to_owned()
                .into_any()
                .unbind()),
            Err(_) => Ok(py.NotImplemented()),
        }
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        self.fields(py)?.hash()
    }

    /// Findings travel between processes: they hold nothing secret.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyType>, Bound<'py, PyTuple>)> {
        Ok((py.get_type::<Self>(), self.fields(py)?))
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |n: u8| char::from(b"0123456789abcdef"[usize::from(n)]);
    bytes.iter().flat_map(|b| [digit(b >> 4), digit(b & 15)]).collect()
}

/// The Python objects for `found`, in order.
pub(crate) fn findings<'py>(
    py: Python<'py>,
    names: &Names,
    found: &[Found],
) -> PyResult<Bound<'py, PyTuple>> {
    let objects = found.iter().map(|one| Bound::new(py, Finding::new(py, names, one)));
    PyTuple::new(py, objects.collect::<PyResult<Vec<_>>>()?)
}

/// What was given, with its findings replaced.
#[pyclass(frozen, generic, module = "ctxproto")]
pub(crate) struct Redaction {
    text: Py<PyAny>,
    findings: OnceLock<Py<PyTuple>>,
    /// What `findings` is made from when somebody asks: most callers want the text alone.
    found: Vec<Found>,
    names: Arc<Names>,
}

impl Redaction {
    pub(crate) fn new(text: Bound<'_, PyAny>, found: Vec<Found>, names: &Arc<Names>) -> Self {
        Self { text: text.unbind(), findings: OnceLock::new(), found, names: Arc::clone(names) }
    }
}

#[pymethods]
impl Redaction {
    /// The new text: str for str, bytes for bytes and other buffers; the very same object when nothing was found.
    #[getter]
    fn text<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        self.text.bind(py)
    }

    /// The same as `text`, under the name that fits what `redact_json` returns.
    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        self.text.bind(py)
    }

    /// What was replaced, in order: a tuple of `Finding`.
    #[getter]
    fn findings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        if self.found.is_empty() {
            return Ok(PyTuple::empty(py));
        }
        let made = if let Some(made) = self.findings.get() {
            made
        } else {
            // Made outside of the lock: what makes objects may let other threads, and forks, come in between.
            let made = findings(py, &self.names, &self.found)?.unbind();
            self.findings.get_or_init(|| made)
        };
        Ok(made.bind(py).clone())
    }

    /// Whether anything was found.
    #[getter]
    fn changed(&self) -> bool {
        !self.found.is_empty()
    }

    fn __repr__(&self) -> String {
        let count = self.found.len();
        format!("<Redaction: {count} finding{}>", if count == 1 { "" } else { "s" })
    }
}
