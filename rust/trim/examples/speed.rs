//! What a trim costs: `cargo run --release -p ctxproto-trim --example speed -- FILE [TOKENS]`.
//!
//! The counter is a stand-in of a fixed price a byte, so that what is measured is the trimming.

#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use ctxproto_redact::detect::{Detector, Policy};
use ctxproto_redact::{Format, Options, Redactor};
use ctxproto_trim::{Count, Plan, Strategy};

/// Four bytes a token, looked at one by one: about a nanosecond each.
struct Fours;

impl Count for Fours {
    fn count(&self, text: &[u8]) -> usize {
        text.iter().map(|&b| usize::from(black_box(b) < 255)).sum::<usize>().div_ceil(4)
    }
    fn limit(&self, text: &[u8], most: usize) -> usize {
        let end = text.len().min(most.saturating_mul(4));
        black_box(self.count(&text[..end]));
        end
    }
    fn limit_back(&self, text: &[u8], most: usize) -> usize {
        let from = text.len() - text.len().min(most.saturating_mul(4));
        black_box(self.count(&text[from..]));
        from
    }
}

fn median(mut run: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..101)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[50]
}

fn main() {
    let mut args = std::env::args().skip(1);
    let file = args.next().expect("a file");
    let budget = args.next().map_or(1500, |n| n.parse().expect("a number of tokens"));
    let text = std::fs::read(file).expect("a file that can be read");
    let detector = Detector::new(&Policy::default()).expect("the built-in rules compile");
    let redactor = Arc::new(Redactor::new(Arc::new(detector), Options::default()));
    let redact = median(|| drop(black_box(redactor.redact(&text, Format::Auto))));
    println!("{} bytes; redacting all: {redact:.0} us", text.len());
    for strategy in [
        Strategy::FirstN,
        Strategy::LastN,
        Strategy::HeadTail,
        Strategy::Lines,
        Strategy::Auto,
        Strategy::Summary,
    ] {
        let mut plan = Plan::new(strategy, budget, Arc::new(Fours));
        let bare = median(|| drop(black_box(plan.trim(&text))));
        plan.redactor = Some(redactor.clone());
        let fused = median(|| drop(black_box(plan.trim(&text))));
        let used = plan.trim(&text).map_or("error", |t| t.loss.strategy);
        println!("{:>10} ({used}): {bare:.0} us, with redaction {fused:.0} us", plan.strategy.name());
    }
}
