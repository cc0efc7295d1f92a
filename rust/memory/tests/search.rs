//! Search against the formulas as they are printed, after any history of writes, by this store or another one.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use ctxproto_memory::{Change, Filter, Hit, Record, Scope, Store, words};
use proptest::prelude::*;

fn key(namespace: &str) -> Vec<u8> {
    namespace.split(':').flat_map(|part| [part.as_bytes(), b"\0"].concat()).collect()
}

fn scope(namespace: &str) -> Scope {
    match namespace.strip_suffix(':') {
        Some(above) => Scope { key: key(above), below: true },
        None => Scope { key: key(namespace), below: false },
    }
}

fn record(id: String, namespace: &str, content: &str) -> Record {
    Record {
        id,
        namespace: key(namespace),
        content: content.into(),
        kind: "decision".into(),
        purpose: String::new(),
        importance: 0.5,
        provenance: "agent".into(),
        created: 10,
        valid_from: 10,
        valid_to: None,
        supersedes: None,
        superseded_by: None,
        expires: None,
        metadata: "{}".into(),
    }
}

/// BM25 as it is printed, over what `list` says is there: the naive way, one word after the other.
fn plain(store: &Store, scope: &Scope, query: &str, filter: &Filter) -> Vec<(String, f64)> {
    let records = store.list(scope, &Filter { limit: None, ..filter.clone() }).expect("a list");
    let texts: Vec<Vec<String>> = records.iter().map(|record| words(&record.content)).collect();
    let n = texts.len() as f64;
    let average = (texts.iter().map(Vec::len).sum::<usize>() as f64 / n.max(1.0)).max(1.0);
    let asked: BTreeSet<String> = words(query).into_iter().collect();
    let score = |text: &Vec<String>| {
        let part = |word: &String| {
            let holders = texts.iter().filter(|text| text.contains(word)).count() as f64;
            let count = text.iter().filter(|other| *other == word).count() as f64;
            let norm = 1.2 * (0.25 + 0.75 * text.len() as f64 / average);
            (1.0 + (n - holders + 0.5) / (holders + 0.5)).ln() * count * 2.2 / (count + norm)
        };
        asked.iter().map(part).sum::<f64>()
    };
    let mut found: Vec<(String, f64)> =
        records.iter().zip(&texts).map(|(record, text)| (record.id.clone(), score(text))).collect();
    found.retain(|(_, score)| *score > 0.0);
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    found
}

fn same(hits: &[Hit], plain: &[(String, f64)]) {
    assert_eq!(hits.len(), plain.len());
    for (hit, other) in hits.iter().zip(plain) {
        // The order of those that differ by rounding alone is free.
        assert!((hit.bm25 - other.1).abs() < 1e-5, "{} is not {}", hit.bm25, other.1);
        let own = plain.iter().find(|(id, _)| *id == hit.record.id).expect("it is among them");
        assert!((hit.bm25 - own.1).abs() < 1e-5, "{} is not {}", hit.bm25, own.1);
        assert!((0.0..=1.0).contains(&hit.relevance));
    }
}

const NAMESPACES: [&str; 6] = ["a", "a:x", "a:xy", "ab", "b", "a:x:1"];
const SCOPES: [&str; 7] = ["a", "a:", "a:x", "a:x:", "ab:", "b", "a:xy"];
const TEXTS: [&str; 7] = [
    "tea with milk",
    "tea tea tea",
    "the port is 8080",
    "ports of Spain and milk",
    "日本 tea",
    "running to the port with a long story of many words that nobody asks for",
    "...",
];
const QUERIES: [&str; 4] = ["tea milk", "port", "日 runs", "port tea spain 8080 milk"];

#[derive(Clone, Debug)]
enum Step {
    Save { to: usize, text: usize, valid_to: Option<i64>, expires: Option<i64>, kind: bool },
    Edit { which: usize, text: usize },
    End { which: usize, at: i64 },
    Supersede { which: usize, text: usize },
    Delete(usize),
    Forget(usize),
    Sweep(i64),
    Search { scope: usize, query: usize, now: i64, at: Option<i64>, kind: bool },
}

fn step() -> impl Strategy<Value = Step> {
    let end = || prop::option::weighted(0.2, 11_i64..30);
    prop_oneof![
        6 => (0..NAMESPACES.len(), 0..TEXTS.len(), end(), end(), any::<bool>())
            .prop_map(|(to, text, valid_to, expires, kind)| Step::Save { to, text, valid_to, expires, kind }),
        1 => (0..64_usize, 0..TEXTS.len()).prop_map(|(which, text)| Step::Edit { which, text }),
        1 => (0..64_usize, 11_i64..30).prop_map(|(which, at)| Step::End { which, at }),
        1 => (0..64_usize, 0..TEXTS.len()).prop_map(|(which, text)| Step::Supersede { which, text }),
        2 => (0..64_usize).prop_map(Step::Delete),
        1 => (0..SCOPES.len()).prop_map(Step::Forget),
        1 => (10_i64..30).prop_map(Step::Sweep),
        5 => (0..SCOPES.len(), 0..QUERIES.len(), 5_i64..30, prop::option::of(5_i64..30), any::<bool>())
            .prop_map(|(scope, query, now, at, kind)| Step::Search { scope, query, now, at, kind }),
    ]
}

