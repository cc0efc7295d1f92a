//! The only crate that knows Python.
