//! Redaction of a parsed JSON value: Python's dict, list, tuple, str and numbers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ctxproto_redact::{Finding, Format, Redactor};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::errors;
use crate::redactor;
use crate::text::Text;

/// Beyond the depth that Python's own JSON parser reaches by default; the stack holds several times as much.
const DEPTH_MAX: usize = 1000;

/// How often signals are looked at.
const POLL: Duration = Duration::from_millis(40);

/// The value with its findings replaced (the same object when there are none), and the findings.
pub(crate) fn redact<'py>(
    engine: &Arc<Redactor>,
    value: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyAny>, Vec<Finding>)> {
    let mut walk = Walk {
        py: value.py(),
        engine,
        path: vec![],
        containers: vec![],
        found: vec![],
        polled: Instant::now(),
    };
    let new = walk.value(value, None)?;
    Ok((new.unwrap_or_else(|| value.clone()), walk.found))
}

struct Walk<'a, 'py> {
    py: Python<'py>,
    engine: &'a Arc<Redactor>,
    path: Vec<Step<'py>>,
    /// The containers on the way here, to tell a cycle from mere depth.
    containers: Vec<Bound<'py, PyAny>>,
    found: Vec<Finding>,
    polled: Instant,
}

enum Step<'py> {
    Key(Bound<'py, PyAny>),
    Index(usize),
}

