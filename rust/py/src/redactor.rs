//! `Redactor`: a compiled policy, and the ways into it.

use std::sync::Arc;

use ctxproto_redact::detect::{Allow, Detector, Pii, Policy};
use ctxproto_redact::{
    Clean, Finding, Format, Options, Placeholder, Redaction as Redacted, Redactor as Engine,
};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::enter::{self, Stop, Stopped};
use crate::redaction::{self, Names, Redaction, Rule};
use crate::stream::Stream;
use crate::text::{self, Text};
use crate::vault::Vault;
use crate::{errors, json, refusal};

/// Up to here a scan takes less than giving up the interpreter may cost (see [`enter`]).
pub(crate) const ATTACHED_MAX: usize = 16 << 10;

/// Work between two looks at [`Stop`]: 20 ms at the worst rate we know, 50 MB/s.
pub(crate) const SLICE: usize = 1 << 20;

/// A batch of less than this is done before the pool has woken up.
const POOL_MIN: usize = 32 << 10;

/// A policy and a placeholder style, ready to rewrite text. Immutable, shared by threads.
#[pyclass(frozen, subclass, module = "ctxproto._core")]
pub(crate) struct Redactor {
    pub(crate) engine: Arc<Engine>,
    pub(crate) names: Arc<Names>,
    /// What of the values that `redact_json` was given was clean: most of a conversation comes again with the next call.
    clean: Clean,
    vault: Option<Py<Vault>>,
    warnings: Vec<String>,
}

#[pymethods]
impl Redactor {
    /// Compiles a policy; `ctxproto.Redactor` has validated the arguments.
    #[new]
    #[pyo3(signature = (*, builtin, rule_files, pii, allow, known_values, placeholder, vault, key))]
    #[expect(clippy::too_many_arguments, reason = "one for each part of a policy")]
    fn py_new(
        py: Python<'_>,
        builtin: bool,
        rule_files: Vec<(String, String)>,
        pii: Selection,
        allow: AllowFields,
        known_values: Vec<(String, Vec<u8>)>,
        placeholder: &str,
        vault: Option<Bound<'_, Vault>>,
        key: [u8; 32],
    ) -> PyResult<Self> {
        let (values, patterns, rules, keys, inline) = allow;
        let policy = Policy {
            no_builtin: !builtin,
            rule_files,
            pii: pii.into(),
            allow: Allow { values, patterns, rules, keys, inline },
            known_values,
        };
        let placeholder = match placeholder {
            "label" => Placeholder::Label,
            "mask" => Placeholder::Mask,
            "partial" => Placeholder::Partial,
            "hash" => Placeholder::Hash,
            _ => match &vault {
                Some(vault) => Placeholder::Vault(Arc::clone(&vault.get().0)),
                None => return Err(errors::input("there is no placeholder style of that name".into())),
            },
        };
        let detector = enter::detached(py, || Detector::with_files(&policy, &read))?
            .map_err(|error| errors::rule(refusal::explain(&policy, &read, &error)))?;
        let warnings = detector.warnings().iter().map(|sentence| refusal::clean(sentence)).collect();
        let names = Arc::new(Names::new(py, detector.rules()));
        let engine = Arc::new(Engine::new(Arc::new(detector), Options { placeholder, key }));
        Ok(Self { engine, names, clean: Clean::default(), vault: vault.map(Bound::unbind), warnings })
    }

    /// Replaces what must not be seen in `text` (str, bytes or another buffer of bytes).
    ///
    /// `format` forces how the text is read: "text", "json", "jsonl", or "auto", which looks at its beginning.
    /// The result's text is the same object when nothing was found. Content never makes it fail: invalid UTF-8, lone
    /// surrogates and broken JSON are scanned as they are. Raises `InputTypeError` for other types.
    #[pyo3(signature = (text, *, format=Format::Auto), text_signature = "($self, text, *, format='auto')")]
    fn redact(
        &self,
        text: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = text::format)] format: Format,
    ) -> PyResult<Redaction> {
        let py = text.py();
        let text = Text::of(text, "redact()")?;
        let redacted = redact(py, &self.engine, text.bytes(), format)?;
        self.result(py, &text, redacted)
    }

    /// Finds what `redact` would replace: a tuple of `Finding`, in order, none overlapping another.
    #[pyo3(signature = (text, *, format=Format::Auto), text_signature = "($self, text, *, format='auto')")]
    fn scan<'py>(
        &self,
        text: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = text::format)] format: Format,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let py = text.py();
        let text = Text::of(text, "scan()")?;
        let mut found = scan(py, &self.engine, text.bytes(), format)?;
        text.place(&mut found)?;
        redaction::findings(py, &self.names, &found)
    }

    /// Redacts many texts at once, on all CPUs: a list of `Redaction` in the order of `texts`.
    ///
    /// The same as `[redactor.redact(text) for text in texts]`, str and bytes mixed as they may be, but faster.
    #[pyo3(signature = (texts, *, format=Format::Auto), text_signature = "($self, texts, *, format='auto')")]
    fn redact_many<'py>(
        &self,
        texts: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = text::format)] format: Format,
    ) -> PyResult<Bound<'py, PyList>> {
        let py = texts.py();
        let texts = texts_of(texts, "redact_many()")?;
        let total: usize = texts.iter().map(|text| text.bytes().len()).sum();
        let (engine, result) = (&self.engine, |text: &Text<'_>, redacted| self.result(py, text, redacted));
        let results = if total < POOL_MIN || texts.len() < 2 {
            let one = |text: &Text<'_>| result(text, redact(py, engine, text.bytes(), format)?);
            texts.iter().map(one).collect::<PyResult<Vec<_>>>()?
        } else {
            let slices: Vec<&[u8]> = texts.iter().map(Text::bytes).collect();
            let work = |text: &&[u8], stop: &Stop| redact_in_slices(engine, text, format, stop);
            enter::parallel(py, &slices, work, |at, redacted| result(&texts[at], redacted))?
        };
        PyList::new(py, results)
    }

    /// Redacts a parsed JSON value: dict, list, tuple, str, int, float, bool or None, nested up to 1000 levels.
    ///
    /// Keys stay, and decide together with their values what must go; a number that must go becomes a placeholder
    /// string. The result's `value` is the same object when nothing was found; otherwise what changed is new, as plain
    /// dict, list and tuple, and the rest is shared with the input, which is never changed. Raises `InputError` for values
    /// that are too deep or refer to themselves, `InputTypeError` for other types.
    fn redact_json(&self, value: &Bound<'_, PyAny>) -> PyResult<Redaction> {
        let (value, found) = json::redact(&self.engine, &self.clean, value)?;
        Ok(Redaction::new(value, found, &self.names))
    }

    /// A stream for text that arrives in pieces, all str or all bytes.
    ///
    /// The outputs joined equal the redaction of the pieces joined, wherever the text was cut.
    #[pyo3(signature = (*, format=Format::Auto), text_signature = "($self, *, format='auto')")]
    fn stream(&self, #[pyo3(from_py_with = text::format)] format: Format) -> Stream {
        Stream::new(self.engine.stream(format), Arc::clone(&self.names))
    }

    /// Where the replaced values are kept, when the placeholder style is a vault's; else None.
    #[getter]
    fn vault<'py>(&self, py: Python<'py>) -> Option<&Bound<'py, Vault>> {
        self.vault.as_ref().map(|vault| vault.bind(py))
    }

    /// The active rules, a tuple of `Rule`.
    #[getter]
    fn rules<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let rules = self.engine.detector().rules().iter();
        PyTuple::new(py, rules.map(|rule| Bound::new(py, Rule::from(rule))).collect::<PyResult<Vec<_>>>()?)
    }

    /// What could not be honoured of the given rule files, one sentence each.
    #[getter]
    fn warnings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.warnings)
    }
}

