//! Search against the formulas as they are printed, after any history of writes, by this store or another one.

#![expect(clippy::cast_precision_loss, reason = "a few hundred texts")]

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use ctxproto_memory::{Change, Error, Filter, Hit, Model, Query, Record, Scope, Store, Vectors, words};
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
        importance: 0.5,
        provenance: "agent".into(),
        created: 10,
        valid_from: 10,
        metadata: "{}".into(),
        ..Record::default()
    }
}

/// BM25 as it is printed, over what `list` says is there: the naive way, one word after the other.
fn plain(store: &Store, scope: &Scope, query: &str, filter: &Filter) -> Vec<(String, f64)> {
    let records = store.list(scope, &Filter { limit: None, ..filter.clone() }).expect("a list");
    let texts: Vec<Vec<String>> = records.iter().map(|record| words(&record.content)).collect();
    let n = texts.len() as f64;
    let average = (texts.iter().map(Vec::len).sum::<usize>() as f64 / n.max(1.0)).max(1.0);
    let asked: BTreeSet<String> = words(query).into_iter().collect();
    let rated = |text: &Vec<String>| {
        let part = |word: &String| {
            let holders = texts.iter().filter(|text| text.contains(word)).count() as f64;
            let count = text.iter().filter(|other| *other == word).count() as f64;
            let norm = 1.2 * (0.25 + 0.75 * text.len() as f64 / average);
            (1.0 + (n - holders + 0.5) / (holders + 0.5)).ln() * count * 2.2 / (count + norm)
        };
        asked.iter().map(part).sum::<f64>()
    };
    let mut found: Vec<(String, f64)> =
        records.iter().zip(&texts).map(|(record, text)| (record.id.clone(), rated(text))).collect();
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

/// Folders of this process.
static NUMBER: AtomicU32 = AtomicU32::new(0);

impl Opened {
    fn new(number: usize) -> Self {
        if number == 1 {
            return Self(vec![Store::open(None).expect("a store")], None);
        }
        let number_here = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("ctxproto-search-{}-{number_here}", std::process::id()));
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
                let _ = store.update(&all, &id(which), change, None, 0);
            }
            Step::End { which, at } => {
                let change = Change { valid_to: Some(Some(*at)), ..Change::default() };
                let _ = store.update(&all, &id(which), change, None, 0);
            }
            Step::Supersede { which, text } => {
                let new = record(format!("{at}"), "", TEXTS[*text]);
                if store.supersede(&all, &id(which), new, None, 0).is_ok() {
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
                let hits = store.search(&scope, &Query::words(QUERIES[*query]), &filter).expect("hits");
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
                &store.search(&all, &Query::words("tea port"), &filter).expect("hits"),
                &plain(&store, &all, "tea port", &filter),
            );
        }
    }
    let latest = &store.search(&all, &Query::words("milk"), &filter).expect("hits");
    same(latest, &plain(&store, &all, "milk", &filter));
}

/// The log keeps the last 65,536 writes: an index that missed more is read anew.
#[test]
fn a_log_that_was_cut() {
    let opened = Opened::new(2);
    let [one, other] = &opened.0[..] else { unreachable!("two were opened") };
    let (a, filter) = (scope("a:"), Filter::default());
    one.insert(&[record("kept".into(), "a", "tea")]).expect("a write");
    assert_eq!(one.search(&a, &Query::words("tea"), &filter).expect("hits").len(), 1);
    let many: Vec<Record> = (0..70_000).map(|at| record(format!("{at}"), "b", "x")).collect();
    other.delete(&a, "kept").expect("a write");
    other.insert(&many).expect("a write");
    assert_eq!(one.search(&a, &Query::words("tea"), &filter).expect("hits"), []);
    assert_eq!(
        one.search(&scope("b"), &Query::words("x"), &Filter { limit: Some(3), ..filter })
            .expect("hits")
            .len(),
        3
    );
}

/// Of equal ones the latest comes first, and only so many are returned.
#[test]
fn the_latest_of_equal_ones() {
    let store = Store::open(None).expect("a store");
    let new: Vec<Record> = (0..100).map(|at| record(format!("{at}"), "a", "tea")).collect();
    store.insert(&new).expect("a write");
    let filter = Filter { limit: Some(3), ..Filter::default() };
    let found = store.search(&scope("a"), &Query::words("tea"), &filter).expect("hits");
    assert_eq!(found.iter().map(|hit| &*hit.record.id).collect::<Vec<_>>(), ["99", "98", "97"]);
}
const DIMS: usize = 130;

fn vector(seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 40) as f32) / f32::from(1_u16 << 15) / 512.0 - 0.5
    };
    (0..DIMS).map(|_| draw()).collect()
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

fn of(numbers: &[f32]) -> Vectors<'_> {
    Vectors { model: "m", dims: DIMS, numbers }
}

fn near(numbers: &[f32]) -> Query<'_> {
    Query { vector: Some(of(numbers)), raw: true, ..Query::words("nobody") }
}

