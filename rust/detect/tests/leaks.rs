//! Secrets in the notations that people and programs use: found in each, and what only looks like one is left.

#![allow(clippy::unwrap_used)]

mod cases;

use cases::{NOTATIONS, draw};
use ctxproto_detect::{Detector, Policy};

/// Draws of each template: values differ in length and letters.
const SEEDS: u64 = 5;

#[test]
fn every_notation() {
    let detector = Detector::new(&Policy::default()).unwrap();
    let mut wrong = vec![];
    for notation in NOTATIONS {
        for template in notation.found {
            let missed = (0..SEEDS).filter(|&seed| {
                let case = draw(template, seed);
                let found = detector.scan(case.text.as_bytes());
                let gone =
                    |&(start, end): &(usize, usize)| found.iter().any(|m| m.start <= start && m.end >= end);
                // What is taken beside the values must not be much: names and structure stay.
                let taken: usize = found.iter().map(|m| m.end - m.start).sum();
                let values: usize = case.values.iter().map(|v| v.1 - v.0).sum();
                !case.values.iter().all(gone) || taken > values + 4 * case.values.len()
            });
            let missed = missed.count();
            if missed > 0 {
                wrong.push(format!("{}: {missed} of {SEEDS} missed in {template:?}", notation.name));
            }
        }
        for text in notation.kept {
            for m in detector.scan(text.as_bytes()) {
                wrong.push(format!("{}: {:?} taken from {text:?}", notation.name, &text[m.start..m.end]));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}
