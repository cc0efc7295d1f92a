#![no_main]

#[path = "../../rust/redact/tests/fuzz/mod.rs"]
#[allow(dead_code)]
mod fuzz;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::vault(data));