fn embedded() -> Store {
    let store = Store::open(None).expect("a store");
    store.introduce(&Model { name: "m".into(), dims: DIMS, low: 0.0, high: 0.5 }, true).expect("a model");
    store
}

/// The closest, whoever is left; by all vectors when they are few, and by their bits when they are many.
#[test]
fn the_closest_of_those_that_are_there() {
    let (store, a) = (embedded(), scope("a:"));
    for many in [300_usize, 5_000] {
        let ids: Vec<String> = (0..many).map(|at| format!("{many}-{at}")).collect();
        let new: Vec<Record> = ids.iter().map(|id| record(id.clone(), "a:x", "text")).collect();
        let numbers: Vec<f32> = (0..many as u64).flat_map(vector).collect();
        store.insert_embedded(&new, &of(&numbers)).expect("a write");
        let mut other = record(format!("{many}-other"), "b", "text");
        other.expires = Some(7);
        store.insert_embedded(&[other], &of(&vector(1))).expect("a write");
        let gone = |at: usize| at.is_multiple_of(3);
        for at in (0..many).filter(|at| gone(*at)).take(900) {
            store.delete(&a, &ids[at]).expect("a write");
        }
        let gone = |at: usize| gone(at) && at < 2_700;
        // Close to one of them: the first is that one, or the best of the others when it is gone.
        for at in [1, 2, 3, 100, 250, 299] {
            let mut query = vector(at as u64);
            query[0] += 0.3;
            let best = (0..many).filter(|at| !gone(*at)).max_by(|a, b| {
                cosine(&query, &vector(*a as u64)).total_cmp(&cosine(&query, &vector(*b as u64)))
            });
            let hits = store.search(&a, &near(&query), &Filter { limit: Some(5), ..Filter::default() });
            let hits = hits.expect("hits");
            assert_eq!(hits.len(), 5);
            let best = best.expect("some are left");
            assert!(
                (hits[0].cosine.expect("it has one") - cosine(&query, &vector(best as u64))).abs() < 1e-5
            );
            if !gone(at) {
                assert_eq!(hits[0].record.id, ids[at]);
            }
        }
        store.forget(&a).expect("a write");
        assert_eq!(store.search(&a, &near(&vector(1)), &Filter::default()).expect("hits"), []);
        let b = store.search(&scope("b"), &near(&vector(1)), &Filter::default()).expect("hits");
        assert_eq!(b.len(), 1);
        assert_eq!(
            store.search(&scope("b"), &near(&vector(1)), &Filter { now: 7, ..Filter::default() }),
            Ok(vec![])
        );
        store.sweep(7).expect("a write");
    }
}

/// Vectors whose signs say nothing: hardly any number that is not 0, or no negative one.
#[test]
fn the_closest_of_those_without_signs() {
    let sparse = |at: u64| {
        let mut numbers = vec![0.0; DIMS];
        (0..6)
            .for_each(|bit| numbers[((at * 7 + bit * bit * 11) % DIMS as u64) as usize] += 1.0 + bit as f32);
        numbers
    };
    let positive = |at: u64| vector(at).into_iter().map(|number| number + 0.6).collect::<Vec<f32>>();
    for make in [&sparse as &dyn Fn(u64) -> Vec<f32>, &positive] {
        let (store, a) = (embedded(), scope("a"));
        let new: Vec<Record> = (0..2_000).map(|at| record(format!("{at}"), "a", "text")).collect();
        let numbers: Vec<Vec<f32>> = (0..2_000).map(make).collect();
        store.insert_embedded(&new, &of(&numbers.concat())).expect("a write");
        for at in [3, 700, 1_999] {
            let hits = store.search(&a, &near(&numbers[at]), &Filter { limit: Some(5), ..Filter::default() });
            let hits = hits.expect("hits");
            let mut all: Vec<f64> = numbers.iter().map(|other| cosine(&numbers[at], other)).collect();
            all.sort_by(|a, b| b.total_cmp(a));
            for (hit, best) in hits.iter().zip(all) {
                assert!((hit.cosine.expect("it has one") - best).abs() < 1e-5);
            }
        }
    }
}

/// A memory without a vector is found by its words; changed, it has none any more until it gets a new one.
#[test]
fn vectors_are_of_the_text_that_is_there() {
    let (store, a) = (embedded(), scope("a"));
    store.insert(&[record("plain".into(), "a", "green tea")]).expect("a write");
    store.insert_embedded(&[record("other".into(), "a", "a port")], &of(&vector(1))).expect("a write");
    let find = |text, seed| {
        let numbers = vector(seed);
        let query = Query { vector: Some(of(&numbers)), ..Query::words(text) };
        let hits = store.search(&a, &query, &Filter::default()).expect("hits");
        hits.into_iter().map(|hit| (hit.record.id, hit.cosine.is_some())).collect::<Vec<_>>()
    };
    assert_eq!(find("tea", 1), [("plain".to_owned(), false), ("other".to_owned(), true)]);
    assert_eq!(
        store.without_vector(&a, 0, 9).expect("texts"),
        [("plain".to_owned(), "green tea".to_owned())]
    );
    let texts =
        [("plain".to_owned(), "green tea".to_owned()), ("other".to_owned(), "no longer this".to_owned())];
    let numbers = [vector(2), vector(3)].concat();
    assert_eq!(store.embed(&texts, &of(&numbers)), Ok(1));
    assert_eq!(find("nothing", 2), [("plain".to_owned(), true)]);
    let change = Change { content: Some("black tea".into()), ..Change::default() };
    store.update(&a, "plain", change, None, 0).expect("a write");
    assert_eq!(find("nothing", 2), []);
    assert_eq!(find("tea", 1)[0], ("plain".to_owned(), false));
}

