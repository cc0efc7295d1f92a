//! The one mapping from what can go wrong in Rust to the exception tree of `ctxproto.errors`.
//!
//! Of what was given a message shows the type and the length, never the value: it may be a secret in the wrong place.

use std::fmt::Display;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

macro_rules! tree {
    ($($name:ident),+) => {
        mod tree {
            $(pyo3::import_exception!(ctxproto.errors, $name);)+
        }

        /// Looks all of them up. A process that is forked off while a thread does would wait for it for ever.
        pub(crate) fn ready(py: Python<'_>) {
            $(py.get_type::<tree::$name>();)+
        }
    };
}

tree!(
    BudgetError,
    ConfigError,
    ConfigTypeError,
    InputError,
    InputTypeError,
    InternalError,
    MemoryIdError,
    RuleError,
    StoreError,
    StreamError
);

pub(crate) fn internal(message: &str) -> PyErr {
    tree::InternalError::new_err(message.to_owned())
}

/// A value that cannot be worked on, whatever its type.
pub(crate) fn input(message: String) -> PyErr {
    tree::InputError::new_err(message)
}

/// `what` was given something of a type it does not take.
pub(crate) fn wrong_type(what: impl Display, takes: &str, given: &Bound<'_, PyAny>) -> PyErr {
    tree::InputTypeError::new_err(format!("{what} takes {takes}, not {}", kind(given)))
}

/// An argument that has a value or a type which it may not have: `takes` completes "… is".
pub(crate) fn argument(name: &str, takes: &str, given: &Bound<'_, PyAny>, type_fits: bool) -> PyErr {
    let message = format!("{name} is {takes}, not {}", shown(given));
    if type_fits { tree::ConfigError::new_err(message) } else { tree::ConfigTypeError::new_err(message) }
}

/// An argument that holds, at `place`, something it may not.
pub(crate) fn holds(place: impl Display, may: &str, given: &Bound<'_, PyAny>) -> PyErr {
    tree::ConfigTypeError::new_err(format!("{place} holds {may}, not {}", shown(given)))
}

/// An argument that is wrong in another way.
pub(crate) fn config(message: String) -> PyErr {
    tree::ConfigError::new_err(message)
}

/// A policy that cannot be compiled.
pub(crate) fn rule(message: String) -> PyErr {
    tree::RuleError::new_err(message)
}

/// A budget that what is asked for cannot keep, and the tokens it `needed`.
pub(crate) fn budget(message: String, needed: usize) -> PyErr {
    tree::BudgetError::new_err((message, needed))
}

/// A memory that is not where it was looked for.
pub(crate) fn memory_id(message: String) -> PyErr {
    tree::MemoryIdError::new_err(message)
}

/// Vectors that do not go with those of a store, or with any.
pub(crate) fn model(message: &str) -> PyErr {
    tree::ConfigError::new_err(format!("embedder: {message}"))
}

/// A store that cannot be used, or not now.
pub(crate) fn store(message: String) -> PyErr {
    tree::StoreError::new_err(message)
}

pub(crate) fn stream(message: &str) -> PyErr {
    tree::StreamError::new_err(message.to_owned())
}

fn kind(given: &Bound<'_, PyAny>) -> String {
    given.get_type().name().map_or_else(|_| "something unnamed".into(), |n| n.to_string())
}

/// As `ctxproto.errors.shown`.
fn shown(given: &Bound<'_, PyAny>) -> String {
    let length = match (given.cast::<PyString>(), given.cast::<PyBytes>()) {
        (Ok(text), _) => text.code_point_len().ok().map(|n| (n, "character")),
        (_, Ok(bytes)) => Some((bytes.as_bytes().len(), "byte")),
        _ => None,
    };
    let kind = kind(given);
    match length {
        Some((1, unit)) => format!("a {kind} of 1 {unit}"),
        Some((n, unit)) => format!("a {kind} of {n} {unit}s"),
        None if given.is_none() => "None".into(),
        None => format!("{} {kind}", if kind.starts_with(['a', 'e', 'i', 'o']) { "an" } else { "a" }),
    }
}
