//! What must hold for every input: one plain function for each promise.
//!
//! They are called by `tests/replay.rs` with made and kept inputs, and by the fuzzer in `fuzz/` at the top with its own.

#![allow(clippy::unwrap_used)]

mod json;

use std::sync::{Arc, LazyLock};

use ctxproto_redact::detect::{Detector, Pii, Policy};
use ctxproto_redact::{Finding, Format, Options, Placeholder, Redactor, Vault};

/// A promise, by its name.
pub(crate) type Target = (&'static str, fn(&[u8]));

/// All of them.
pub(crate) const TARGETS: [Target; 5] =
    [("any_bytes", any_bytes), ("stream", stream), ("json", json), ("rules", rules), ("vault", vault)];

const FORMATS: [Format; 4] = [Format::Auto, Format::Text, Format::Json, Format::JsonLines];

/// The default policy, and one with all that can be switched on.
pub(crate) static REDACTORS: LazyLock<[Arc<Redactor>; 2]> = LazyLock::new(|| {
    let known = vec![("KNOWN".to_owned(), b"correct horse battery".to_vec())];
    [Policy::default(), Policy { pii: Pii::All, known_values: known, ..Policy::default() }]
        .map(|policy| Arc::new(redactor(&policy, Placeholder::Label)))
});

fn redactor(policy: &Policy, placeholder: Placeholder) -> Redactor {
    Redactor::new(Arc::new(Detector::new(policy).unwrap()), Options { placeholder, key: [7; 32] })
}

/// The first byte of an input decides what else there is to decide.
fn choice(data: &[u8]) -> (usize, &[u8]) {
    data.split_first().map_or((0, data), |(first, rest)| (usize::from(*first), rest))
}

/// Any bytes are redacted: findings are in order, inside the text, and the rest of the text is kept.
pub(crate) fn any_bytes(data: &[u8]) {
    let (choice, text) = choice(data);
    let format = FORMATS[choice % 4];
    let redactor = &REDACTORS[choice / 4 % 2];
    let scanned = redactor.scan(text, format);
    let Some(redaction) = redactor.redact(text, format) else {
        assert!(scanned.is_empty(), "found and not replaced");
        return;
    };
    // Only a redaction places something.
    let found: Vec<_> = redaction.findings.iter().map(|f| Finding { placed: 0, ..f.clone() }).collect();
    assert_eq!(scanned, found, "scan and redact differ");
    let mut rest = redaction.text.as_slice();
    let mut at = 0;
    for found in &redaction.findings {
        assert!(
            at <= found.start && found.start < found.end && found.end <= text.len(),
            "misplaced: {found:?}"
        );
        let kept = &text[at..found.start];
        assert!(rest.starts_with(kept), "what stands before a finding changed");
        rest = &rest[kept.len()..];
        // A number of JSON is replaced by a string: its placeholder stands in quotes.
        let quote = rest.iter().position(|b| *b == b'[').expect("a placeholder");
        let (quote, placeholder) = rest.split_at(quote);
        assert!(
            matches!(quote, [] | [.., b'"']) && quote.iter().all(|b| matches!(b, b'"' | b'\\')),
            "not a quote"
        );
        let end = placeholder.iter().position(|b| *b == b']').expect("the end of a placeholder") + 1;
        assert!(placeholder[..end].ends_with(b":REDACTED]"), "not a placeholder");
        rest = placeholder[end..].strip_prefix(quote).expect("the other quote");
        at = found.end;
    }
    assert_eq!(rest, &text[at..], "the end of the text changed");
}

/// A stream says the same as the whole, wherever it is cut: text, places, rules, lines.
pub(crate) fn stream(data: &[u8]) {
    let (choice, rest) = choice(data);
    let redactor = &REDACTORS[choice % 2];
    let format = FORMATS[choice / 2 % 4];
    // Up to seven bytes say where to cut, again and again.
    let (steps, text) = rest.split_at(rest.len().min(choice / 8 % 8));
    let mut stream = redactor.stream(format);
    let mut out = vec![];
    let mut left = text;
    for step in steps.iter().cycle().take(if steps.is_empty() { 0 } else { text.len() }) {
        let (piece, after) = left.split_at(left.len().min(usize::from(*step)));
        stream.feed(piece, &mut out);
        left = after;
    }
    stream.feed(left, &mut out);
    stream.finish(&mut out);
    assert_eq!(stream.held(), 0);
    match redactor.redact(text, format) {
        Some(whole) => {
            assert_eq!(
                (String::from_utf8_lossy(&out), stream.take_findings()),
                (String::from_utf8_lossy(&whole.text), whole.findings),
            );
        }
        None => assert_eq!((out.as_slice(), stream.take_findings()), (text, vec![])),
    }
}

/// JSON stays JSON, with the same keys, shape and numbers; a value that is JSON itself, too.
pub(crate) fn json(data: &[u8]) {
    let (choice, text) = choice(data);
    let Some(before) = json::events(text) else { return };
    let format = [Format::Auto, Format::Json, Format::JsonLines][choice % 3];
    if before.len() == 1 && format == Format::Auto {
        return; // a number alone is text as well as JSON
    }
    let redactor = &REDACTORS[choice / 3 % 2];
    let Some(redaction) = redactor.redact(text, format) else { return };
    let after = json::events(&redaction.text)
        .unwrap_or_else(|| panic!("no JSON any more: {}", String::from_utf8_lossy(&redaction.text)));
    if let Err(what) = json::same_shape(&before, &after) {
        panic!("{what}: {}", String::from_utf8_lossy(&redaction.text));
    }
}

/// A rule file is understood or refused, whatever is in it; what was understood can be used.
pub(crate) fn rules(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let extended = |path: &str| match path {
        "base.toml" => Ok("[[rules]]\nid = \"base\"\nregex = 'base_[0-9]{9}'\n".to_owned()),
        _ => Err("there is no such file".to_owned()),
    };
    let policy =
        Policy { no_builtin: true, rule_files: vec![("fuzz.toml".into(), text.into())], ..Policy::default() };
    let Ok(detector) = Detector::with_files(&policy, &extended) else { return };
    for rule in 0..detector.rules().len().min(8) {
        let _ = detector.self_test(rule as u16);
    }
    let redactor = Arc::new(Redactor::new(Arc::new(detector), Options::default()));
    let text = [b"token=abcdefgh0123456789 base_123456789 \xff\n".repeat(8), data.to_vec()].concat();
    let whole = redactor.redact(&text, Format::Auto).map_or_else(|| text.clone(), |r| r.text);
    let mut stream = redactor.stream(Format::Auto);
    let mut out = vec![];
    text.chunks(7).for_each(|piece| stream.feed(piece, &mut out));
    stream.finish(&mut out);
    assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(&whole));
}

/// What a vault took out it puts back, and it leaves alone what is not its own.
pub(crate) fn vault(data: &[u8]) {
    static KEPT: LazyLock<(Arc<Vault>, Redactor)> = LazyLock::new(|| {
        let vault = Arc::new(Vault::new(&[3; 32]));
        (Arc::clone(&vault), redactor(&Policy::default(), Placeholder::Vault(vault)))
    });
    let (vault, redactor) = &*KEPT;
    let stranger = Vault::new(&[4; 32]);
    assert_eq!(stranger.restore(data), data, "an empty vault changed the text");
    vault.wipe();
    if let Some(hidden) = redactor.redact(data, Format::Auto) {
        assert_eq!(stranger.restore(&hidden.text), hidden.text, "a stranger knows the value");
        let restored = vault.restore(&hidden.text);
        // A number of JSON comes back in the quotes that its placeholder needed.
        let plain =
            |text: &[u8]| text.iter().filter(|b| !matches!(b, b'"' | b'\\')).copied().collect::<Vec<_>>();
        assert_eq!(
            String::from_utf8_lossy(&plain(&restored)),
            String::from_utf8_lossy(&plain(data)),
            "not put back"
        );
    }
    vault.wipe();
    assert!(vault.is_empty());
}
