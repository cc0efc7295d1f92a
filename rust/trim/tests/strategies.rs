//! What each strategy keeps first.

#![allow(clippy::unwrap_used, clippy::format_collect)]

mod common;

use std::fmt::Write;
use std::sync::Arc;

use common::{Fours, plan};
use ctxproto_trim::{Fields, Loss, Patterns, Strategy as Trim, TrimError};

fn run(strategy: Trim, budget: usize, text: &str) -> (String, Loss) {
    let trimmed = plan(strategy, budget, Arc::new(Fours), true).trim(text.as_bytes()).unwrap().clone();
    (String::from_utf8(trimmed.text.to_vec()).unwrap(), trimmed.loss)
}

fn log(lines: usize) -> String {
    (0..lines).fold(String::new(), |mut log, i| {
        let _ = match i {
            50 => writeln!(log, "2024-01-02 10:00:{i} ERROR disk full on /dev/sda{i}"),
            60 => writeln!(log, "Traceback (most recent call last):\n  File \"app.py\", line 3, in run\n    go()\nKeyError: 'user'"),
            70 => writeln!(log, "job 7 finished with needle"),
            _ => writeln!(log, "2024-01-02 10:00:{i} INFO request {} took {} ms: {}", i * 7, i % 9, ["get", "put", "list"][i % 3]),
        };
        log
    }) + "all done\nexit code 3\n"
}

#[test]
fn the_beginning_and_the_end() {
    let text = log(400);
    let (first, loss) = run(Trim::FirstN, 100, &text);
    assert!(
        first.starts_with("[trimmed: ") && first.contains("10:00:0 INFO") && first.ends_with(" lines cut]")
    );
    assert_eq!(loss.ranges.len(), 1);
    let (last, _) = run(Trim::LastN, 100, &text);
    assert!(last.starts_with("[trimmed: ") && last.ends_with("all done\nexit code 3\n"));
    let (both, loss) = run(Trim::HeadTail, 100, &text);
    assert!(both.contains("10:00:0 INFO") && both.contains(" lines cut]") && both.ends_with("exit code 3\n"));
    assert_eq!((loss.ranges.len(), loss.source.lines), (1, 405));
    assert!(loss.tokens <= 100 && !loss.source_tokens.exact && loss.source_tokens.count > 1000);
}

#[test]
fn lines_that_matter() {
    let text = log(2000);
    let (kept, loss) = run(Trim::Lines, 250, &text);
    for line in [
        "ERROR disk full",
        "Traceback",
        "  File \"app.py\"",
        "KeyError: 'user'",
        "with needle",
        "all done",
        "exit code 3",
    ] {
        assert!(kept.contains(line), "{line} in\n{kept}");
    }
    let places: Vec<usize> =
        ["ERROR", "Traceback", "needle", "exit code"].iter().map(|s| kept.find(s).unwrap()).collect();
    assert!(places.is_sorted());
    assert_eq!(loss.kept.lines + loss.dropped.lines, 2005);
    // The marks say where the rest was: with what was kept they give all lines.
    let cut: usize = kept
        .lines()
        .filter_map(|l| l.strip_prefix('[')?.strip_suffix(" cut]")?.split(' ').next()?.parse::<usize>().ok())
        .sum();
    assert_eq!(cut, loss.dropped.lines);
}

#[test]
fn lines_that_are_alike_are_counted() {
    let text = format!(
        "start\n{}end\n",
        (0..1000).fold(String::new(), |s, i| s + &format!("ERROR {i}: retry in {} s\n", i * 2))
    );
    let (kept, _) = run(Trim::Lines, 100, &text);
    let shown = kept.lines().filter(|l| l.starts_with("ERROR ")).count();
    assert!(kept.contains(&format!("ERROR 0: retry in 0 s [+{} alike]", 1000 - shown)), "{kept}");
    assert!(kept.ends_with("end\n"));
}

