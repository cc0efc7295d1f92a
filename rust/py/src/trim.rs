//! Trimming.

use std::sync::{Arc, Mutex};

use ctxproto_tokens::Encoding;
use ctxproto_trim::{Fields, Loss, Need, Patterns, Plan, Strategy, TrimError, Trimmed, Trimmer as Engine};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::redaction::Names;
use crate::redactor::Redactor;
use crate::text::{self, Text};
use crate::{enter, errors, function, tokens};

/// How text is to be trimmed; `ctxproto.tools.trim` has validated the arguments.
#[pyclass(frozen, module = "ctxproto._core")]
pub(crate) struct Trimming {
    plan: Plan,
    names: Option<Arc<Names>>,
    /// What counts, where its counts are kept.
    encoding: Option<Encoding>,
}

#[pymethods]
impl Trimming {
    #[new]
    #[pyo3(signature = (strategy, max_tokens, counter, *, redactor=None, fields=vec![], patterns=vec![], hint=None))]
    fn py_new(
        strategy: &str,
        max_tokens: usize,
        counter: &Bound<'_, PyAny>,
        redactor: Option<&Bound<'_, Redactor>>,
        fields: Vec<String>,
        patterns: Vec<String>,
        hint: Option<String>,
    ) -> PyResult<Self> {
        // Checked whether the strategy asks for them or not: what is wrong is told where it was given.
        let fields = each("fields", fields, Fields::new, |one| Fields::new([one]))?;
        let patterns = each("patterns", patterns, Patterns::new, |one| Patterns::new([one]))?;
        let strategy = match strategy {
            "field_whitelist" => Strategy::FieldWhitelist(fields),
            name => self::strategy(name),
        };
        let mut plan = Plan::new(strategy, max_tokens, tokens::counter(counter));
        plan.patterns = patterns;
        plan.hint = hint;
        plan.redactor = redactor.map(|r| Arc::clone(&r.get().engine));
        let encoding = tokens::exact(counter);
        Ok(Self { plan, names: redactor.map(|r| Arc::clone(&r.get().names)), encoding })
    }

    /// Redacts `text` (str or bytes) and makes it fit: (text, loss, findings).
    fn trim<'py>(&self, text: &Bound<'py, PyAny>) -> PyResult<Outcome<'py>> {
        let py = text.py();
        let text = Text::of(text, "trim()")?;
        let bytes = text.bytes();
        let work = || {
            let trimmed = self.plan.trim(bytes)?;
            // It is counted again as soon as it stands in a message.
            if let (Some(encoding), Ok(text)) = (self.encoding, std::str::from_utf8(&trimmed.text)) {
                encoding.remember(text, trimmed.loss.tokens);
            }
            Ok(trimmed)
        };
        let trimmed = function::settled(|| {
            let short = bytes.len() < ATTACHED_MAX;
            (if short { enter::attached(work) } else { enter::detached(py, work) })?.map_err(|e| told(&e))
        })?;
        let same = trimmed.text == bytes;
        let out = if same { text.unchanged(py) } else { text.rewritten(py, &trimmed.text)? };
        self.outcome(py, out, &trimmed)
    }

    /// The form for text that arrives in pieces.
    fn stream(slf: &Bound<'_, Self>) -> TrimStream {
        let engine = slf.get().plan.stream();
        TrimStream { trimming: slf.clone().unbind(), state: Mutex::new((Some(engine), None)) }
    }
}

/// Up to here a trim takes less than giving up the interpreter may cost (see [`enter`]).
const ATTACHED_MAX: usize = 4 << 10;

type Outcome<'py> = (Bound<'py, PyAny>, Bound<'py, PyTuple>, Vec<(String, String, String)>);

impl Trimming {
    fn outcome<'py>(
        &self,
        py: Python<'py>,
        text: Bound<'py, PyAny>,
        trimmed: &Trimmed<'_>,
    ) -> PyResult<Outcome<'py>> {
        let rules = self.plan.redactor.as_ref().map_or(&[][..], |r| r.detector().rules());
        let found = trimmed.replaced.iter().filter_map(|r| {
            let rule = rules.get(usize::from(r.rule))?;
            let fingerprint = format!("{:016x}", u64::from_be_bytes(r.fingerprint));
            Some((rule.label.clone(), rule.id.clone(), fingerprint))
        });
        let found = found.collect();
        debug_assert!(self.names.is_some() || trimmed.replaced.is_empty());
        Ok((text, account(py, &trimmed.loss)?, found))
    }
}

/// Trims text that arrives in pieces, str or bytes.
#[pyclass(frozen, module = "ctxproto._core")]
pub(crate) struct TrimStream {
    trimming: Py<Trimming>,
    /// None when finished; whether the pieces are str, when one has come.
    state: Mutex<(Option<Engine>, Option<bool>)>,
}