impl<'py> Walk<'_, 'py> {
    /// The replacement for `value`, which stands under `key` (perhaps in lists); None when it stays.
    fn value(
        &mut self,
        value: &Bound<'py, PyAny>,
        key: Option<&Bound<'py, PyString>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        if value.is_instance_of::<PyString>() || value.is_instance_of::<PyBytes>() {
            self.text(value, key)
        } else if value.is_none() || value.is_instance_of::<PyBool>() {
            Ok(None)
        } else if value.is_instance_of::<PyInt>() || value.is_instance_of::<PyFloat>() {
            self.number(value, key)
        } else if let Ok(dict) = value.cast::<PyDict>() {
            self.within(value, |walk| walk.dict(dict))
        } else if let Ok(list) = value.cast::<PyList>() {
            self.within(value, |walk| {
                let new = walk.items(list.iter(), key)?;
                new.map(|new| PyList::new(walk.py, new).map(Bound::into_any)).transpose()
            })
        } else if let Ok(tuple) = value.cast::<PyTuple>() {
            self.within(value, |walk| {
                let new = walk.items(tuple.iter(), key)?;
                new.map(|new| PyTuple::new(walk.py, new).map(Bound::into_any)).transpose()
            })
        } else {
            // To pass over what cannot be looked into would let secrets through without a word.
            let what = format!("redact_json() at {}", self.here());
            Err(errors::wrong_type(&what, "dict, list, tuple, str, bytes, int, float, bool or None", value))
        }
    }

    fn within<T>(
        &mut self,
        container: &Bound<'py, PyAny>,
        work: impl FnOnce(&mut Self) -> PyResult<T>,
    ) -> PyResult<T> {
        if self.polled.elapsed() > POLL {
            self.py.check_signals()?;
            self.polled = Instant::now();
        }
        if self.containers.len() >= DEPTH_MAX {
            let cyclic = self.containers.iter().any(|outer| outer.is(container));
            return Err(errors::input(if cyclic {
                "the value refers to itself".into()
            } else {
                format!("the value is nested deeper than {DEPTH_MAX} levels")
            }));
        }
        self.containers.push(container.clone());
        let outcome = work(self);
        self.containers.pop();
        outcome
    }

    fn items(
        &mut self,
        items: impl Iterator<Item = Bound<'py, PyAny>>,
        key: Option<&Bound<'py, PyString>>,
    ) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
        let mut changed = false;
        let mut all = Vec::with_capacity(items.size_hint().0);
        for (index, item) in items.enumerate() {
            self.path.push(Step::Index(index));
            let new = self.value(&item, key)?;
            self.path.pop();
            changed |= new.is_some();
            all.push(new.unwrap_or(item));
        }
        Ok(changed.then_some(all))
    }

    fn dict(&mut self, dict: &Bound<'py, PyDict>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let mut changed = false;
        // A list of the items, because signal handlers and other threads may change the dict meanwhile.
        let items = dict.items();
        let mut all = Vec::with_capacity(items.len());
        for item in items.iter() {
            let (key, value) = item.extract::<(Bound<'py, PyAny>, Bound<'py, PyAny>)>()?;
            let text = key.cast::<PyString>().ok();
            let new_key = match text {
                Some(_) => self.text(&key, None)?,
                None => None,
            };
            self.path.push(Step::Key(new_key.as_ref().unwrap_or(&key).clone()));
            let new = self.value(&value, text)?;
            self.path.pop();
            changed |= new.is_some() || new_key.is_some();
            all.push((new_key.is_some(), new_key.unwrap_or(key), new.unwrap_or(value)));
        }
        if !changed {
            return Ok(None);
        }
        let new = PyDict::new(self.py);
        for (renamed, key, value) in all {
            let key = if renamed { free_key(dict, &new, key)? } else { key };
            new.set_item(key, value)?;
        }
        Ok(Some(new.into_any()))
    }

    fn number(
        &mut self,
        value: &Bound<'py, PyAny>,
        key: Option<&Bound<'py, PyString>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        // Ints beyond 128 bits are no card and no account; Python itself refuses to print the largest.
        let digits = if let Ok(int) = value.extract::<i128>() {
            int.to_string()
        } else if let Ok(float) = value.cast::<PyFloat>() {
            float.value().to_string()
        } else {
            return Ok(None);
        };
        let text = PyString::new(self.py, &digits).into_any();
        self.text(&text, key)
    }

    fn text(
        &mut self,
        value: &Bound<'py, PyAny>,
        key: Option<&Bound<'py, PyString>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let text = Text::of(value, "redact_json()")?;
        let bytes = text.bytes();
        let redacted = redactor::redact(self.py, self.engine, bytes, Format::Auto)?;
        // A rule that knows the whole value by its form says more than the name of its key.
        let whole = |found: &[Finding]| matches!(found, [one] if one.start == 0 && one.end == bytes.len());
        if !redacted.as_ref().is_some_and(|redacted| whole(&redacted.findings))
            && let Some((rule, skip)) = self.judge(key, bytes)?
        {
            let fingerprint = self.engine.fingerprint(&bytes[skip..]);
            let new = [&bytes[..skip], &self.engine.placeholder(rule, &bytes[skip..])].concat();
            let new = text.rewritten(self.py, &new)?;
            let mut found = [Finding {
                rule,
                start: skip,
                end: bytes.len(),
                line: 1,
                column: 1 + skip,
                key_path: None,
                fingerprint,
            }];
            text.place(&mut found)?;
            self.keep(found);
            return Ok(Some(new));
        }
        let Some(mut redacted) = redacted else { return Ok(None) };
        text.place(&mut redacted.findings)?;
        self.keep(redacted.findings);
        text.rewritten(self.py, &redacted.text).map(Some)
    }

    fn judge(&self, key: Option<&Bound<'py, PyString>>, value: &[u8]) -> PyResult<Option<(u16, usize)>> {
        let Some(key) = key else { return Ok(None) };
        let key = Text::of(key, "redact_json()")?;
        Ok(self.engine.judge_value(&String::from_utf8_lossy(key.bytes()), value))
    }

    /// Keeps what was found in the value here, with its path in the whole document.
    fn keep(&mut self, found: impl IntoIterator<Item = Finding>) {
        for mut finding in found {
            let mut path = self.here();
            if let Some(inner) = finding.key_path {
                path = if inner.starts_with('[') { path + &inner } else { path + "." + &inner };
            }
            finding.key_path = Some(path);
            self.found.push(finding);
        }
    }

    /// The path of the value at hand, such as `messages[2].content`; keys in it are redacted ones.
    fn here(&self) -> String {
        let mut path = String::new();
        for step in &self.path {
            match step {
                Step::Key(key) => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    // A key of another type than str may have any str(): its type says enough.
                    match key.cast::<PyString>() {
                        Ok(key) => path.push_str(&key.to_string_lossy()),
                        Err(_) => path
                            .push_str(&key.get_type().name().map_or_else(|_| "?".into(), |n| n.to_string())),
                    }
                }
                Step::Index(index) => path.extend(["[", &index.to_string(), "]"]),
            }
        }
        path
    }
}

/// `key`, numbered when it is taken: two keys that were secrets must not become one.
fn free_key<'py>(
    old: &Bound<'py, PyDict>,
    new: &Bound<'py, PyDict>,
    key: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let taken = |key: &Bound<'py, PyAny>| Ok::<_, PyErr>(old.contains(key)? || new.contains(key)?);
    if !taken(&key)? {
        return Ok(key);
    }
    for number in 2.. {
        let numbered =
            PyString::new(old.py(), &format!("{}#{number}", key.cast::<PyString>()?.to_string_lossy()));
        if !taken(numbered.as_any())? {
            return Ok(numbered.into_any());
        }
    }
    unreachable!("a dict has fewer keys than there are numbers")
}
