//! Counters and texts that the tests share.

#![allow(dead_code, clippy::unwrap_used)]

use std::sync::{Arc, LazyLock};

use ctxproto_redact::detect::{Detector, Policy};
use ctxproto_redact::{Options, Redactor};
use ctxproto_trim::{Count, Fields, Patterns, Plan, Strategy as Trim};
use proptest::prelude::*;

/// Four bytes a token.
pub(crate) struct Fours;

impl Count for Fours {
    fn count(&self, text: &[u8]) -> usize {
        text.len().div_ceil(4)
    }
    fn limit(&self, text: &[u8], most: usize) -> usize {
        text.len().min(most * 4)
    }
    fn limit_back(&self, text: &[u8], most: usize) -> usize {
        text.len() - text.len().min(most * 4)
    }
}

/// A count that neither adds up nor grows with the text: what worst a tokenizer could do.
pub(crate) struct Nasty;

impl Count for Nasty {
    fn count(&self, text: &[u8]) -> usize {
        let hash = text.iter().fold(7u64, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01B3));
        text.len() / 3 + usize::from(!text.is_empty()) + (hash >> 40) as usize % 5
    }
    fn limit(&self, text: &[u8], most: usize) -> usize {
        (0..=text.len().min(most * 3)).rev().find(|&end| self.count(&text[..end]) <= most).unwrap_or(0)
    }
    fn limit_back(&self, text: &[u8], most: usize) -> usize {
        let first = text.len() - text.len().min(most * 3);
        (first..=text.len()).find(|&at| self.count(&text[at..]) <= most).unwrap_or(text.len())
    }
}

pub(crate) fn counters() -> [Arc<dyn Count>; 2] {
    [Arc::new(Fours), Arc::new(Nasty)]
}

pub(crate) static REDACTOR: LazyLock<Arc<Redactor>> = LazyLock::new(|| {
    Arc::new(Redactor::new(Arc::new(Detector::new(&Policy::default()).unwrap()), Options::default()))
});

pub(crate) fn strategies() -> Vec<Trim> {
    vec![
        Trim::Auto,
        Trim::FirstN,
        Trim::LastN,
        Trim::HeadTail,
        Trim::Lines,
        Trim::Json,
        Trim::Table,
        Trim::Diff,
        Trim::FieldWhitelist(Fields::new(["a", "items.b", "*.c"]).unwrap()),
        Trim::Summary,
    ]
}

pub(crate) fn plan(strategy: Trim, budget: usize, counter: Arc<dyn Count>, redact: bool) -> Plan {
    let patterns = Patterns::new(["need[l]e"]).unwrap();
    Plan { patterns, redactor: redact.then(|| REDACTOR.clone()), ..Plan::new(strategy, budget, counter) }
}

/// A secret, whole: any six bytes of its end would be a leak.
pub(crate) const SECRET: &str = concat!("gh", "p_abcdefghijklmnopqrstuvwxyz01232LolCm");

/// Pieces that texts are made of: what is special to some strategy, and what must not be cut.
pub(crate) fn fragment() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => prop::sample::select(vec![
            "a plain line\n", "step 12 of 99 done\n", "step 13 of 99 done\n", "ERROR: disk full\n", "exit code 1\n", "warning: old\n",
            "Traceback (most recent call last):\n  File \"x.py\", line 1\nValueError: y\n", "\n", "\r\n", "needle 7\n", "  indented\n",
            "日本語のテキスト", "👩\u{200d}👩\u{200d}👧", "e\u{301}\u{302}", "é", " ", "\t", "\0", r"\u00e9", r"\n", r"\\", r"\ud83d\ude00",
            "{\"a\": 1, \"items\": [{\"b\": 2}, {\"b\": 3}]}\n", "[1, 2, 3]\n", "a,b,c\n1,2,3\n4,5,6\n7,8,9\n", "| a | b |\n|---|---|\n| 1 | 2 |\n",
            "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-old\n+new\n same\n",
            "[GITHUB_TOKEN:REDACTED]", "********", "[TOKEN:3f9a12c4]", "\"", "{", "}", "🇩🇪🇫🇷", "\u{feff}",
        ]).prop_map(str::to_owned),
        2 => Just(format!("token {SECRET} ")),
        1 => Just(format!("-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----\n", "MIIEpAIBAAKCAQEA/+aB3dE6gH9j\n".repeat(4))),
        1 => "[a-z ]{0,40}\n",
        1 => "\\PC{0,12}",
    ]
}

pub(crate) fn text() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        6 => prop::collection::vec(fragment(), 0..60).prop_map(|parts| parts.concat().into_bytes()),
        1 => prop::collection::vec(any::<u8>(), 0..600),
        2 => json(),
    ]
}

/// JSON, with blanks now and then.
pub(crate) fn json() -> impl Strategy<Value = Vec<u8>> {
    let string = prop_oneof![
        4 => "[a-z]{0,8}",
        1 => Just("error".to_owned()),
        1 => "\\PC{0,60}",
        1 => "[a-z ]{100,300}",
        1 => Just("{\"in\": [1, 2, {\"deep\": \"日本\"}], \"more\": \"0123456789 0123456789 0123456789\"}".to_owned()),
    ];
    let quoted = string.clone().prop_map(|s| serde_json::to_string(&s).unwrap());
    let leaf = prop_oneof![
        2 => quoted.clone(),
        1 => prop::sample::select(vec!["0", "-1.50", "1e400", "123456789012345678901234567890", "true", "null"]).prop_map(str::to_owned),
    ];
    let key = prop_oneof![3 => prop::sample::select(vec!["\"a\"", "\"b\"", "\"c\"", "\"items\"", "\"error\""]).prop_map(str::to_owned), 1 => quoted];
    leaf.prop_recursive(5, 80, 12, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..12).prop_map(|v| format!("[{}]", v.join(", "))),
            prop::collection::vec((key.clone(), inner), 0..12).prop_map(|v| {
                // A reader keeps one of two members with the same key, so it could not tell where a value comes from.
                let members: std::collections::BTreeMap<String, String> = v.into_iter().collect();
                let members: Vec<String> = members.into_iter().map(|(k, v)| format!("{k}: {v}")).collect();
                format!("{{{}}}", members.join(",\n "))
            }),
        ]
    })
    .prop_map(String::into_bytes)
}
