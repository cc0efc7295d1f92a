//! Real logs and agent runs: what matters in them survives.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod common;

use std::path::PathBuf;
use std::sync::Arc;

use common::{Fours, plan, strategies};
use ctxproto_trim::Strategy as Trim;

fn files(folder: &str) -> Vec<(String, Vec<u8>)> {
    let root = std::env::var_os("CTXPROTO_CORPORA").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpora")),
        PathBuf::from,
    );
    let Ok(entries) = std::fs::read_dir(root.join(folder)) else {
        eprintln!("skipped: no {folder} under {} (set CTXPROTO_CORPORA)", root.display());
        return vec![];
    };
    let files = entries.map(|e| e.unwrap().path()).filter(|p| p.is_file());
    files.map(|p| (p.display().to_string(), std::fs::read(&p).unwrap())).collect()
}

#[test]
fn every_strategy_on_real_text() {
    for (name, text) in files("logs").into_iter().chain(files("agents")).chain(files("agents/swe-agent")) {
        for strategy in strategies() {
            for budget in [100, 1500] {
                let plan = plan(strategy.clone(), budget, Arc::new(Fours), true);
                let trimmed = plan.trim(&text).unwrap();
                assert!(trimmed.loss.tokens <= budget, "{name}");
                assert_eq!(trimmed.loss.kept.bytes + trimmed.loss.dropped.bytes, text.len(), "{name}");
            }
        }
    }
}

/// Of the kinds of error lines in a log, how many can be seen.
#[test]
fn errors_of_real_logs_survive() {
    for (name, text) in files("logs") {
        let plan = plan(Trim::Lines, 1500, Arc::new(Fours), false);
        let trimmed = plan.trim(&text).unwrap();
        let out = String::from_utf8_lossy(&trimmed.text).into_owned();
        let text = String::from_utf8_lossy(&text).into_owned();
        let last = text.lines().rev().find(|l| !l.trim().is_empty()).unwrap();
        assert!(out.contains(last), "{name}");
        let bad =
            |text: &str| text.lines().any(|l| ["ERROR", "FATAL", "rror"].iter().any(|sign| l.contains(sign)));
        assert_eq!(bad(&out), bad(&text), "{name}");
    }
}
