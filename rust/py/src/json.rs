//! Redaction of a parsed JSON value.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;

use ctxproto_redact::detect::{holds_value, names_member};
use ctxproto_redact::{Clean, Finding, Format, Name, Redaction, Redactor};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};

use crate::text::{Text, is_continuation};
use crate::walk::{self, Place, Replacement, Visit};
use crate::{enter, errors, redactor};

/// The value with its findings replaced (the same object when there are none), and the findings.
pub(crate) fn redact<'py>(
    engine: &Arc<Redactor>,
    clean: &Clean,
    value: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyAny>, Vec<Finding>)> {
    let py = value.py();
    // First what is new is looked at, all of it at once and without the interpreter, then written if there is need to.
    let mut look = Look { clean, new: vec![], keys: vec![], strange: false };
    enter::attached(|| walk::walk(value, &mut look))??;
    let new: Vec<New<'_>> = look
        .new
        .iter()
        .map(|(key, text, name)| (key.as_ref().map(Text::bytes), text.bytes(), *name))
        .collect();
    let size: usize = new.iter().map(|(_, text, _)| text.len()).sum();
    let judge = || {
        let one = |&(key, text, name): &New<'_>| {
            let Ok(found) =
                judged(engine, key, text, &mut |t, format| Ok::<_, Infallible>(engine.redact(t, format)));
            if found.is_none() {
                clean.remember(name);
            }
            found
        };
        // All of it, however early something is found: the rest is clean the next time.
        new.iter().map(one).collect::<Vec<_>>()
    };
    let judged = match size {
        ..redactor::ATTACHED_MAX => Some(enter::attached(judge)?),
        redactor::ATTACHED_MAX..redactor::SLICE => Some(enter::detached(py, judge)?),
        // So much is looked at piece by piece, and once.
        _ => None,
    };
    if judged.as_ref().is_some_and(|judged| judged.iter().all(Option::is_none)) && !look.strange {
        return Ok((value.clone(), vec![]));
    }
    let judged = look.new.into_iter().zip(judged.unwrap_or_default());
    let judged = judged.filter_map(|((key, text, _), found)| Some((key, text, found?))).collect();
    let mut redact = Redact { engine, clean, judged, found: vec![] };
    let new = enter::attached(|| walk::walk(value, &mut redact))??;
    Ok((new.unwrap_or_else(|| value.clone()), redact.found))
}

/// A key that stands over a text, the text, and its name.
type New<'a> = (Option<&'a [u8]>, &'a [u8], Name);

/// How many keys are remembered.
const KEYS: usize = 16;

/// Collects the texts that are not known to be clean.
struct Look<'a, 'py> {
    clean: &'a Clean,
    new: Vec<(Option<Text<'py>>, Text<'py>, Name)>,
    /// Keys that are done: in a list of messages they are the same few objects.
    keys: Vec<Bound<'py, PyAny>>,
    /// Whether something is there that cannot be looked into: the walk that writes says where, by redacted keys.
    strange: bool,
}

impl<'py> Visit<'py> for Look<'_, 'py> {
    fn text(&mut self, text: &Bound<'py, PyAny>, place: &Place<'_, 'py>) -> Replacement<'py> {
        let text = Text::of(text, "redact_json()")?;
        let key = place.key.map(|key| Text::of(key, "redact_json()")).transpose()?;
        let name = self.clean.name(key.as_ref().map(Text::bytes), text.bytes());
        if !self.clean.knows(name) {
            self.new.push((key, text, name));
        }
        Ok(None)
    }

    fn key(&mut self, key: &Bound<'py, PyAny>, place: &Place<'_, 'py>) -> Replacement<'py> {
        if self.keys.iter().any(|done| done.is(key)) {
            return Ok(None);
        }
        if self.keys.len() < KEYS {
            self.keys.push(key.clone());
        }
        self.text(key, place)
    }

    fn speaks_for(
        &self,
        dict: &Bound<'py, PyDict>,
        key: &Bound<'py, PyString>,
        outer: Option<&Bound<'py, PyString>>,
    ) -> Option<Bound<'py, PyString>> {
        speaks_for(dict, key, outer)
    }

    fn other(&mut self, value: &Bound<'py, PyAny>, place: &Place<'_, 'py>) -> Replacement<'py> {
        match digits(value, place) {
            Ok(Some(digits)) => self.text(&digits, place),
            Ok(None) => Ok(None),
            Err(_) => {
                self.strange = true;
                Ok(None)
            }
        }
    }
}

struct Redact<'a, 'py> {
    engine: &'a Arc<Redactor>,
    clean: &'a Clean,
    /// Keys and texts that something was found in, and what, in the order they are walked through.
    judged: VecDeque<(Option<Text<'py>>, Text<'py>, Redaction)>,
    found: Vec<Finding>,
}

impl Redact<'_, '_> {
    /// What was found in a text under a key when it was looked at, if it is the next one of those.
    fn known(&mut self, key: Option<&[u8]>, text: &[u8]) -> Option<Redaction> {
        let (of, same, _) = self.judged.front()?;
        let is = of.as_ref().map(Text::bytes) == key && same.bytes() == text;
        if is { self.judged.pop_front().map(|(.., found)| found) } else { None }
    }
}

impl<'py> Visit<'py> for Redact<'_, 'py> {
    fn text(&mut self, text: &Bound<'py, PyAny>, place: &Place<'_, 'py>) -> Replacement<'py> {
        let py = text.py();
        let text = Text::of(text, "redact_json()")?;
        let key = place.key.map(|key| Text::of(key, "redact_json()")).transpose()?;
        let key = key.as_ref().map(Text::bytes);
        if self.clean.knows(self.clean.name(key, text.bytes())) {
            return Ok(None);
        }
        let mut redacted = self.known(key, text.bytes());
        if redacted.is_none() {
            let mut by_engine = |text: &[u8], format| redactor::redact(py, self.engine, text, format);
            redacted = judged(self.engine, key, text.bytes(), &mut by_engine)?;
        }
        let Some(mut redacted) = redacted else { return Ok(None) };
        text.place(&mut redacted.findings)?;
        // Positions count in the text at hand, so the path leads there, not on into JSON that it may contain.
        let path = place.path();
        self.found.extend(
            redacted.findings.into_iter().map(|found| Finding { key_path: Some(path.clone()), ..found }),
        );
        text.rewritten(py, &redacted.text).map(Some)
    }

    fn speaks_for(
        &self,
        dict: &Bound<'py, PyDict>,
        key: &Bound<'py, PyString>,
        outer: Option<&Bound<'py, PyString>>,
    ) -> Option<Bound<'py, PyString>> {
        speaks_for(dict, key, outer)
    }

    fn other(&mut self, value: &Bound<'py, PyAny>, place: &Place<'_, 'py>) -> Replacement<'py> {
        digits(value, place)?.map_or(Ok(None), |digits| self.text(&digits, place))
    }
}

/// `{"name": "DB_PASSWORD", "value": "…"}`, `{"password": {"value": "…"}}`.
fn speaks_for<'py>(
    dict: &Bound<'py, PyDict>,
    key: &Bound<'py, PyString>,
    outer: Option<&Bound<'py, PyString>>,
) -> Option<Bound<'py, PyString>> {
    let is = |key: &Bound<'py, PyAny>, what: fn(&[u8]) -> bool| {
        key.cast::<PyString>().is_ok_and(|key| key.to_str().is_ok_and(|key| what(key.as_bytes())))
    };
    if !is(key, holds_value) {
        return None;
    }
    let mut names = dict.iter().filter(|(key, _)| is(key, names_member));
    let beside = names.find_map(|(_, name)| name.cast_into::<PyString>().ok());
    beside.or_else(|| outer.cloned())
}

