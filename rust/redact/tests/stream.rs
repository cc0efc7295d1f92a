//! Whatever the pieces, a stream gives the redaction of the whole.

#![allow(clippy::unwrap_used)]

#[path = "../../detect/tests/cases/mod.rs"]
mod cases;

use std::sync::{Arc, LazyLock};

use ctxproto_redact::detect::{Allow, Detector, Pii, Policy};
use ctxproto_redact::{Format, Options, Redactor};
use proptest::prelude::*;

static REDACTORS: LazyLock<Vec<Arc<Redactor>>> = LazyLock::new(|| {
    let known = vec![("SECRET".to_owned(), b"correct horse battery".to_vec())];
    [
        Policy::default(),
        Policy { pii: Pii::All, known_values: known, ..Policy::default() },
        Policy { rule_files: vec![("patterns.toml".into(), PATTERNS.into())], ..Policy::default() },
        Policy {
            allow: Allow { inline: true, ..Allow::default() },
            known_values: vec![("SECRET".to_owned(), b"correct horse battery".to_vec())],
            rule_files: vec![("patterns.toml".into(), PATTERNS.into())],
            ..Policy::default()
        },
    ]
    .iter()
    .map(|policy| Arc::new(Redactor::new(Arc::new(Detector::new(policy).unwrap()), Options::default())))
    .collect()
});

/// Patterns that need the line, what stands before it, and what follows it.
const PATTERNS: &str = r#"
    [[rules]]
    id = "team"
    regex = '(?i)token[^=]{0,8}=\s*["\x27]?([^\s"\x27]{4,20})'
    keywords = ["token"]
    [[rules]]
    id = "block"
    regex = '-----BEGIN [\s\S]{2,400}?battery'
    [[rules]]
    id = "line"
    regex = '^.*hunter2.*$'
    [[rules]]
    id = "any"
    regex = '\b[0-9a-f]{30}'
    [[rules]]
    id = "edge"
    regex = '\n\.[\s\S]{3}'
    keywords = ["."]
    [rules.allowlist]
    regexTarget = "line"
    regexes = ["user:"]
"#;

fn random(len: usize, alphabet: &'static str) -> impl Strategy<Value = String> {
    let bytes = alphabet.as_bytes();
    prop::collection::vec(0..bytes.len(), len)
        .prop_map(move |v| v.into_iter().map(|i| char::from(bytes[i])).collect())
}

const ALNUM: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// Pieces of text with which findings are made, broken and nearly made.
fn fragment() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "password",
        "=",
        ": ",
        "\"",
        "'",
        "\\\"",
        " ",
        "\n",
        "\r\n",
        "\\n",
        "token",
        "api_key",
        "://",
        "user:",
        "@",
        "example.com",
        "ghp_",
        "sk-",
        "AKIA",
        "xoxb-",
        "SG.",
        ".",
        ",",
        ";",
        "&",
        "-----BEGIN RSA PRIVATE KEY-----",
        "-----END RSA PRIVATE KEY-----",
        "----",
        "Authorization: ",
        "Bearer ",
        "Basic ",
        "Cookie: a=",
        "4111 1111 ",
        "4111111111111111",
        "123-45-6789",
        "219-09-9999",
        "GB82 WEST 1234 5698 7654 32",
        "eyJ",
        "\u{200b}",
        "\u{1b}[31m",
        "%2D",
        "\\u002d",
        "&#45;",
        "ｇｈｐ",
        "日本語",
        "é",
        "{",
        "}",
        "[",
        "]",
        ">",
        "<password>",
        "</password>",
        "$2b$10$",
        "10.0.0.1",
        "+1 555 123 4567",
        "correct horse ",
        "battery",
        "datadog ",
        "\t",
        "()",
        "hunter2",
        "machine x login y ",
        "PuTTY-User-Key-File-2: x\nPrivate-Lines: 1\n",
        "# ctxproto:allow\n",
        " // gitleaks:allow",
        "mysql ",
        " -p",
        " -u ",
        "curl ",
        "echo ",
        " | docker login --password-stdin",
        "- name: ",
        "DB_PASSWORD",
        "value",
        "\n  ",
        "- ",
        "|",
        "user,password\n",
        " is ",
        "密码",
        "：",
        "пароль",
        "IDENTIFIED BY ",
        "&str",
        "<property name=\"password\">",
        "<value>",
        "ENV ",
        "Tr0ub4dor",
        "auth=(",
    ])
    .prop_map(str::to_owned);
    prop_oneof![
        6 => words,
        1 => random(36, ALNUM).prop_map(|s| format!("ghp_{s}")),
        1 => random(20, ALNUM),
        1 => random(32, "0123456789abcdef"),
        1 => random(64, ALNUM).prop_map(|s| format!("{s}\n")),
        1 => random(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567").prop_map(|s| format!("AKIA{s}")),
    ]
}