impl Redactor {
    fn result(&self, py: Python<'_>, text: &Text<'_>, redacted: Option<Redacted>) -> PyResult<Redaction> {
        let (text, found) = match redacted {
            None => (text.unchanged(py), vec![]),
            Some(mut redacted) => {
                text.place(&mut redacted.findings)?;
                (text.rewritten(py, &redacted.text)?, redacted.findings)
            }
        };
        Ok(Redaction::new(text, found, &self.names))
    }
}

pub(crate) fn texts_of<'py>(texts: &Bound<'py, PyAny>, what: &str) -> PyResult<Vec<Text<'py>>> {
    let wrong = || errors::wrong_type(what, "a list of texts", texts);
    // One text is iterable too, into characters or numbers.
    if Text::of(texts, what).is_ok() {
        return Err(wrong());
    }
    let texts = texts.try_iter().map_err(|_| wrong())?.enumerate();
    texts.map(|(at, text)| Text::of(&text?, format_args!("{what} at [{at}]"))).collect()
}

pub(crate) fn redact(
    py: Python<'_>,
    engine: &Arc<Engine>,
    text: &[u8],
    format: Format,
) -> PyResult<Option<Redacted>> {
    let in_slices = |stop: &Stop| redact_in_slices(engine, text, format, stop);
    by_length(py, text.len(), || engine.redact(text, format), in_slices)
}

/// Enters Rust in whichever way the length of the text calls for.
fn by_length<T: Send>(
    py: Python<'_>,
    length: usize,
    whole: impl FnOnce() -> T + Send,
    in_slices: impl FnOnce(&Stop) -> Result<T, Stopped> + Send,
) -> PyResult<T> {
    if length < ATTACHED_MAX {
        enter::attached(whole)
    } else if length < SLICE {
        enter::detached(py, whole)
    } else {
        enter::long(py, in_slices)
    }
}

fn redact_in_slices(
    engine: &Arc<Engine>,
    text: &[u8],
    format: Format,
    stop: &Stop,
) -> Result<Option<Redacted>, Stopped> {
    if text.len() < SLICE {
        return Ok(engine.redact(text, format));
    }
    engine.redact_while(text, format, || stop.check().is_ok()).map_err(|()| Stopped)
}

fn scan(py: Python<'_>, engine: &Arc<Engine>, text: &[u8], format: Format) -> PyResult<Vec<Finding>> {
    let in_slices = |stop: &Stop| {
        let (mut stream, mut out) = (engine.stream(format), vec![]);
        for slice in text.chunks(SLICE) {
            stop.check()?;
            stream.feed(slice, &mut out);
            out.clear();
        }
        stream.finish(&mut out);
        Ok(stream.take_findings())
    };
    by_length(py, text.len(), || engine.scan(text, format), in_slices)
}

/// The text of a file that a rule file extends.
fn read(path: &str) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| error.to_string())
}

type AllowFields = (Vec<Vec<u8>>, Vec<String>, Vec<String>, Vec<String>, bool);

/// PII by the name of a set, or rule by rule.
#[derive(FromPyObject)]
enum Selection {
    Set(String),
    Named(Vec<String>),
}

impl From<Selection> for Pii {
    fn from(selection: Selection) -> Self {
        match selection {
            Selection::Set(name) if name == "all" => Self::All,
            Selection::Set(name) if name == "none" => Self::None,
            Selection::Set(_) => Self::Dangerous,
            Selection::Named(names) => Self::Named(names),
        }
    }
}
