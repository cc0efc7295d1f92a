//! A store against a plain list of records, and damage to its file.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ctxproto_memory::{Change, Error, Filter, Query, Record, Scope, Store};
use proptest::prelude::*;

fn record(id: &str, namespace: &[&str], content: &str) -> Record {
    Record {
        id: id.into(),
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

fn key(namespace: &[&str]) -> Vec<u8> {
    namespace.iter().flat_map(|part| [part.as_bytes(), b"\0"].concat()).collect()
}

fn scope(namespace: &[&str], below: bool) -> Scope {
    Scope { key: key(namespace), below }
}

fn all() -> Scope {
    scope(&[], true)
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ctxproto-memory-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("memory.db")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn ids(store: &Store, scope: &Scope) -> Vec<String> {
    let mut ids: Vec<_> =
        store.list(scope, &Filter::default()).expect("a list").into_iter().map(|r| r.id).collect();
    ids.sort();
    ids
}

const NAMES: [&str; 12] = ["a", "ab", "A", "a_", "%", "_", "*", "é", "e\u{301}", "\u{10FFFF}", "..", " "];

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Whatever the namespaces: each call touches what a list of components says, and nothing else.
    #[test]
    fn scopes_hold_what_their_components_say(
        owners in prop::collection::vec(prop::collection::vec(0..NAMES.len(), 1..4), 1..12),
        asked in prop::collection::vec(0..NAMES.len(), 1..3),
        below: bool,
    ) {
        let store = Store::open(None).expect("a store");
        let mut model = BTreeMap::new();
        for (at, owner) in owners.iter().enumerate() {
            let owner: Vec<&str> = owner.iter().map(|&n| NAMES[n]).collect();
            store.insert(&[record(&format!("{at:02}"), &owner, "the same words")]).expect("written");
            model.insert(format!("{at:02}"), owner);
        }
        let asked: Vec<&str> = asked.iter().map(|&n| NAMES[n]).collect();
        let scope = scope(&asked, below);
        let holds = |owner: &Vec<&str>| if below { owner.starts_with(&asked) } else { *owner == asked };
        let expected: Vec<String> = model.iter().filter(|(_, o)| holds(o)).map(|(id, _)| id.clone()).collect();
        prop_assert_eq!(&ids(&store, &scope), &expected);
        let mut hits: Vec<_> =
            store.search(&scope, &Query::words("words"), &Filter::default()).expect("hits").into_iter().map(|h| h.record.id).collect();
        hits.sort();
        prop_assert_eq!(&hits, &expected);
        prop_assert_eq!(store.stats(&scope, 20).expect("stats").current, i64::try_from(expected.len()).expect("small"));
        for id in model.keys() {
            let mine = expected.contains(id);
            prop_assert_eq!(store.get(&scope, id, 20).expect("read").is_some(), mine);
            let change = Change { purpose: Some("p".into()), ..Change::default() };
            prop_assert_eq!(store.update(&scope, id, change, None, 20).is_ok(), mine);
        }
        prop_assert_eq!(store.forget(&scope).expect("forgotten"), expected.len());
        let rest: Vec<String> = model.keys().filter(|id| !expected.contains(id)).cloned().collect();
        prop_assert_eq!(ids(&store, &all()), rest.clone());
        for id in &expected {
            prop_assert_eq!(store.delete(&all(), id), Ok(false));
        }
    }
}

#[test]
fn any_byte_that_changes_is_seen_or_changes_nothing() {
    let folder = Folder::new("flips");
    let path = folder.file();
    let store = Store::open(Some(&path)).expect("a store");
    for n in 0..40 {
        store
            .insert(&[record(
                &format!("id{n}"),
                &["user", "session"],
                &format!("fact {n}: {}", "text ".repeat(n)),
            )])
            .expect("written");
    }
    store.empty_log().expect("in the file");
    let before = store.list(&all(), &Filter::default()).expect("a list");
    drop(store);
    let good = fs::read(&path).expect("a file");
    let (mut refused, mut step) = (0, 0);
    while step < good.len() {
        let mut bad = good.clone();
        bad[step] ^= 1 << (step % 8);
        for suffix in ["-wal", "-shm"] {
            let _ = fs::remove_file(format!("{}{suffix}", path.display()));
        }
        fs::write(&path, &bad).expect("written");
        match Store::open(Some(&path)).and_then(|store| store.list(&all(), &Filter::default())) {
            Ok(list) => assert_eq!(list, before, "byte {step}"),
            Err(Error::Damaged(_) | Error::Newer(_) | Error::Io(_)) => refused += 1,
            Err(other) => panic!("byte {step}: {other}"),
        }
        step += if step < 200 { 1 } else { 61 };
    }
    assert!(refused > 20, "{refused}");
}

#[test]
fn what_is_no_store_is_refused_and_left_alone() {
    let folder = Folder::new("others");
    let path = folder.file();
    let texts: [&[u8]; 3] = [b"", b"not a database", b"SQLite format 3\0 and then something else"];
    for text in texts {
        fs::write(&path, text).expect("written");
        assert!(matches!(Store::open(Some(&path)), Err(Error::Damaged(_))), "{text:?}");
        assert_eq!(fs::read(&path).expect("a file"), text);
    }
    fs::remove_file(&path).expect("removed");
    let other = rusqlite::Connection::open(&path).expect("a database");
    other.execute_batch("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)").expect("written");
    drop(other);
    let theirs = fs::read(&path).expect("a file");
    assert!(matches!(Store::open(Some(&path)), Err(Error::Damaged(_))));
    assert_eq!(fs::read(&path).expect("a file"), theirs);
    assert!(matches!(Store::open(Some(Path::new("/no/such/folder/memory.db"))), Err(Error::Io(_))));
}

#[test]
fn a_file_cut_short_is_refused() {
    let folder = Folder::new("cut");
    let path = folder.file();
    let store = Store::open(Some(&path)).expect("a store");
    for n in 0..200 {
        store.insert(&[record(&format!("id{n}"), &["user"], &"words ".repeat(50))]).expect("written");
    }
    store.empty_log().expect("in the file");
    drop(store);
    let good = fs::read(&path).expect("a file");
    for keep in [1, 50, 100, 4095, 4096, 8192, good.len() / 2, good.len() - 4096, good.len() - 1] {
        for suffix in ["-wal", "-shm"] {
            let _ = fs::remove_file(format!("{}{suffix}", path.display()));
        }
        fs::write(&path, &good[..keep]).expect("written");
        assert!(matches!(Store::open(Some(&path)), Err(Error::Damaged(_) | Error::Io(_))), "{keep}");
    }
}

#[test]
fn a_later_schema_is_refused() {
    let folder = Folder::new("later");
    drop(Store::open(Some(&folder.file())).expect("a store"));
    let raw = rusqlite::Connection::open(folder.file()).expect("a database");
    raw.pragma_update(None, "user_version", 99).expect("written");
    drop(raw);
    assert_eq!(Store::open(Some(&folder.file())).map(drop), Err(Error::Newer(99)));
}

#[test]
fn a_failed_write_changes_nothing() {
    let store = Store::open(None).expect("a store");
    store.insert(&[record("one", &["u"], "first")]).expect("written");
    assert_eq!(store.insert(&[record("two", &["u"], "x"), record("one", &["u"], "x")]), Err(Error::Exists));
    assert_eq!(ids(&store, &all()), ["one"]);
    let new = store.supersede(
        &scope(&["u"], false),
        "one",
        Record { valid_from: 30, ..record("new", &["x"], "second") },
        None,
        20,
    );
    assert_eq!(new.expect("written").namespace, key(&["u"]));
    assert_eq!(
        store.supersede(&scope(&["u"], false), "one", record("newer", &["u"], "third"), None, 20),
        Err(Error::Superseded)
    );
    let at = |at| {
        let found = store.list(&all(), &Filter { at: Some(at), ..Filter::default() }).expect("a list");
        found.into_iter().map(|r| r.id).collect::<Vec<_>>()
    };
    assert_eq!(
        (at(9), at(10), at(29), at(30)),
        (vec![], vec!["one".into()], vec!["one".into()], vec!["new".into()])
    );
}

#[test]
fn the_log_of_another_application_is_left_alone() {
    let folder = Folder::new("log-of-others");
    let (path, log) = (folder.file(), folder.0.join("memory.db-wal"));
    let other = rusqlite::Connection::open(&path).expect("a database");
    other
        .execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)")
        .expect("written");
    let theirs = [fs::read(&path).expect("a file"), fs::read(&log).expect("a log")];
    drop(other);
    // As a process that was killed leaves them.
    fs::write(&path, &theirs[0]).expect("written");
    fs::write(&log, &theirs[1]).expect("written");
    assert!(matches!(Store::open(Some(&path)), Err(Error::Damaged(_))));
    assert_eq!([fs::read(&path).expect("a file"), fs::read(&log).expect("a log")], theirs);
}

#[test]
fn tables_that_are_not_ours_are_refused() {
    for more in [
        "CREATE TABLE copy (x); CREATE TRIGGER keep BEFORE DELETE ON memories BEGIN
             INSERT INTO copy VALUES (old.content); SELECT raise(IGNORE); END",
        "ALTER TABLE memories RENAME TO hidden; CREATE VIEW memories AS SELECT * FROM hidden",
        "DROP INDEX of_namespace",
        "CREATE INDEX more ON memories (content)",
    ] {
        let folder = Folder::new("tables");
        drop(Store::open(Some(&folder.file())).expect("a store"));
        let raw = rusqlite::Connection::open(folder.file()).expect("a database");
        raw.execute_batch(more).expect("written");
        drop(raw);
        assert!(matches!(Store::open(Some(&folder.file())), Err(Error::Damaged(_))), "{more}");
    }
}

#[test]
fn a_damaged_index_gives_nobody_what_is_anothers() {
    let folder = Folder::new("index");
    let path = folder.file();
    let store = Store::open(Some(&path)).expect("a store");
    // More than is checked when it is opened.
    let large = "x".repeat(900_000);
    for n in 0..20 {
        store.insert(&[record(&format!("large{n}"), &["large"], &large)]).expect("written");
    }
    store.insert(&[record("secret", &["victim"], "for the victim alone")]).expect("written");
    drop(store);
    let mut bytes = fs::read(&path).expect("a file");
    let mut changed = 0;
    for at in 0..bytes.len() - 7 {
        // In the table the id stands before the namespace, in the indexes nothing does.
        if bytes[at..].starts_with(b"victim\0") && !bytes[..at].ends_with(b"secret") {
            bytes[at..at + 6].copy_from_slice(b"malice");
            changed += 1;
        }
    }
    assert!(changed > 0);
    fs::write(&path, bytes).expect("written");
    let store = Store::open(Some(&path)).expect("too large to be checked");
    let attack = scope(&["malice"], true);
    assert!(matches!(store.list(&attack, &Filter::default()), Err(Error::Damaged(_))));
    let hits = store.search(&attack, &Query::words("victim"), &Filter::default());
    assert!(!hits.is_ok_and(|hits| !hits.is_empty()));
    assert!(matches!(store.check(), Err(Error::Damaged(_))));
}

#[cfg(unix)]
#[test]
fn a_file_is_private_and_has_it_all_when_it_is_closed() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("private");
    let store = Store::open(Some(&folder.file())).expect("a store");
    store.insert(&[record("one", &["u"], "first")]).expect("written");
    for entry in fs::read_dir(&folder.0).expect("a folder") {
        let mode = entry.expect("a file").metadata().expect("a mode").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    drop(store);
    fs::copy(folder.file(), folder.0.join("copy.db")).expect("copied");
    assert_eq!(ids(&Store::open(Some(&folder.0.join("copy.db"))).expect("a store"), &all()), ["one"]);
}

#[cfg(unix)]
#[test]
fn a_file_that_lost_its_name_is_not_written_to() {
    for replaced in [false, true] {
        let folder = Folder::new("moved");
        let store = Store::open(Some(&folder.file())).expect("a store");
        store.insert(&[record("one", &["u"], "first")]).expect("written");
        fs::rename(folder.file(), folder.0.join("elsewhere.db")).expect("moved");
        if replaced {
            drop(Store::open(Some(&folder.file())).map(drop));
        }
        assert!(matches!(store.insert(&[record("two", &["u"], "second")]), Err(Error::Io(_))));
        assert!(matches!(store.get(&all(), "one", 20), Err(Error::Io(_))));
    }
}

#[test]
fn a_change_leaves_no_memory_that_is_never_true() {
    let store = Store::open(None).expect("a store");
    store.insert(&[record("one", &["u"], "first")]).expect("written");
    let until = |end| Change { valid_to: Some(Some(end)), ..Change::default() };
    assert_eq!(store.update(&all(), "one", until(10), None, 20), Err(Error::Never));
    assert!(store.update(&all(), "one", until(11), None, 20).is_ok());
    store.supersede(&all(), "one", record("two", &["u"], "second"), None, 20).expect("written");
    assert_eq!(store.update(&all(), "one", until(100), None, 20), Err(Error::Superseded));
    // What has another end is nobody's business here.
    assert!(
        store.update(&all(), "one", Change { importance: Some(1.0), ..Change::default() }, None, 20).is_ok()
    );
}

/// By threads of one process, while others come and go: no opening or closing takes the locks of another.
#[test]
fn stores_of_one_file_come_and_go() {
    let folder = Folder::new("come-and-go? #100%20");
    let path = folder.file();
    drop(Store::open(Some(&path)).expect("a store"));
    let again = |work: &dyn Fn() -> Result<(), Error>| {
        while let Err(error) = work() {
            assert_eq!(error, Error::Busy);
        }
    };
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let path = &path;
            scope.spawn(move || {
                for n in 0..20 {
                    again(&|| {
                        let store = Store::open(Some(path))?;
                        store.insert(&[record(&format!("{thread}-{n}"), &["u"], "words")])
                    });
                }
            });
        }
    });
    let store = Store::open(Some(&path)).expect("a store");
    store.check().expect("whole");
    assert_eq!(ids(&store, &all()).len(), 80);
}