/// The text, and for each finding its place, rule and line.
type Outcome = (Vec<u8>, Vec<(usize, usize, u16, usize)>);

fn whole(redactor: &Redactor, text: &[u8]) -> Outcome {
    match redactor.redact(text, Format::Auto) {
        Some(r) => (r.text, r.findings.iter().map(|f| (f.start, f.end, f.rule, f.line)).collect()),
        None => (text.to_vec(), vec![]),
    }
}

fn streamed(redactor: &Arc<Redactor>, text: &[u8], cuts: &[usize]) -> Outcome {
    let mut stream = redactor.stream(Format::Auto);
    let mut out = vec![];
    let mut at = 0;
    for &cut in cuts.iter().chain([&text.len()]) {
        stream.feed(&text[at..cut], &mut out);
        at = cut;
    }
    stream.finish(&mut out);
    (out, stream.take_findings().iter().map(|f| (f.start, f.end, f.rule, f.line)).collect())
}

/// Every notation of the detector's own tests, cut at every place.
#[test]
fn notations_in_pieces() {
    for notation in cases::NOTATIONS {
        for template in notation.found.iter().chain(notation.kept) {
            let case = cases::draw(template, 1);
            let (output, _) = in_pieces(&case.text);
            assert!(case.values.iter().all(|v| !output.contains(&case.text[v.0..v.1])), "{template:?}");
        }
    }
}

/// Tokens that came to harm, cut at every place.
#[test]
fn damage_in_pieces() {
    for (_, damage) in cases::damage::DAMAGES {
        for (token, _) in cases::damage::tokens(1) {
            in_pieces(&damage(&token));
        }
    }
}

/// The redaction of a text, which is that of the text cut at any place and at every place.
fn in_pieces(text: &str) -> (String, Outcome) {
    let redactor = &REDACTORS[0];
    let want = whole(redactor, text.as_bytes());
    let pieces = (0..=text.len()).map(|cut| vec![cut]).chain([(0..text.len()).collect()]);
    for cuts in pieces {
        assert_eq!(streamed(redactor, text.as_bytes(), &cuts), want, "cut at {cuts:?} of {text:?}");
    }
    (String::from_utf8_lossy(&want.0).into_owned(), want)
}

