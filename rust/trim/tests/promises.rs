//! What every strategy promises, for every text.

#![allow(clippy::unwrap_used)]

mod common;

use std::borrow::Cow;
use std::collections::HashSet;

use common::{REDACTOR, SECRET, counters, json, plan, strategies, text};
use ctxproto_redact::Format;
use ctxproto_trim::{Loss, Strategy as Trim, TrimError};
use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation;

fn adds_up(loss: &Loss, source: usize) {
    assert_eq!(loss.source.bytes, source);
    assert_eq!(loss.kept.bytes + loss.dropped.bytes, loss.source.bytes);
    assert_eq!(loss.kept.lines + loss.dropped.lines, loss.source.lines);
    assert_eq!(loss.ranges.iter().map(ExactSizeIterator::len).sum::<usize>(), loss.dropped.bytes);
    assert!(loss.ranges.windows(2).all(|w| w[0].end < w[1].start));
    assert!(loss.ranges.last().is_none_or(|r| r.end <= source));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn the_bound_holds_and_the_report_adds_up(text in text(), budget in 0usize..400, redact in any::<bool>()) {
        let redacted = if redact { REDACTOR.redact(&text, Format::Auto).map(|r| r.text) } else { None };
        let redacted = redacted.as_deref().unwrap_or(&text);
        for counter in counters() {
            for strategy in strategies() {
                let name = strategy.name();
                let selects = matches!(strategy, Trim::FieldWhitelist(_) | Trim::Summary);
                let plan = plan(strategy, budget, counter.clone(), redact);
                let fits = counter.count(redacted) <= budget;
                match plan.trim(&text) {
                    Ok(trimmed) => {
                        let tokens = counter.count(&trimmed.text);
                        prop_assert!(tokens <= budget, "{name}: {tokens} of {budget}");
                        prop_assert_eq!(tokens, trimmed.loss.tokens, "{}", name);
                        adds_up(&trimmed.loss, text.len());
                        if fits && !selects {
                            prop_assert_eq!(&*trimmed.text, redacted, "{}", name);
                            prop_assert_eq!(trimmed.loss.strategy, "whole");
                            if redacted == text {
                                prop_assert!(matches!(trimmed.text, Cow::Borrowed(_)));
                            }
                        }
                        prop_assert_eq!(&plan.trim(&text).unwrap(), &trimmed);
                    }
                    Err(TrimError::TooSmall { budget: asked, needed }) => {
                        prop_assert!(asked == budget && needed > budget && (!fits || selects), "{name}");
                    }
                    Err(other) => prop_assert!(false, "{name}: {other}"),
                }
            }
        }
    }

    /// Where a text is cut, no character, escape or placeholder is.
    #[test]
    fn cuts_tear_nothing(text in text(), budget in 20usize..300) {
        let Ok(text) = String::from_utf8(text) else { return Ok(()) };
        let mut whole: HashSet<usize> = text.grapheme_indices(true).map(|(at, _)| at).collect();
        whole.insert(text.len());
        for placeholder in ["[GITHUB_TOKEN:REDACTED]", "[TOKEN:3f9a12c4]", r"\u00e9", r"\ud83d\ude00"] {
            for (at, _) in text.match_indices(placeholder) {
                // The slash may be escaped itself, and what follows no escape then.
                if !text[..at].ends_with('\\') {
                    whole.retain(|cut| !(at + 1..at + placeholder.len()).contains(cut));
                }
            }
        }
        for counter in counters() {
            for strategy in strategies() {
                let name = strategy.name();
                let Ok(trimmed) = plan(strategy, budget, counter.clone(), false).trim(text.as_bytes()) else { continue };
                for range in &trimmed.loss.ranges {
                    for at in [range.start, range.end] {
                        prop_assert!(whole.contains(&at), "{name}: cut at {at} of {text:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn no_part_of_a_secret_comes_out(text in text(), budget in 10usize..200, at in any::<prop::sample::Index>()) {
        let mut text = text;
        let at = at.index(text.len() + 1);
        text.splice(at..at, format!(" {SECRET} ").into_bytes());
        let redacted = REDACTOR.redact(&text, Format::Auto).map_or_else(|| text.clone(), |r| r.text);
        let parts: Vec<&[u8]> = SECRET.as_bytes()[10..].windows(6).collect();
        let holds = |text: &[u8]| parts.iter().any(|p| text.windows(6).any(|w| w == *p));
        // In some surroundings it is no secret: as the whole is redacted, so are the parts.
        prop_assume!(!holds(&redacted));
        for counter in counters() {
            for strategy in strategies() {
                let name = strategy.name();
                if let Ok(trimmed) = plan(strategy, budget, counter.clone(), true).trim(&text) {
                    prop_assert!(!holds(&trimmed.text), "{name}: {}", String::from_utf8_lossy(&trimmed.text));
                }
            }
        }
    }

    #[test]
    fn json_stays_json(text in json(), budget in 8usize..300) {
        let source: serde_json::Value = match serde_json::from_slice(&text) {
            Ok(source) => source,
            // A number that only text can hold.
            Err(_) => serde_json::Value::Null,
        };
        let mut known = HashSet::new();
        leaves(&source, &mut known);
        for counter in counters() {
            for strategy in [Trim::Json, Trim::Auto, strategies().remove(8)] {
                let name = strategy.name();
                let Ok(trimmed) = plan(strategy, budget, counter.clone(), false).trim(&text) else { continue };
                let out = String::from_utf8_lossy(&trimmed.text).into_owned();
                let big = out.replace("1e400", "0");
                let parsed = serde_json::from_str::<serde_json::Value>(&big);
                prop_assert!(parsed.is_ok() || trimmed.loss.instead.is_some(), "{name}: {out} from {}", String::from_utf8_lossy(&text));
                if let (Ok(parsed), false) = (parsed, source.is_null()) {
                    let mut found = HashSet::new();
                    leaves(&parsed, &mut found);
                    for leaf in found {
                        prop_assert!(leaf == "null" || known.contains(&leaf) || leaf.contains(" cut]") || leaf.contains("[trimmed"), "{name}: {leaf:?} in {out}");
                    }
                }
            }
        }
    }
}

/// Every key and every value, as text.
fn leaves(value: &serde_json::Value, out: &mut HashSet<String>) {
    match value {
        serde_json::Value::Array(items) => items.iter().for_each(|item| leaves(item, out)),
        serde_json::Value::Object(members) => {
            for (key, value) in members {
                out.insert(format!("{key:?}"));
                leaves(value, out);
            }
        }
        serde_json::Value::String(text) => drop(out.insert(format!("{text:?}"))),
        other => drop(out.insert(other.to_string())),
    }
}