#[test]
fn a_long_line_keeps_its_ends() {
    let text = format!("before\n{}\nafter\n", "x1 ".repeat(100_000));
    let (kept, loss) = run(Trim::Lines, 200, &text);
    assert!(
        kept.contains("before\nx1 x1") && kept.contains(" bytes cut]") && kept.ends_with("x1 \nafter\n"),
        "{kept}"
    );
    assert_eq!(loss.dropped.lines, 0);
}

#[test]
fn json_keeps_its_shape() {
    let items: Vec<String> = (0..300)
        .map(|i| match i {
            150 => format!("{{\"id\": {i}, \"status\": \"failed\", \"error\": \"no route\"}}"),
            i => format!("{{\"id\": {i}, \"status\": \"ok\", \"error\": null}}"),
        })
        .collect();
    let text = format!(
        "{{\"total\": 12345678901234567890123, \"rate\": 1.50, \"rate\": 2.0, \"items\": [{}], \"log\": \"{}\", \"inner\": \"{}\"}}",
        items.join(", "),
        "lorem ipsum ".repeat(200),
        "{\\\"a\\\": [1, 2, 3], \\\"b\\\": \\\"".to_owned() + &"dolor ".repeat(99) + "\\\"}"
    );
    let (kept, loss) = run(Trim::Auto, 250, &text);
    assert_eq!(loss.strategy, "json");
    let json: serde_json::Value =
        serde_json::from_str(&kept.replace("12345678901234567890123", "1")).unwrap();
    assert!(json["[trimmed]"].as_str().unwrap().starts_with("[trimmed: "), "{kept}");
    assert!(kept.contains("\"total\":12345678901234567890123,\"rate\":1.50,\"rate\":2.0,"), "{kept}");
    assert!(kept.contains("\"id\":150,\"status\":\"failed\",\"error\":\"no route\""), "{kept}");
    assert!(
        json["items"]
            .as_array()
            .unwrap()
            .iter()
            .any(|i| i.as_str().is_some_and(|s| s.ends_with(" items cut]")))
    );
    assert!(json["log"].as_str().unwrap().contains(" bytes cut]"));
    let inner: serde_json::Value = serde_json::from_str(json["inner"].as_str().unwrap()).unwrap();
    assert!(inner["b"].as_str().unwrap().contains(" bytes cut]"), "{kept}");
}

/// `text` as a string of JSON, with its quotes.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

#[test]
fn a_log_in_json_is_sieved() {
    let answer = format!("{{\"stdout\": {}, \"took_ms\": 12}}", quoted(&log(1000)));
    for text in [answer.clone(), format!("{{\"content\": {}}}", quoted(&answer))] {
        let (kept, loss) = run(Trim::Json, 250, &text);
        for line in
            ["ERROR disk full", "KeyError: 'user'", "with needle", "all done", "exit code 3", "took_ms"]
        {
            assert!(kept.contains(line), "{line} in\n{kept}");
        }
        assert!(kept.contains(" lines cut]") && loss.tokens <= 250 && kept.len() > 700, "{kept}");
    }
    // Lines that are too long for their room: its ends, as of any text.
    let long = format!("{{\"out\": {}}}", quoted(&format!("{}\n", "abc ".repeat(500)).repeat(6)));
    let (kept, _) = run(Trim::Json, 60, &long);
    assert!(kept.contains(" bytes cut]") && kept.ends_with("abc \\n\"}"), "{kept}");
}

#[test]
fn json_lines_stay_json_lines() {
    let text: String = (0..200)
        .map(|i| format!("{{\"id\": {i}, \"level\": \"{}\"}}\n", if i == 77 { "error" } else { "info" }))
        .collect();
    let (kept, loss) = run(Trim::Auto, 120, &text);
    assert_eq!((loss.strategy, loss.units.unwrap().total), ("json", 200));
    assert!(kept.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()), "{kept}");
    assert!(kept.contains("{\"id\":77,\"level\":\"error\"}\n"), "{kept}");
}