/// What JSON writes for a number; None for what hides nothing.
fn digits<'py>(value: &Bound<'py, PyAny>, place: &Place<'_, 'py>) -> Replacement<'py> {
    if value.is_none() || value.is_instance_of::<PyBool>() {
        return Ok(None);
    }
    let py = value.py();
    if value.is_instance_of::<PyFloat>() {
        // As JSON would have it, whatever a subclass makes of that.
        py.get_type::<PyFloat>().call_method1(intern!(py, "__repr__"), (value,)).map(Some)
    } else if !value.is_instance_of::<PyInt>() {
        // To pass over what cannot be looked into would let secrets through without a word.
        let what = format!("redact_json() at {}", place.path());
        let takes = "dict, list, tuple, str, bytes, int, float, bool or None";
        Err(errors::wrong_type(&what, takes, value))
    } else if let Ok(int) = value.extract::<i128>() {
        Ok(Some(PyString::new(py, &int.to_string()).into_any()))
    } else {
        // Beyond 128 bits it is no card and no account; Python itself refuses to print the largest.
        Ok(None)
    }
}

/// What is found in a value that stands under a key; `redact` applies the rules for text.
fn judged<E>(
    engine: &Redactor,
    key: Option<&[u8]>,
    text: &[u8],
    redact: &mut impl FnMut(&[u8], Format) -> Result<Option<Redaction>, E>,
) -> Result<Option<Redaction>, E> {
    let Some(key) = key else { return redact(text, Format::Auto) };
    let redacted = in_context(key, text, redact)?;
    // A rule that knows the whole value by its form says more than the name of its key.
    if let Some(Redaction { findings, .. }) = &redacted
        && let [one] = findings.as_slice()
        && one.start == 0
        && one.end == text.len()
    {
        return Ok(redacted);
    }
    let Some((rule, place)) = engine.judge_value(&String::from_utf8_lossy(key), text) else {
        return Ok(redacted);
    };
    let secret = &text[place.clone()];
    let placeholder = engine.placeholder(rule, secret);
    let finding = Finding {
        rule,
        start: place.start,
        end: place.end,
        line: 1,
        column: 1 + place.start,
        key_path: None,
        fingerprint: engine.fingerprint(secret),
        placed: placeholder.len(),
    };
    let text = [&text[..place.start], &placeholder, &text[place.end..]].concat();
    Ok(Some(Redaction { text, findings: vec![finding] }))
}

/// Redacts a value behind the name of its key, as it would stand in text: many rules need a word nearby.
///
/// By itself alone when it is JSON, which the name would spoil, or when the key has something to hide.
fn in_context<E>(
    key: &[u8],
    value: &[u8],
    redact: &mut impl FnMut(&[u8], Format) -> Result<Option<Redaction>, E>,
) -> Result<Option<Redaction>, E> {
    if matches!(value.trim_ascii_start().first(), Some(b'{' | b'[')) {
        return redact(value, Format::Auto);
    }
    let mut text = Vec::with_capacity(key.len() + 2 + value.len());
    text.extend(key.iter().map(|&byte| if byte.is_ascii_control() { b' ' } else { byte }));
    text.extend_from_slice(b": ");
    let before = text.len();
    text.extend_from_slice(value);
    let Some(mut redacted) = redact(&text, Format::Text)? else { return Ok(None) };
    if redacted.findings.iter().any(|found| found.start < before) {
        return redact(value, Format::Auto);
    }
    let characters = text[..before].iter().filter(|byte| !is_continuation(**byte)).count();
    for found in &mut redacted.findings {
        found.start -= before;
        found.end -= before;
        if found.line == 1 {
            found.column -= characters;
        }
    }
    redacted.text.drain(..before);
    Ok(Some(redacted))
}
