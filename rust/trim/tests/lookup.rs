//! Fields looked up in JSON, beside a walk over the parsed value.

#![allow(clippy::unwrap_used, clippy::needless_pass_by_value)]

use ctxproto_trim::{Fields, Lookup};
use proptest::prelude::*;
use serde_json::{Value, json};

/// What a path leads to, and whether it stands for all of it; written for a person to check.
fn naive(value: &Value, path: &str) -> Option<(Vec<Value>, bool)> {
    if let Some(found) = value.get(path) {
        return Some((vec![found.clone()], false));
    }
    let steps: Vec<&str> = path.split('.').collect();
    let mut lists = false;
    let mut found = vec![];
    walk(value, &steps, &mut lists, &mut found);
    if let [name] = steps[..]
        && name != "*"
    {
        if found.is_empty() && value.is_object() {
            for list in value.as_object()?.values().filter(|one| one.is_array()) {
                walk(list, &steps, &mut lists, &mut found);
                if !found.is_empty() {
                    break;
                }
            }
        }
        found.truncate(1);
        lists = false;
    }
    (!found.is_empty()).then_some((found, lists || steps.contains(&"*")))
}

fn walk(value: &Value, steps: &[&str], lists: &mut bool, found: &mut Vec<Value>) {
    let [step, rest @ ..] = steps else {
        found.push(value.clone());
        return;
    };
    match value {
        Value::Object(members) if *step == "*" => {
            members.values().for_each(|one| walk(one, rest, lists, found));
        }
        Value::Object(members) => {
            members.get(*step).into_iter().for_each(|one| walk(one, rest, lists, found));
        }
        Value::Array(items) if *step != "*" => {
            for item in items {
                let before = found.len();
                walk(item, steps, lists, found);
                *lists |= found.len() > before;
            }
        }
        // Either the items, or their keys: both are meant, each value once and none inside of another.
        Value::Array(items) if rest.is_empty() => found.extend(items.iter().cloned()),
        _ => {}
    }
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<i16>().prop_map(|n| json!(n)),
        "[a-c]{0,2}".prop_map(|s| json!(s))
    ];
    leaf.prop_recursive(4, 40, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::hash_map(
                prop_oneof!["[a-c]", Just("a.b".into()), Just("é\"\\".into())],
                inner,
                0..4
            )
            .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn finds_what_a_walk_over_the_parsed_value_finds(value in values(), steps in prop::collection::vec("[a-c]", 1..4), star in any::<bool>(), ascii in any::<bool>()) {
        let mut path = steps.join(".");
        if star {
            path += ".*";
        }
        let mut text = if ascii { value.to_string() } else { serde_json::to_string_pretty(&value).unwrap() };
        if ascii {
            text = text.replace('é', "\\u00e9");
        }
        let lookup = Lookup::new(text.into_bytes()).unwrap();
        let found = lookup.find(&Fields::new([&path]).unwrap()).remove(0);
        let found = found.map(|f| (f.values.iter().map(|v| serde_json::from_slice(v).unwrap()).collect::<Vec<Value>>(), f.many));
        prop_assert_eq!(found, naive(&value, &path));
    }
}

#[test]
fn where_and_how_many() {
    let text = r#"{"query": "q", "results": [{"market_size": "$832B", "by": {"x.y": 1}}, {"market_size": 2, "cagr": 3}],
        "a\u0062": 4, "twice": 1, "twice": 2, "x": {"y.z": [[5]]}}"#;
    let lookup = Lookup::new(text.into()).unwrap();
    for (path, values, many, place) in [
        ("market_size", &["\"$832B\""][..], false, "results[0].market_size"),
        ("cagr", &["3"], false, "results[1].cagr"),
        ("results.market_size", &["\"$832B\"", "2"], true, "results[0].market_size"),
        ("results[1].market_size", &["2"], false, "results[1].market_size"),
        ("results.*.cagr", &["3"], true, "results[1].cagr"),
        ("results[0].by.\"x.y\"", &["1"], false, "results[0].by.\"x.y\""),
        ("ab", &["4"], false, "\"a\\u0062\""),
        ("twice", &["2"], false, "twice"),
        ("x.\"y.z\"", &["[[5]]"], false, "x.\"y.z\""),
    ] {
        let found = lookup.find(&Fields::new([path]).unwrap()).remove(0).unwrap();
        let shown: Vec<_> = found.values.iter().map(|v| String::from_utf8_lossy(v)).collect();
        assert_eq!(
            (&shown[..], found.many, &*found.place),
            (&values.iter().map(|&v| v.into()).collect::<Vec<_>>()[..], many, place),
            "{path}"
        );
    }
    assert_eq!(lookup.find(&Fields::new(["x_y", "results[2]", "y.z"]).unwrap()), [None, None, None]);
    let lines = Lookup::new(b"{\"id\": 1}\n{\"id\": 2}\n".to_vec()).unwrap();
    let found = lines.find(&Fields::new(["id", "*.id", "[1].id"]).unwrap());
    let found: Vec<_> = found.iter().map(|f| f.as_ref().map(|f| (f.values.len(), f.many))).collect();
    assert_eq!(found, [Some((1, false)), Some((2, true)), Some((1, false))]);
    assert!(Lookup::new(b"no json".to_vec()).is_none());
}
