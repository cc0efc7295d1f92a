//! A walk over a parsed JSON value: Python's dict, list, tuple, and what stands in them.

use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};

use crate::errors;

/// Beyond the depth that Python's own JSON parser reaches by default; the stack holds several times as much.
const DEPTH_MAX: usize = 1000;

/// How often signals are looked at.
const POLL: Duration = Duration::from_millis(40);

/// A new object, or None for the old one to stay.
pub(crate) type Replacement<'py> = PyResult<Option<Bound<'py, PyAny>>>;

/// What is done to the leaves.
pub(crate) trait Visit<'py> {
    /// A str or bytes that is a value; `place.key` is the key that speaks for it, through lists.
    fn text(&mut self, text: &Bound<'py, PyAny>, place: &Place<'_, 'py>) -> Replacement<'py>;

    /// A str that is itself a key.
    fn key(&mut self, key: &Bound<'py, PyAny>, place: &Place<'_, 'py>) -> Replacement<'py> {
        self.text(key, place)
    }

    /// The key that says what stands in `dict` under `key`, when it is another one: a name beside it, or the `outer` key.
    fn speaks_for(
        &self,
        _dict: &Bound<'py, PyDict>,
        _key: &Bound<'py, PyString>,
        _outer: Option<&Bound<'py, PyString>>,
    ) -> Option<Bound<'py, PyString>> {
        None
    }

    /// Anything that is neither text nor a container.
    fn other(&mut self, value: &Bound<'py, PyAny>, place: &Place<'_, 'py>) -> Replacement<'py>;
}

/// Where a value stands in the document.
pub(crate) struct Place<'a, 'py> {
    steps: &'a [Step<'py>],
    pub(crate) key: Option<&'a Bound<'py, PyString>>,
}

enum Step<'py> {
    Key(Bound<'py, PyAny>),
    Index(usize),
}

impl Place<'_, '_> {
    /// The place as a path such as `messages[2].content`, as it is written for JSON text; keys in it are the new ones.
    pub(crate) fn path(&self) -> String {
        let mut path = String::new();
        for step in self.steps {
            match step {
                Step::Index(index) => path.extend(["[", &index.to_string(), "]"]),
                Step::Key(key) => {
                    // A key of another type than str may have any str(): its type says enough.
                    let name = match key.cast::<PyString>() {
                        Ok(key) => key.to_string_lossy().into_owned(),
                        Err(_) => key.get_type().name().map_or_else(|_| "?".into(), |name| name.to_string()),
                    };
                    let plain = |c: char| c.is_alphanumeric() || "_-$@".contains(c);
                    if name.is_empty() || !name.chars().all(plain) {
                        path.extend(["[\"", &name, "\"]"]);
                    } else {
                        path.extend([if path.is_empty() { "" } else { "." }, &name]);
                    }
                }
            }
        }
        path
    }
}

/// Applies `visit` to all leaves and keys of `value`.
///
/// None when nothing changes; otherwise what changes is new, as plain dict, list and tuple, and the rest is shared.
pub(crate) fn walk<'py>(value: &Bound<'py, PyAny>, visit: &mut impl Visit<'py>) -> Replacement<'py> {
    Walk { py: value.py(), visit, steps: vec![], containers: vec![], polled: Instant::now(), entered: 0 }
        .value(value, None)
}

struct Walk<'a, 'py, V> {
    py: Python<'py>,
    visit: &'a mut V,
    steps: Vec<Step<'py>>,
    /// The containers on the way here, to tell a cycle from mere depth.
    containers: Vec<Bound<'py, PyAny>>,
    polled: Instant,
    /// Containers since then: to ask for the time takes as long as to enter one.
    entered: usize,
}

impl<'py, V: Visit<'py>> Walk<'_, 'py, V> {
    fn value(&mut self, value: &Bound<'py, PyAny>, key: Option<&Bound<'py, PyString>>) -> Replacement<'py> {
        if value.is_instance_of::<PyString>() || value.is_instance_of::<PyBytes>() {
            self.visit.text(value, &Place { steps: &self.steps, key })
        } else if let Ok(dict) = value.cast::<PyDict>() {
            self.within(value, |walk| walk.dict(dict, key))
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
            self.visit.other(value, &Place { steps: &self.steps, key })
        }
    }

    fn within(
        &mut self,
        container: &Bound<'py, PyAny>,
        work: impl FnOnce(&mut Self) -> Replacement<'py>,
    ) -> Replacement<'py> {
        self.entered += 1;
        if self.entered.is_multiple_of(8) && self.polled.elapsed() > POLL {
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
            self.steps.push(Step::Index(index));
            let new = self.value(&item, key)?;
            self.steps.pop();
            changed |= new.is_some();
            all.push(new.unwrap_or(item));
        }
        Ok(changed.then_some(all))
    }

    fn dict(&mut self, dict: &Bound<'py, PyDict>, outer: Option<&Bound<'py, PyString>>) -> Replacement<'py> {
        let mut changed = false;
        // All items at once, because signal handlers and other threads may change the dict meanwhile.
        let items: Vec<_> = dict.iter().collect();
        let mut all = Vec::with_capacity(items.len());
        for (key, value) in items {
            let new_key = match key.cast::<PyString>() {
                Ok(_) => self.visit.key(&key, &Place { steps: &self.steps, key: None })?,
                Err(_) => None,
            };
            let renamed = new_key.is_some();
            let key = new_key.unwrap_or(key);
            self.steps.push(Step::Key(key.clone()));
            let own = key.cast::<PyString>().ok();
            let other = own.and_then(|own| self.visit.speaks_for(dict, own, outer));
            let new = self.value(&value, other.as_ref().or(own))?;
            self.steps.pop();
            changed |= new.is_some() || renamed;
            all.push((renamed, key, new.unwrap_or(value)));
        }
        if !changed {
            return Ok(None);
        }
        let new = PyDict::new(self.py);
        for (renamed, key, value) in all {
            let key = if renamed { free_key(dict, &new, &key)? } else { key };
            new.set_item(key, value)?;
        }
        Ok(Some(new.into_any()))
    }
}

/// `key`, numbered when it is taken: two keys that were secrets must not become one.
fn free_key<'py>(
    old: &Bound<'py, PyDict>,
    new: &Bound<'py, PyDict>,
    key: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let taken = |key: &Bound<'py, PyAny>| Ok::<_, PyErr>(old.contains(key)? || new.contains(key)?);
    let mut free = key.clone();
    let mut number = 2;
    while taken(&free)? {
        let name = key.cast::<PyString>()?.to_string_lossy();
        free = PyString::new(old.py(), &format!("{name}#{number}")).into_any();
        number += 1;
    }
    Ok(free)
}