#[pymethods]
impl TrimStream {
    /// Takes the next piece; whether more of them can change the text.
    fn feed(&self, piece: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = piece.py();
        let text = Text::of(piece, "feed()")?;
        let mut state = self.state.try_lock().map_err(|_| busy())?;
        if *state.1.get_or_insert(text.is_str()) != text.is_str() {
            let expected = if text.is_str() { "bytes as before" } else { "str as before" };
            return Err(errors::wrong_type("feed()", expected, piece));
        }
        let engine = state.0.as_mut().ok_or_else(finished)?;
        let bytes = text.bytes();
        Ok(function::settled(|| enter::detached(py, || engine.push(bytes)))? == Need::More)
    }

    /// The text has ended, or reading was `stopped` before its end: (text, loss, findings).
    #[pyo3(signature = (*, stopped=false))]
    fn finish<'py>(&self, py: Python<'py>, stopped: bool) -> PyResult<Outcome<'py>> {
        let mut state = self.state.try_lock().map_err(|_| busy())?;
        let engine = state.0.take().ok_or_else(finished)?;
        let trimmed = function::settled(|| {
            enter::detached(py, || if stopped { engine.stop() } else { engine.finish() })?
                .map_err(|e| told(&e))
        })?;
        let out = text::output(py, &trimmed.text, state.1.unwrap_or(true))?;
        self.trimming.get().outcome(py, out, &trimmed)
    }
}

fn busy() -> PyErr {
    errors::stream("the trimmer is in use by another thread")
}

fn finished() -> PyErr {
    errors::stream("the trimmer is finished")
}

/// The strategy of a name that Python has checked, of those that need nothing else.
pub(crate) fn strategy(name: &str) -> Strategy {
    match name {
        "auto" => Strategy::Auto,
        "first_n" => Strategy::FirstN,
        "last_n" => Strategy::LastN,
        "head_tail" => Strategy::HeadTail,
        "lines" => Strategy::Lines,
        "json" => Strategy::Json,
        "table" => Strategy::Table,
        "diff" => Strategy::Diff,
        _ => Strategy::Summary,
    }
}

/// All of what was given for `argument`; the error names the first that is wrong by itself.
pub(crate) fn each<T>(
    argument: &str,
    given: Vec<String>,
    all: impl Fn(Vec<String>) -> Result<T, TrimError>,
    alone: impl Fn(String) -> Result<T, TrimError>,
) -> PyResult<T> {
    all(given.clone()).map_err(|error| {
        let wrong = given.into_iter().enumerate().find_map(|(at, one)| Some((at, alone(one).err()?)));
        let (name, error) =
            wrong.map_or((argument.to_owned(), error), |(at, error)| (format!("{argument}[{at}]"), error));
        errors::rule(format!("{name}: {}", plain(&error)))
    })
}

/// What is wrong with a pattern or a path, which may itself be a secret in the wrong place.
fn plain(error: &TrimError) -> String {
    match error {
        TrimError::Path(why) => why.rsplit_once(": ").map_or("it is no path", |w| w.1).to_owned(),
        _ => "it is no regular expression of Rust's regex crate, or too large".to_owned(),
    }
}

fn told(error: &TrimError) -> PyErr {
    match error {
        TrimError::TooSmall { needed, .. } => errors::budget(error.to_string(), *needed),
        _ => errors::input(error.to_string()),
    }
}

/// The loss report, in the order of `ctxproto.tools.trim.Loss`.
fn account<'py>(py: Python<'py>, loss: &Loss) -> PyResult<Bound<'py, PyTuple>> {
    let size = |n: usize| n.into_bound_py_any(py);
    let ranges: Vec<(usize, usize)> = loss.ranges.iter().map(|r| (r.start, r.end)).collect();
    let all = [
        loss.strategy.into_bound_py_any(py)?,
        loss.instead.filter(|why| !why.is_empty()).into_bound_py_any(py)?,
        size(loss.tokens)?,
        size(loss.source_tokens.count)?,
        loss.source_tokens.exact.into_bound_py_any(py)?,
        size(loss.source.bytes)?,
        size(loss.source.lines)?,
        size(loss.kept.bytes)?,
        size(loss.kept.lines)?,
        size(loss.dropped.bytes)?,
        size(loss.dropped.lines)?,
        ranges.into_bound_py_any(py)?,
        loss.units.map(|u| (u.name, u.kept, u.total)).into_bound_py_any(py)?,
        loss.complete.into_bound_py_any(py)?,
    ];
    PyTuple::new(py, all)
}
