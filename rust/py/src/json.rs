//! Redaction of a parsed JSON value.

use std::sync::Arc;

use ctxproto_redact::detect::{holds_value, names_member};
use ctxproto_redact::{Finding, Format, Redaction, Redactor};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};

use crate::text::{Text, is_continuation};
use crate::walk::{self, Place, Replacement, Visit};
use crate::{errors, redactor};

/// The value with its findings replaced (the same object when there are none), and the findings.
pub(crate) fn redact<'py>(
    engine: &Arc<Redactor>,
    value: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyAny>, Vec<Finding>)> {
    let mut redact = Redact { engine, found: vec![] };
    let new = walk::walk(value, &mut redact)?;
    Ok((new.unwrap_or_else(|| value.clone()), redact.found))
}

struct Redact<'a> {
    engine: &'a Arc<Redactor>,
    found: Vec<Finding>,
}

impl<'py> Visit<'py> for Redact<'_> {
    fn text(&mut self, text: &Bound<'py, PyAny>, place: &Place<'_, 'py>) -> Replacement<'py> {
        let py = text.py();
        let text = Text::of(text, "redact_json()")?;
        let Some(mut redacted) = self.value(py, text.bytes(), place)? else { return Ok(None) };
        text.place(&mut redacted.findings)?;
        // Positions count in the text at hand, so the path leads there, not on into JSON that it may contain.
        let path = place.path();
        self.found.extend(
            redacted.findings.into_iter().map(|found| Finding { key_path: Some(path.clone()), ..found }),
        );
        text.rewritten(py, &redacted.text).map(Some)
    }

    /// `{"name": "DB_PASSWORD", "value": "…"}`, `{"password": {"value": "…"}}`.
    fn speaks_for(
        &self,
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

    fn other(&mut self, value: &Bound<'py, PyAny>, place: &Place<'_, 'py>) -> Replacement<'py> {
        if value.is_none() || value.is_instance_of::<PyBool>() {
            return Ok(None);
        }
        let py = value.py();
        let digits = if value.is_instance_of::<PyFloat>() {
            // As JSON would have it, whatever a subclass makes of that.
            py.get_type::<PyFloat>().call_method1(intern!(py, "__repr__"), (value,))?
        } else if !value.is_instance_of::<PyInt>() {
            // To pass over what cannot be looked into would let secrets through without a word.
            let what = format!("redact_json() at {}", place.path());
            let takes = "dict, list, tuple, str, bytes, int, float, bool or None";
            return Err(errors::wrong_type(&what, takes, value));
        } else if let Ok(int) = value.extract::<i128>() {
            PyString::new(py, &int.to_string()).into_any()
        } else {
            // Beyond 128 bits it is no card and no account; Python itself refuses to print the largest.
            return Ok(None);
        };
        self.text(&digits, place)
    }
}

impl Redact<'_> {
    fn value(&self, py: Python<'_>, text: &[u8], place: &Place<'_, '_>) -> PyResult<Option<Redaction>> {
        let Some(key) = place.key else { return redactor::redact(py, self.engine, text, Format::Auto) };
        let key = Text::of(key, "redact_json()")?;
        let redacted = self.in_context(py, key.bytes(), text)?;
        // A rule that knows the whole value by its form says more than the name of its key.
        if let Some(Redaction { findings, .. }) = &redacted
            && let [one] = findings.as_slice()
            && one.start == 0
            && one.end == text.len()
        {
            return Ok(redacted);
        }
        let Some((rule, start)) = self.engine.judge_value(&String::from_utf8_lossy(key.bytes()), text) else {
            return Ok(redacted);
        };
        let (public, secret) = text.split_at(start);
        let placeholder = self.engine.placeholder(rule, secret);
        let finding = Finding {
            rule,
            start,
            end: text.len(),
            line: 1,
            column: 1 + start,
            key_path: None,
            fingerprint: self.engine.fingerprint(secret),
            placed: placeholder.len(),
        };
        let text = [public, &placeholder].concat();
        Ok(Some(Redaction { text, findings: vec![finding] }))
    }

    /// Redacts a value behind the name of its key, as it would stand in text: many rules need a word nearby.
    ///
    /// By itself alone when it is JSON, which the name would spoil, or when the key has something to hide.
    fn in_context(&self, py: Python<'_>, key: &[u8], value: &[u8]) -> PyResult<Option<Redaction>> {
        let alone = || redactor::redact(py, self.engine, value, Format::Auto);
        if matches!(value.trim_ascii_start().first(), Some(b'{' | b'[')) {
            return alone();
        }
        let mut text = Vec::with_capacity(key.len() + 2 + value.len());
        text.extend(key.iter().map(|&byte| if byte.is_ascii_control() { b' ' } else { byte }));
        text.extend_from_slice(b": ");
        let before = text.len();
        text.extend_from_slice(value);
        let Some(mut redacted) = redactor::redact(py, self.engine, &text, Format::Text)? else {
            return Ok(None);
        };
        if redacted.findings.iter().any(|found| found.start < before) {
            return alone();
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
}
