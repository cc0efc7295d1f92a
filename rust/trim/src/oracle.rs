//! The slow way to the same result: redact all of the text, then look at its ends.

use std::sync::{Arc, LazyLock};

use ctxproto_redact::detect::{Detector, Pii, Policy};
use ctxproto_redact::{Options, Redactor};
use proptest::prelude::*;

use crate::count::Count;
use crate::ends::Ends;
use crate::loss::Size;
use crate::piece::Piece;
use crate::plan::Plan;
use crate::strategy::Strategy as Trim;
use crate::stream::Need;
use crate::view::{Look, View, Windows, first, last};

/// A redaction of the whole, of which ends are taken.
struct Whole<'t> {
    all: Piece<'t>,
    size: Size,
}

impl<'t> Windows<'t> for Whole<'t> {
    fn head(&self, want: usize) -> Look<'t> {
        Look { piece: first(self.all.clone(), want), whole: self.all.len() <= want }
    }
    fn tail(&self, want: usize) -> Look<'t> {
        Look { piece: last(self.all.clone(), want), whole: self.all.len() <= want }
    }
    fn size(&self) -> Size {
        self.size
    }
}

/// Three bytes a token, and some more by what the text is.
struct Uneven;

impl Count for Uneven {
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

static REDACTOR: LazyLock<Arc<Redactor>> = LazyLock::new(|| {
    let policy = Policy { pii: Pii::All, ..Policy::default() };
    Arc::new(Redactor::new(Arc::new(Detector::new(&policy).expect("compiles")), Options::default()))
});

fn plan(strategy: Trim, budget: usize, redact: bool) -> Plan {
    Plan { redactor: redact.then(|| REDACTOR.clone()), ..Plan::new(strategy, budget, Arc::new(Uneven)) }
}

fn token() -> String {
    format!("ghp_{} ", ["abcdefghijklmnopqrstuvwxyz01232LolCm"][0])
}

fn fragment() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(vec![
            "a line that is plain\n", "ERROR 7: no\n", "step 1 done\n", "step 22 done\n", "exit code 3\n", "\n", "  at x\n", "é", "日本",
            "password=hunter2\n", "mail ada@example.com ", "[4111111111111111, 3]", "{\"card\": [1, ", "\u{1b}[31m", "%2D", "\r\n", "no end",
        ]).prop_map(str::to_owned),
        1 => Just(token()),
        1 => Just(format!("-----BEGIN RSA PRIVATE KEY-----\n{}-----END RSA PRIVATE KEY-----\n", "MIIEpAIBAAKCAQEA/+aB3dE6gH9j\n".repeat(9))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn looking_at_the_ends_is_enough(
        parts in prop::collection::vec(fragment(), 0..40), gap in 0usize..4000, budget in 30usize..300
    ) {
        let text = parts.join(&"12 bytes, so\n".repeat(gap / 13)).into_bytes();
        let view = View { raw: &text, redactor: Some(&REDACTOR) };
        let whole = Whole { all: view.all().piece, size: Size::of(&text) };
        for (strategy, which) in
            [(Trim::FirstN, Ends::First), (Trim::LastN, Ends::Last), (Trim::HeadTail, Ends::Both)]
        {
            let plan = plan(strategy, budget, true);
            prop_assert_eq!(plan.ends(&view, which, true), plan.ends(&whole, which, true));
        }
    }

    #[test]
    fn pieces_give_the_result_of_the_whole(
        parts in prop::collection::vec(fragment(), 0..60), budget in 30usize..200, redact in any::<bool>(), step in 1usize..200
    ) {
        let text = parts.concat().into_bytes();
        for strategy in [Trim::FirstN, Trim::LastN, Trim::HeadTail, Trim::Lines, Trim::Auto, Trim::Summary] {
            let plan = plan(strategy, budget, redact);
            let want = plan.trim(&text);
            for step in [step, text.len().max(1)] {
                let mut trimmer = plan.stream();
                let mut enough = false;
                for piece in text.chunks(step) {
                    let need = trimmer.push(piece);
                    prop_assert!(!enough || need == Need::Enough);
                    enough = need == Need::Enough;
                }
                prop_assert_eq!(&trimmer.finish(), &want, "{}", plan.strategy.name());
            }
        }
    }

    /// What is kept when reading stops at once is what is kept when it goes on.
    #[test]
    fn enough_is_enough(parts in prop::collection::vec(fragment(), 40..80), budget in 40usize..80) {
        let text = parts.concat().into_bytes();
        let plan = plan(Trim::FirstN, budget, true);
        let mut trimmer = plan.stream();
        let read = text.chunks(100).take_while(|piece| trimmer.push(piece) == Need::More).count();
        let body = |text: &[u8]| {
            let from = text.iter().position(|&b| b == b'\n').map_or(0, |i| i + 1);
            let to = text.windows(4).rposition(|w| w == b"cut]").unwrap_or(text.len());
            text[from..to - 12.min(to - from)].to_vec()
        };
        if read * 100 + 100 < text.len() {
            let (early, late) = (trimmer.stop().expect("fits"), plan.trim(&text).expect("fits"));
            let (early_body, late_body) = (body(&early.text), body(&late.text));
            let common = early_body.len().min(late_body.len());
            prop_assert!(!early.loss.complete && early.loss.source.bytes <= text.len() && common > 0);
            prop_assert_eq!(&early_body[..common], &late_body[..common]);
        }
    }
}

/// Whatever the cut between two pieces.
#[test]
fn every_split_is_the_whole() {
    let text = format!("one\nERROR: {}\n{}\r\nlast é line, exit code 2", token(), "filler 12\n".repeat(40));
    for strategy in [Trim::FirstN, Trim::LastN, Trim::HeadTail, Trim::Lines] {
        let plan = plan(strategy, 60, true);
        let want = plan.trim(text.as_bytes());
        for cut in 0..=text.len() {
            let mut trimmer = plan.stream();
            trimmer.push(&text.as_bytes()[..cut]);
            trimmer.push(&text.as_bytes()[cut..]);
            assert_eq!(trimmer.finish(), want, "{} at {cut}", plan.strategy.name());
        }
    }
}