#[test]
fn another_model_is_refused_until_it_takes_over() {
    let (store, a) = (embedded(), scope("a"));
    let new = [record("one".into(), "a", "tea")];
    let wide = vec![1.0; DIMS + 1];
    let refused = Err(Error::Model("m".into(), DIMS));
    let others = [
        Vectors { model: "n", dims: DIMS, numbers: &wide[1..] },
        Vectors { model: "m", dims: DIMS + 1, numbers: &wide },
    ];
    for other in &others {
        assert_eq!(store.insert_embedded(&new, other), refused);
        let query = Query { vector: Some(*other), ..Query::words("tea") };
        assert_eq!(store.search(&a, &query, &Filter::default()).map(drop), refused.clone());
    }
    assert_eq!(store.list(&a, &Filter::default()), Ok(vec![]));
    for bad in [vec![0.0; DIMS], vec![f32::NAN; DIMS], vec![f32::INFINITY; DIMS]] {
        assert_eq!(store.insert_embedded(&new, &of(&bad)), Err(Error::Vector));
    }
    store.insert_embedded(&new, &of(&vector(1))).expect("a write");
    assert_eq!(store.search(&a, &near(&vector(1)), &Filter::default()).expect("hits").len(), 1);
    let model = Model { name: "wide".into(), dims: DIMS + 1, low: 0.0, high: 0.5 };
    store.introduce(&model, true).expect("a model");
    assert_eq!(store.model(), Ok(Some(model)));
    let query = Query { vector: Some(Vectors { model: "wide", ..others[1] }), ..Query::words("tea") };
    assert_eq!(store.search(&a, &query, &Filter::default()).expect("hits")[0].cosine, None);
    store.embed(&[("one".into(), "tea".into())], &Vectors { model: "wide", ..others[1] }).expect("a write");
    assert_eq!(
        store.search(&a, &query, &Filter::default()).expect("hits")[0].cosine.map(f64::round),
        Some(1.0)
    );
}

/// Who comes second with another model deletes nothing; what is known of the same one stays.
#[test]
fn a_model_is_replaced_only_on_purpose() {
    let (store, a) = (embedded(), scope("a"));
    store.insert_embedded(&[record("one".into(), "a", "tea")], &of(&vector(1))).expect("a write");
    let known = store.model().expect("a model").expect("a model");
    for other in [Model { name: "n".into(), ..known.clone() }, Model { dims: DIMS + 1, ..known.clone() }] {
        assert_eq!(store.introduce(&other, false), Err(Error::Model("m".into(), DIMS)));
        assert_eq!(store.calibrate(&other), Err(Error::Model("m".into(), DIMS)));
    }
    let measured = Model { low: 0.25, ..known.clone() };
    store.calibrate(&measured).expect("a measure");
    for replace in [false, true] {
        store.introduce(&known, replace).expect("the same");
        assert_eq!(store.model(), Ok(Some(measured.clone())));
    }
    assert!(store.search(&a, &near(&vector(1)), &Filter::default()).expect("hits")[0].cosine.is_some());
}

/// A content and its vector are written together, or neither is.
#[test]
fn a_change_with_a_vector_that_is_none_is_no_change() {
    let (store, a) = (embedded(), scope("a"));
    store.insert_embedded(&[record("one".into(), "a", "tea")], &of(&vector(1))).expect("a write");
    let before = store.list(&a, &Filter::default());
    let change = || Change { content: Some("milk".into()), ..Change::default() };
    for bad in [vec![0.0; DIMS], vec![f32::NAN; DIMS]] {
        assert_eq!(store.update(&a, "one", change(), Some(&of(&bad)), 0).map(drop), Err(Error::Vector));
        let new = record("two".into(), "", "milk");
        assert_eq!(store.supersede(&a, "one", new, Some(&of(&bad)), 0).map(drop), Err(Error::Vector));
    }
    assert_eq!(store.list(&a, &Filter::default()), before);
    store.update(&a, "one", change(), Some(&of(&vector(2))), 0).expect("a write");
    let hits = store.search(&a, &near(&vector(2)), &Filter::default()).expect("hits");
    assert_eq!(hits[0].cosine.map(|cosine| (cosine * 1e5).round()), Some(1e5));
}