/// The tables as version 1 made them. This text never changes: files of it exist.
const VERSION_1: &str = "
    CREATE TABLE memories (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        namespace BLOB NOT NULL,
        content TEXT NOT NULL,
        kind TEXT NOT NULL,
        purpose TEXT NOT NULL,
        importance REAL NOT NULL,
        provenance TEXT NOT NULL,
        created INTEGER NOT NULL,
        valid_from INTEGER NOT NULL,
        valid_to INTEGER,
        supersedes TEXT,
        superseded_by TEXT,
        expires INTEGER,
        metadata TEXT NOT NULL,
        checksum INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX of_namespace ON memories (namespace, seq);
    CREATE INDEX of_expiry ON memories (expires) WHERE expires IS NOT NULL;
    PRAGMA application_id = 0x6374786d;
    PRAGMA user_version = 1;
";

#[test]
fn a_file_of_version_1_is_brought_up_to_date_by_whoever_comes_first() {
    let folder = Folder::new("version-1");
    let (new, old) = (folder.0.join("new.db"), folder.file());
    let store = Store::open(Some(&new)).expect("a store");
    for n in 0..50 {
        store
            .insert(&[record(&format!("id{n}"), &["user", &format!("s{}", n % 3)], &format!("fact {n}"))])
            .expect("written");
    }
    let before = store.list(&all(), &Filter::default()).expect("a list");
    drop(store);
    let raw = rusqlite::Connection::open(&old).expect("a database");
    raw.execute_batch(VERSION_1).expect("tables");
    raw.execute("ATTACH ?1 AS new", [new.to_str().expect("a name")]).expect("attached");
    raw.execute_batch("INSERT INTO memories SELECT * FROM new.memories").expect("rows");
    drop(raw);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let store = loop {
                    match Store::open(Some(&old)) {
                        Err(Error::Busy) => {}
                        opened => break opened.expect("a store"),
                    }
                };
                assert_eq!(store.list(&all(), &Filter::default()), Ok(before.clone()));
            });
        }
    });
    let store = Store::open(Some(&old)).expect("a store");
    let found = store.search(&scope(&["user"], true), &Query::words("fact 7"), &Filter::default());
    assert_eq!(found.expect("hits")[0].record.content, "fact 7");
    store.insert(&[record("more", &["user"], "after all")]).expect("written");
    store.check().expect("whole");
}