/// The same store, opened more than once: what one writes the others find.
struct Opened(Vec<Store>, Option<PathBuf>);

impl Opened {
    fn new(number: usize) -> Self {
        if number == 1 {
            return Self(vec![Store::open(None).expect("a store")], None);
        }
        let path = std::env::temp_dir().join(format!("ctxproto-search-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a folder");
        let open = |_| Store::open(Some(&path.join("m.db"))).expect("a store");
        Self((0..number).map(open).collect(), Some(path))
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.0.clear();
        let _ = self.1.as_ref().map(fs::remove_dir_all);
    }
}

fn run(steps: &[(usize, Step)], opened: &Opened) {
    let all = Scope { key: vec![], below: true };
    let mut ids: Vec<String> = vec![];
    for (at, (who, step)) in steps.iter().enumerate() {
        let store = &opened.0[who % opened.0.len()];
        let id = |which: &usize| ids.get(which % ids.len().max(1)).cloned().unwrap_or_default();
        match step {
            Step::Save { to, text, valid_to, expires, kind } => {
                let mut new = record(format!("{at}"), NAMESPACES[*to], TEXTS[*text]);
                (new.valid_to, new.expires) = (*valid_to, *expires);
                new.kind = if *kind { "decision" } else { "entity" }.into();
                store.insert(&[new]).expect("a write");
                ids.push(format!("{at}"));
            }
            Step::Edit { which, text } => {
                let change = Change { content: Some(TEXTS[*text].into()), ..Change::default() };
                let _ = store.update(&all, &id(which), change, 0);
            }
            Step::End { which, at } => {
                let change = Change { valid_to: Some(Some(*at)), ..Change::default() };
                let _ = store.update(&all, &id(which), change, 0);
            }
            Step::Supersede { which, text } => {
                let new = record(format!("{at}"), "", TEXTS[*text]);
                if store.supersede(&all, &id(which), new, 0).is_ok() {
                    ids.push(format!("{at}"));
                }
            }
            Step::Delete(which) => {
                store.delete(&all, &id(which)).expect("a write");
            }
            Step::Forget(which) => {
                store.forget(&scope(SCOPES[*which])).expect("a write");
            }
            Step::Sweep(now) => {
                store.sweep(*now).expect("a write");
            }
            Step::Search { scope: asked, query, now, at, kind } => {
                let scope = scope(SCOPES[*asked]);
                let kind = kind.then(|| "entity".to_owned());
                let filter = Filter { now: *now, at: *at, kind, limit: None };
                let hits = store.search(&scope, QUERIES[*query], &filter).expect("hits");
                same(&hits, &plain(store, &scope, QUERIES[*query], &filter));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn search_is_the_formula_over_what_is_there(steps in prop::collection::vec((Just(0_usize), step()), 1..80)) {
        run(&steps, &Opened::new(1));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn whoever_wrote_it(steps in prop::collection::vec((0_usize..2, step()), 1..60)) {
        run(&steps, &Opened::new(2));
    }
}

#[test]
fn many_deletes_close_up_the_gaps() {
    let store = Store::open(None).expect("a store");
    let (all, filter) = (scope("a:"), Filter::default());
    for at in 0..400 {
        store.insert(&[record(format!("{at}"), "a:x", TEXTS[at % TEXTS.len()])]).expect("a write");
    }
    for at in 0..390 {
        assert!(store.delete(&all, &format!("{}", at * 7 % 400)).expect("a write"));
        if at % 13 == 0 {
            same(
                &store.search(&all, "tea port", &filter).expect("hits"),
                &plain(&store, &all, "tea port", &filter),
            );
        }
    }
    let latest = &store.search(&all, "milk", &filter).expect("hits");
    same(latest, &plain(&store, &all, "milk", &filter));
}

/// The log keeps the last 65,536 writes: an index that missed more is read anew.
#[test]
fn a_log_that_was_cut() {
    let opened = Opened::new(2);
    let [one, other] = &opened.0[..] else { unreachable!("two were opened") };
    let (a, filter) = (scope("a:"), Filter::default());
    one.insert(&[record("kept".into(), "a", "tea")]).expect("a write");
    assert_eq!(one.search(&a, "tea", &filter).expect("hits").len(), 1);
    let many: Vec<Record> = (0..70_000).map(|at| record(format!("{at}"), "b", "x")).collect();
    other.delete(&a, "kept").expect("a write");
    other.insert(&many).expect("a write");
    assert_eq!(one.search(&a, "tea", &filter).expect("hits"), []);
    assert_eq!(one.search(&scope("b"), "x", &Filter { limit: Some(3), ..filter }).expect("hits").len(), 3);
}

/// Of equal ones the latest comes first, and only so many are returned.
#[test]
fn the_latest_of_equal_ones() {
    let store = Store::open(None).expect("a store");
    let new: Vec<Record> = (0..100).map(|at| record(format!("{at}"), "a", "tea")).collect();
    store.insert(&new).expect("a write");
    let filter = Filter { limit: Some(3), ..Filter::default() };
    let found = store.search(&scope("a"), "tea", &filter).expect("hits");
    assert_eq!(found.iter().map(|hit| &*hit.record.id).collect::<Vec<_>>(), ["99", "98", "97"]);
}