#[test]
fn tables_keep_their_header() {
    let rows: String =
        (0..500)
            .map(|i| {
                if i == 250 {
                    "250,\"odd\nrow\",x,y\n".to_owned()
                } else {
                    format!("{i},name {i},{}\n", i * 3)
                }
            })
            .collect();
    let (kept, loss) = run(Trim::Auto, 120, &format!("id,name,amount\n{rows}"));
    assert_eq!((loss.strategy, loss.units.unwrap().total), ("table", 500));
    assert!(
        kept.contains("id,name,amount\n0,name 0,0\n") && kept.contains("250,\"odd\nrow\",x,y\n"),
        "{kept}"
    );
    assert!(
        kept.contains("499,name 499,1497\n")
            && kept.contains(" rows cut]\n")
            && kept.contains(" of 500 rows, "),
        "{kept}"
    );
    let rows: String = (0..200).map(|i| format!("| {i} | {} |\n", i * 3)).collect();
    let (kept, loss) = run(Trim::Auto, 80, &format!("| id | n |\n|---|---|\n{rows}"));
    assert_eq!(loss.strategy, "table");
    assert!(
        kept.contains("| id | n |\n|---|---|\n| 0 | 0 |\n") && kept.contains("| 199 | 597 |\n"),
        "{kept}"
    );
}

#[test]
fn diffs_keep_what_changed() {
    let context = |n: usize| " same line of context\n".repeat(n);
    let file = |name: &str| {
        format!(
            "diff --git a/{name} b/{name}\nindex 1..2\n--- a/{name}\n+++ b/{name}\n@@ -1,61 +1,61 @@\n{}--- a deleted comment\n+++ an added one\n{}",
            context(30),
            context(30)
        )
    };
    let (kept, loss) = run(Trim::Auto, 120, &(file("x.rs") + &file("y.rs")));
    assert_eq!(loss.strategy, "diff");
    for line in ["--- a/x.rs\n", "+++ b/y.rs\n", "@@ -1,61", "--- a deleted comment\n", "+++ an added one\n"]
    {
        assert!(kept.contains(line), "{line} in\n{kept}");
    }
}

