//! `ctxproto._core`: the only crate that knows Python. It converts, guards and delegates; the work is done in the pure
//! crates.

mod batch;
mod budget;
mod enter;
mod errors;
mod function;
mod json;
mod lookup;
mod memory;
mod memory_rows;
mod memory_texts;
mod messages;
mod names;
mod numbers;
mod redaction;
mod redactor;
mod refusal;
mod rules;
mod stream;
mod text;
mod tokens;
mod trim;
mod vault;
mod walk;

/// The native part of ctxproto. Private: import from `ctxproto`.
#[pyo3::pymodule(gil_used = false)]
mod _core {
    use ctxproto_redact::detect::{Detector, Policy};
    /// Results are made on worker threads and freed on the caller's, small and many: that is where the system's allocator
    /// loses most.
    #[global_allocator]
    static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

    use pyo3::prelude::*;
    use pyo3::types::PyDict;

    #[pymodule_export]
    use crate::batch::{BatchProgress, FileReport, read_text, run_batch, run_filter};
    #[pymodule_export]
    use crate::budget::Flusher;
    #[pymodule_export]
    use crate::lookup::Lookup;
    #[pymodule_export]
    use crate::memory::{Records, after_fork, before_fork};
    #[pymodule_export]
    use crate::memory_texts::{judge, judged_length, memory_words, query_words};
    #[pymodule_export]
    use crate::messages::count_messages;
    #[pymodule_export]
    use crate::redaction::{Finding, Redaction, Rule};
    #[pymodule_export]
    use crate::redactor::Redactor;
    #[pymodule_export]
    use crate::rules::{_rule_example, rules_test};
    #[pymodule_export]
    use crate::stream::Stream;
    #[pymodule_export]
    use crate::tokens::{Counter, Encoding, limit_by};
    #[pymodule_export]
    use crate::trim::{TrimStream, Trimming};
    #[pymodule_export]
    use crate::vault::Vault;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::enter::install_panic_hook();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }

    /// What this binary is: its version, build profile and target, and the instructions its scanner uses here.
    #[pyfunction]
    fn build_info(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let info = PyDict::new(py);
        info.set_item("version", env!("CARGO_PKG_VERSION"))?;
        info.set_item("profile", if cfg!(debug_assertions) { "debug" } else { "release" })?;
        info.set_item("target", format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS))?;
        // The smallest detector there is knows what all of them use.
        let detector = Detector::new(&Policy { no_builtin: true, ..Policy::default() });
        info.set_item("simd", detector.as_ref().map_or("unknown", Detector::simd))?;
        Ok(info)
    }

    /// Panics on purpose, for the tests of the guard: attached, detached, on a thread or on the pool.
    #[pyfunction]
    fn _panic(py: Python<'_>, way: &str) -> PyResult<()> {
        use crate::enter;
        #[expect(clippy::panic, reason = "that is the point")]
        fn now<E>() -> Result<(), E> {
            panic!("this payload must not be seen");
        }
        match way {
            "attached" => enter::attached(now::<PyErr>)?,
            "detached" => enter::detached(py, now::<PyErr>)?,
            "long" => enter::long(py, |_| now()),
            _ => enter::parallel(py, &[1, 2, 3], |_, _| now(), |_, ()| Ok(())).map(drop),
        }
    }
}
