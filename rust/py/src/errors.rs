//! The one mapping from what can go wrong in Rust to the exception tree of `ctxproto.errors`.

use ctxproto_redact::detect::PolicyError;
use pyo3::prelude::*;

mod tree {
    pyo3::import_exception!(ctxproto.errors, InputError);
    pyo3::import_exception!(ctxproto.errors, InputTypeError);
    pyo3::import_exception!(ctxproto.errors, InternalError);
    pyo3::import_exception!(ctxproto.errors, RuleError);
    pyo3::import_exception!(ctxproto.errors, StreamError);
}

pub(crate) fn internal(message: &str) -> PyErr {
    tree::InternalError::new_err(message.to_owned())
}

/// A value that cannot be worked on, whatever its type.
pub(crate) fn input(message: String) -> PyErr {
    tree::InputError::new_err(message)
}

/// `what` was given something of a type it does not take.
pub(crate) fn wrong_type(what: &str, takes: &str, given: &Bound<'_, PyAny>) -> PyErr {
    // Of the given object only its type is shown: its value may be the secret.
    let kind = given.get_type().name().map_or_else(|_| "something unnamed".into(), |n| n.to_string());
    tree::InputTypeError::new_err(format!("{what} takes {takes}, not {kind}"))
}

pub(crate) fn policy(error: &PolicyError) -> PyErr {
    tree::RuleError::new_err(error.to_string())
}

pub(crate) fn stream(message: &str) -> PyErr {
    tree::StreamError::new_err(message.to_owned())
}