#[test]
fn fields_that_were_asked_for() {
    let text = r#"{"user": {"name": "ada", "password": "hunter2x"}, "items": [{"id": 1, "x": 2}, {"id": 2, "x": 3}], "n": 1.0}"#;
    let fields = |paths: &[&str]| Trim::FieldWhitelist(Fields::new(paths).unwrap());
    for (paths, want) in [
        (&["n"][..], r#"{"n":1.0}"#),
        (&["user.name", "items.id"], r#"{"user":{"name":"ada"},"items":[{"id":1},{"id":2}]}"#),
        (&["items[1].x"], r#"{"items":[{"x":3}]}"#),
        (&["items[*].id"], r#"{"items":[{"id":1},{"id":2}]}"#),
        (&["*.name"], r#"{"user":{"name":"ada"},"items":[{},{}]}"#),
        (&["none"], "{}"),
        (&["user"], r#"{"user":{"name":"ada","password":"[PASSWORD:REDACTED]"}}"#),
    ] {
        let (kept, loss) = run(fields(paths), 1000, text);
        assert_eq!(kept, want, "{paths:?}");
        assert_eq!(loss.strategy, "field_whitelist");
    }
    let (same, loss) = run(fields(&["user", "items", "n"]), 1000, &text.replace("hunter2x", ""));
    assert_eq!((same, loss.strategy), (text.replace("hunter2x", ""), "whole"));
    let (same, loss) = run(fields(&["n"]), 1000, "no json");
    assert!(same == "no json" && loss.instead.unwrap().contains("JSON only"));
    for wrong in ["", "a.", ".a", "a[", "a[x]", "\"a"] {
        assert!(matches!(Fields::new([wrong]), Err(TrimError::Path(_))), "{wrong}");
    }
}

#[test]
fn summaries() {
    let long = "x".repeat(500);
    for (text, want) in [
        (format!(r#"{{"a": 1, "b": "{long}"}}"#), "type=dict | size=517 chars | keys=['a', 'b']"),
        (format!(r#"[{{"a": 1}}, "{long}"]"#), "type=list | size=514 chars | count=2 | item_keys=['a']"),
        (format!("one\n{long}\n"), "type=str | size=505 chars | lines=2"),
    ] {
        assert_eq!(run(Trim::Summary, 100, &text).0, want);
    }
    assert_eq!(run(Trim::Summary, 100, "{\"a\": 1}").0, "{\"a\": 1}");
}

#[test]
fn hints_and_errors() {
    let mut plan = plan(Trim::FirstN, 60, Arc::new(Fours), false);
    plan.hint = Some("read the file \"a.log\" for the rest".into());
    let text = "word ".repeat(1000);
    let trimmed = plan.trim(text.as_bytes()).unwrap();
    assert!(
        trimmed.text.starts_with(b"[trimmed: ")
            && String::from_utf8_lossy(&trimmed.text).contains("; read the file \"a.log\" for the rest]\n")
    );
    plan.budget = 4;
    let error = plan.trim(text.as_bytes()).unwrap_err();
    assert!(matches!(error, TrimError::TooSmall { budget: 4, needed } if needed > 4), "{error}");
    assert!(Patterns::new(["("]).is_err());
}

#[test]
fn a_line_longer_than_the_budget_keeps_its_ends() {
    let text = format!("first {}last", "middle ".repeat(5000));
    for strategy in [ctxproto_trim::Strategy::Auto, ctxproto_trim::Strategy::Lines] {
        let trimmed = ctxproto_trim::Plan::new(
            strategy,
            200,
            std::sync::Arc::new(ctxproto_tokens::Encoding::O200kBase),
        )
        .trim(text.as_bytes())
        .expect("it fits");
        let out = String::from_utf8_lossy(&trimmed.text);
        assert!(out.contains("first middle") && out.ends_with("last"), "{out}");
        assert!(trimmed.loss.tokens <= 200 && trimmed.loss.kept.bytes > 400, "{:?}", trimmed.loss);
    }
}

/// What was asked for comes first, whatever the text is.
#[test]
fn what_was_asked_for() {
    let log: String =
        (0..900).map(|i| format!("10:00:{i} block blk_{} needle of size {}\n", i * 7919, i * 31)).collect();
    let asked = |strategy: Trim, budget: usize, text: &str, pattern: &str| {
        let mut plan = plan(strategy, budget, Arc::new(Fours), true);
        plan.patterns = Patterns::new([pattern]).unwrap();
        let trimmed = plan.trim(text.as_bytes()).unwrap();
        (String::from_utf8(trimmed.text.to_vec()).unwrap(), trimmed.loss.strategy)
    };
    // A line that was asked for is not one more of its kind.
    let (kept, strategy) = asked(Trim::Auto, 100, &log, "blk_3333899 ");
    assert!(strategy == "lines" && kept.contains("blk_3333899 needle of size 13051"), "{kept}");
    let records: Vec<serde_json::Value> = (0..400)
        .map(|i| serde_json::json!({"id": format!("item-{i}"), "deep": {"in": [{"sku": format!("sku-{i}"), "price": i * 3}]}}))
        .collect();
    for (pattern, wanted) in [("sku-211", "\"price\":633"), ("\"item-399\"", "\"id\":\"item-399\"")] {
        let text = serde_json::to_string(&records).unwrap();
        let (kept, strategy) = asked(Trim::Auto, 120, &text, pattern);
        assert!(strategy == "json" && kept.contains(wanted), "{kept}");
        assert!(serde_json::from_str::<serde_json::Value>(&kept).is_ok(), "{kept}");
    }
    // If all of it was asked for, some of it is shown.
    let (kept, _) = asked(Trim::Json, 60, &serde_json::to_string(&records).unwrap(), "price|id");
    assert!(kept.contains("item-0"), "{kept}");
    let table: String = (0..500).map(|i| format!("row {i},{},{}\n", i * 3, i * 5)).collect();
    let (kept, strategy) = asked(Trim::Auto, 80, &format!("name,a,b\n{table}"), "^row 321,");
    assert!(
        strategy == "table" && kept.contains("row 321,963,1605\n") && kept.contains("name,a,b"),
        "{kept}"
    );
    let diff: String = (0..300).map(|i| format!("-old {i}\n+new {i}\n")).collect();
    let diff = format!("--- a/x\n+++ b/x\n@@ -1,300 +1,300 @@\n{diff}");
    let (kept, strategy) = asked(Trim::Auto, 80, &diff, "new 150$");
    assert!(strategy == "diff" && kept.contains("+new 150\n"), "{kept}");
}

/// A comma in every line makes no table of a log.
#[test]
fn an_exit_code_among_others() {
    let jobs: String =
        (0..600).map(|i| format!("job {i} exit code {}\n", if i == 300 { 137 } else { 0 })).collect();
    let (text, _) = run(Trim::Lines, 200, &format!("{jobs}done\n"));
    assert!(text.contains("job 300 exit code 137"), "{text}");
}

#[test]
fn the_last_line_before_the_ones_before_it() {
    let log: String = (0..50).map(|i| format!("INFO tail {i}\n")).collect();
    let (text, _) =
        run(Trim::Lines, 40, &format!("{log}FINAL summary: 3 failed, 2 passed\nexited with code 137\n"));
    assert!(text.ends_with("FINAL summary: 3 failed, 2 passed\nexited with code 137\n"), "{text}");
}

#[test]
fn logs_are_no_tables() {
    let log: String = (0..400).map(|i| format!("2015-10-18 18:01:{i},978 INFO [main] did {i}\n")).collect();
    let (kept, loss) = run(Trim::Auto, 100, &log);
    assert!(loss.strategy == "lines" && kept.contains("did 399"), "{kept}");
}

/// Lines that differ in one word are one kind, once there are some: they leave room for others.
#[test]
fn values_that_are_words_make_no_kinds() {
    let names =
        ["ann", "bob", "cleo", "dan", "eve", "fay", "gus", "hal", "ida", "joe", "kim", "lou", "max", "ned"];
    let mut log: String = names
        .iter()
        .flat_map(|a| names.iter().map(move |b| format!("sshd: invalid user {a}{b} from 10.0.0.7\n")))
        .collect();
    log.insert_str(log.len() / 2, "\nkernel: out of memory: killed process 77 (java)\n");
    let (kept, _) = run(Trim::Auto, 150, &log);
    assert!(kept.contains("out of memory"), "{kept}");
}

/// A line that is too long leaves the room to shorter ones that matter as much.
#[test]
fn long_errors_leave_room() {
    let words = |n: usize| "lorem ipsum dolor ".repeat(n);
    let filler: String = (0..300).map(|i| format!("step {i} done\n")).collect();
    let text = format!(
        "ERROR alpha {}\n{filler}ERROR beta {}\n{filler}ERROR gamma: short\n{filler}ERROR delta {}\n{filler}end\n",
        words(24),
        words(25),
        words(26)
    );
    let (kept, _) = run(Trim::Lines, 260, &text);
    assert!(kept.contains("ERROR gamma: short"), "{kept}");
}

/// Room that one detail leaves goes to another: few tokens are left where much more could be shown.
#[test]
fn json_fills_its_budget() {
    let products: Vec<serde_json::Value> = (0..50)
        .map(|i| {
            let variants: serde_json::Map<String, serde_json::Value> = (0..12)
                .map(|v| {
                    (
                        format!("{}", i * 100 + v),
                        serde_json::json!({"price": v * 10, "options": {"color": "red", "size": v}}),
                    )
                })
                .collect();
            serde_json::json!({"name": format!("thing {i}"), "product_id": i, "variants": variants})
        })
        .collect();
    for text in [serde_json::to_string(&products).unwrap(), serde_json::to_string_pretty(&products).unwrap()]
    {
        for budget in [500, 1500, 4000] {
            let (_, loss) = run(Trim::Json, budget, &text);
            assert!(loss.tokens * 2 > budget, "{} of {budget}", loss.tokens);
        }
    }
}