/// A comment that allows a value may come later than the value, and long after it none is waited for.
#[test]
fn allowed_in_pieces() {
    let redactor = &REDACTORS[3];
    let value = cases::draw("{t}", 1).text;
    for (text, allowed) in [
        (format!("token = {value} # ctxproto:allow\nnext"), true),
        (format!("token = \"{value}\", \"x\" // gitleaks:allow"), true),
        (format!("token: {value}\n# ctxproto:allow\n"), false),
        ("a correct horse battery # ctxproto:allow\nb correct horse battery".to_owned(), false),
        (format!("token:\n  {value} # ctxproto:allow\n"), true),
        (format!("token = {value}{}# ctxproto:allow\n", " ".repeat(900)), true),
        (format!("token = {value}{}# ctxproto:allow\n", " ".repeat(1100)), false),
    ] {
        let want = whole(redactor, text.as_bytes());
        assert_eq!(want.1.is_empty(), allowed, "{text}");
        let pieces = (0..=text.len()).map(|cut| vec![cut]).chain([(0..text.len()).collect()]);
        for cuts in pieces {
            assert_eq!(streamed(redactor, text.as_bytes(), &cuts), want, "cut at {cuts:?} of {text}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, ..ProptestConfig::default() })]

    #[test]
    fn every_split_equals_the_whole(parts in prop::collection::vec(fragment(), 1..24)) {
        let text = parts.concat().into_bytes();
        for redactor in REDACTORS.iter() {
            let want = whole(redactor, &text);
            for cut in 0..=text.len() {
                let got = streamed(redactor, &text, &[cut]);
                prop_assert_eq!(
                    (String::from_utf8_lossy(&got.0), &got.1), (String::from_utf8_lossy(&want.0), &want.1),
                    "cut at {} of {:?}", cut, String::from_utf8_lossy(&text)
                );
            }
            let every: Vec<usize> = (0..text.len()).collect();
            let got = streamed(redactor, &text, &every);
            prop_assert_eq!(
                (String::from_utf8_lossy(&got.0), &got.1), (String::from_utf8_lossy(&want.0), &want.1),
                "byte by byte {:?}", String::from_utf8_lossy(&text)
            );
        }
    }

    /// Lines of more than 4 KiB are taken in parts, which must not depend on the pieces either.
    #[test]
    fn long_lines_in_pieces(parts in prop::collection::vec(fragment(), 1..12), gap in 3900..4200usize, cut in 1..9000usize) {
        let text = parts.join(&".,".repeat(gap / 2)).into_bytes();
        for redactor in REDACTORS.iter() {
            let want = whole(redactor, &text);
            for step in [cut, 1000] {
                let cuts: Vec<usize> = (step..text.len()).step_by(step).collect();
                let got = streamed(redactor, &text, &cuts);
                prop_assert_eq!(
                    (String::from_utf8_lossy(&got.0), &got.1), (String::from_utf8_lossy(&want.0), &want.1),
                    "pieces of {}, gap {}, {:?}", step, gap, parts
                );
            }
        }
    }

    #[test]
    fn any_bytes_pass(text in prop::collection::vec(any::<u8>(), 0..600), cuts in prop::collection::vec(0usize..600, 0..4)) {
        let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(text.len())).collect();
        cuts.sort_unstable();
        for redactor in REDACTORS.iter() {
            let want = whole(redactor, &text);
            prop_assert!(want.1.iter().all(|f| f.0 < f.1 && f.1 <= text.len()));
            prop_assert!(want.1.windows(2).all(|w| w[0].1 <= w[1].0));
            prop_assert_eq!(streamed(redactor, &text, &cuts), want);
        }
    }

    /// What stands in a part of a redaction is what stands there in the whole, and it is known where it comes from.
    #[test]
    fn parts_equal_the_whole(
        parts in prop::collection::vec(fragment(), 1..40), gap in 0..20_000usize, want in 0..9000usize
    ) {
        let filler = "a line of filler, 12 of them\n".repeat(gap / 28);
        let text = parts.join(&filler).into_bytes();
        for redactor in REDACTORS.iter() {
            let all = redactor.redact(&text, Format::Auto);
            let all = all.map_or_else(|| text.clone(), |r| r.text);
            let head = redactor.head(&text, Format::Auto, want);
            prop_assert!(all.starts_with(&head.text) && head.text.len() >= want.min(all.len()));
            let tail = redactor.tail(&text, Format::Auto, want);
            prop_assert!(all.ends_with(&tail.text) && tail.text.len() >= want.min(all.len()));
            for part in [head, tail] {
                let gone: usize = part.findings.iter().map(|f| f.end - f.start).sum();
                let come: usize = part.findings.iter().map(|f| f.placed).sum();
                prop_assert_eq!(part.source.len() + come, part.text.len() + gone);
            }
        }
    }

    #[test]
    fn redaction_is_idempotent(parts in prop::collection::vec(fragment(), 1..24)) {
        let text = parts.join(" ").into_bytes();
        for redactor in REDACTORS.iter().take(1) {
            let once = whole(redactor, &text).0;
            let twice = whole(redactor, &once).0;
            prop_assert_eq!(String::from_utf8_lossy(&twice), String::from_utf8_lossy(&once), "{:?}", String::from_utf8_lossy(&text));
        }
    }
}
