//! The tables, step by step.

/// Each step leads from the version of its place to the next; none is ever changed after a release.
pub(crate) const MIGRATIONS: [&str; 2] = [RECORDS, INDEXES];

const RECORDS: &str = "
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
";

/// Who changed what, for the indexes of every process; a line names no namespace: what was forgotten stays so. And the
/// vectors of what has any, all of one model.
const INDEXES: &str = "
    CREATE TABLE partitions (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        namespace BLOB NOT NULL UNIQUE
    ) STRICT;
    CREATE TABLE changes (
        counter INTEGER PRIMARY KEY AUTOINCREMENT,
        partition INTEGER NOT NULL,
        seq INTEGER NOT NULL
    ) STRICT;
    INSERT INTO partitions (namespace) SELECT DISTINCT namespace FROM memories;
    CREATE TRIGGER inserted AFTER INSERT ON memories BEGIN
        INSERT INTO partitions (namespace)
            SELECT new.namespace WHERE NOT EXISTS (SELECT 1 FROM partitions WHERE namespace = new.namespace);
        INSERT INTO changes (partition, seq) SELECT number, new.seq FROM partitions WHERE namespace = new.namespace;
    END;
    CREATE TRIGGER updated AFTER UPDATE ON memories BEGIN
        INSERT INTO changes (partition, seq) SELECT number, new.seq FROM partitions WHERE namespace = new.namespace;
    END;
    CREATE TRIGGER deleted AFTER DELETE ON memories BEGIN
        INSERT INTO changes (partition, seq) SELECT number, old.seq FROM partitions WHERE namespace = old.namespace;
        DELETE FROM partitions
            WHERE namespace = old.namespace AND NOT EXISTS (SELECT 1 FROM memories WHERE namespace = old.namespace);
    END;
    CREATE TRIGGER pruned AFTER INSERT ON changes WHEN new.counter % 1024 = 0 BEGIN
        DELETE FROM changes WHERE counter <= new.counter - 65536;
    END;
    CREATE TABLE model (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        name TEXT NOT NULL,
        dims INTEGER NOT NULL,
        low REAL NOT NULL,
        high REAL NOT NULL
    ) STRICT;
    CREATE TABLE vectors (
        seq INTEGER PRIMARY KEY,
        vector BLOB NOT NULL,
        sum INTEGER NOT NULL
    ) STRICT;
    CREATE TRIGGER embedded AFTER INSERT ON vectors BEGIN
        INSERT INTO changes (partition, seq) SELECT number, new.seq FROM partitions
            WHERE namespace = (SELECT namespace FROM memories WHERE seq = new.seq);
    END;
    CREATE TRIGGER unembedded AFTER DELETE ON vectors BEGIN
        INSERT INTO changes (partition, seq) SELECT number, old.seq FROM partitions
            WHERE namespace = (SELECT namespace FROM memories WHERE seq = old.seq);
    END;
    CREATE TRIGGER vector_deleted AFTER DELETE ON memories BEGIN
        DELETE FROM vectors WHERE seq = old.seq;
    END;
    CREATE TRIGGER vector_outdated AFTER UPDATE OF content ON memories WHEN new.content <> old.content BEGIN
        DELETE FROM vectors WHERE seq = new.seq;
    END;
";
