-- Documents and the programs lowered from them, by content. Nothing here changes once it is written.
CREATE TABLE documents (
    hash     BLOB PRIMARY KEY,
    name     TEXT NOT NULL,
    dialect  TEXT NOT NULL,
    origin   TEXT NOT NULL,
    text     TEXT NOT NULL,
    added_ms INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE programs (
    hash  BLOB PRIMARY KEY,
    bytes BLOB NOT NULL
);
-- A document together with the programs it became: its own, named '', and those of the workflows that it calls.
CREATE TABLE workflows (
    workflow INTEGER PRIMARY KEY,
    hash     BLOB NOT NULL UNIQUE,
    document BLOB NOT NULL REFERENCES documents (hash),
    added_ms INTEGER NOT NULL
);
CREATE TABLE parts (
    workflow INTEGER NOT NULL REFERENCES workflows (workflow),
    name     TEXT NOT NULL,
    program  BLOB NOT NULL REFERENCES programs (hash),
    PRIMARY KEY (workflow, name)
) WITHOUT ROWID;

-- Processes that drive runs. Each holds a lock on a file of its own as long as it lives. `drives_all` is 1 for those that drive every run.
CREATE TABLE owners (
    owner    INTEGER PRIMARY KEY AUTOINCREMENT,
    pid      INTEGER NOT NULL,
    what     TEXT NOT NULL,
    since_ms INTEGER NOT NULL,
    drives_all INTEGER NOT NULL DEFAULT 0
);

-- The small row of a run. Its state is the fold of its events. `waited_ms` is the time up to `touched_ms` in which it waited for people.
-- `tags` is a JSON list of texts. `queued` is 1 while a limit keeps it from being driven. `decision` is the text
-- of its last decision. Indexes, totals and queues of runs are in `operations.sql`.
CREATE TABLE runs (
    run        INTEGER PRIMARY KEY AUTOINCREMENT,
    id         TEXT NOT NULL UNIQUE,
    workflow   INTEGER NOT NULL REFERENCES workflows (workflow),
    part       TEXT NOT NULL,
    semantics  INTEGER NOT NULL,
    status     TEXT NOT NULL,
    seq        INTEGER NOT NULL,
    owner      INTEGER,
    parent     INTEGER,
    effect     INTEGER,
    attempt    INTEGER,
    folder     TEXT NOT NULL,
    started_ms INTEGER NOT NULL,
    touched_ms INTEGER NOT NULL,
    waited_ms  INTEGER NOT NULL DEFAULT 0,
    workflow_name TEXT NOT NULL DEFAULT '',
    tags       TEXT NOT NULL DEFAULT '[]',
    priority   INTEGER NOT NULL DEFAULT 0,
    queued     INTEGER NOT NULL DEFAULT 0,
    decision   TEXT
);
CREATE INDEX runs_owned ON runs (owner) WHERE owner IS NOT NULL;
CREATE INDEX runs_of_parent ON runs (parent, effect) WHERE parent IS NOT NULL;

-- The journal: appended, never changed. `mark` is the check word of the event; `packed` says that values are kept apart.
CREATE TABLE events (
    position INTEGER PRIMARY KEY,
    run      INTEGER NOT NULL,
    seq      INTEGER NOT NULL,
    mark     INTEGER NOT NULL,
    packed   INTEGER NOT NULL,
    bytes    BLOB NOT NULL
);
CREATE UNIQUE INDEX events_of_run ON events (run, seq);

CREATE TABLE snapshots (
    run    INTEGER NOT NULL,
    seq    INTEGER NOT NULL,
    packed INTEGER NOT NULL,
    bytes  BLOB NOT NULL,
    PRIMARY KEY (run, seq)
) WITHOUT ROWID;

-- What runs have asked for and what has not come back.
CREATE TABLE outbox (
    run    INTEGER NOT NULL,
    effect INTEGER NOT NULL,
    packed INTEGER NOT NULL,
    bytes  BLOB NOT NULL,
    PRIMARY KEY (run, effect)
) WITHOUT ROWID;
CREATE TABLE timers (
    due_ms INTEGER NOT NULL,
    run    INTEGER NOT NULL,
    timer  INTEGER NOT NULL,
    PRIMARY KEY (due_ms, run, timer)
) WITHOUT ROWID;

CREATE INDEX timers_of_run ON timers (run, due_ms);

-- Questions to people. `closed_ms` is null while one is open.
CREATE TABLE requests (
    run       INTEGER NOT NULL,
    request   INTEGER NOT NULL,
    spec      BLOB NOT NULL,
    packed    INTEGER NOT NULL,
    asked_ms  INTEGER NOT NULL,
    reminded  INTEGER NOT NULL DEFAULT 0,
    closed_ms INTEGER,
    PRIMARY KEY (run, request)
) WITHOUT ROWID;
CREATE INDEX requests_open ON requests (asked_ms) WHERE closed_ms IS NULL;

-- Notices about approvals and runs that have no deliveries yet. `request` is null for notices about the status of a run. `outcome` is the
-- outcome of an approval that has ended, as JSON; null if it was withdrawn, and for other notices.
CREATE TABLE notices (
    notice  INTEGER PRIMARY KEY AUTOINCREMENT,
    owner   INTEGER NOT NULL,
    run     INTEGER NOT NULL,
    request INTEGER,
    event   TEXT NOT NULL,
    users   TEXT NOT NULL,
    outcome TEXT
);
-- Notices for one receiver each, and the attempts to deliver them. `owner` is the process that attempts them. `due_ms` is null when a
-- delivery is settled. The runs are named by id, because the log outlives them.
CREATE TABLE deliveries (
    delivery   INTEGER PRIMARY KEY AUTOINCREMENT,
    id         TEXT NOT NULL UNIQUE,
    owner      INTEGER NOT NULL,
    target     TEXT NOT NULL,
    user       TEXT,
    event      TEXT NOT NULL,
    run_id     TEXT,
    request    INTEGER,
    body       TEXT,
    created_ms INTEGER NOT NULL,
    due_ms     INTEGER,
    attempts   INTEGER NOT NULL DEFAULT 0,
    last_ms    INTEGER,
    status     TEXT NOT NULL,
    response   TEXT
);
CREATE INDEX deliveries_due ON deliveries (target, due_ms) WHERE due_ms IS NOT NULL;
CREATE INDEX deliveries_of_target ON deliveries (target, delivery);

-- What senders call their signals: one of a key is taken by a run.
CREATE TABLE signals (
    run INTEGER NOT NULL,
    key TEXT NOT NULL,
    PRIMARY KEY (run, key)
) WITHOUT ROWID;

-- Events for runs that another process drives. That process claims them, takes them and writes what came of it.
CREATE TABLE inbox (
    item       INTEGER PRIMARY KEY AUTOINCREMENT,
    run        INTEGER NOT NULL,
    packed     INTEGER NOT NULL,
    bytes      BLOB NOT NULL,
    claimed_by INTEGER,
    outcome    TEXT
);
CREATE INDEX inbox_of_run ON inbox (run);

-- Large values by their hash, and who needs them.
CREATE TABLE blobs (
    hash  BLOB PRIMARY KEY,
    bytes BLOB NOT NULL
);
CREATE TABLE blob_uses (
    run  INTEGER NOT NULL,
    hash BLOB NOT NULL,
    PRIMARY KEY (run, hash)
) WITHOUT ROWID;
CREATE INDEX blob_users ON blob_uses (hash);

-- The files of runs, by the SHA-256 of their content. The bytes are in `blobs`, under the hash `content`.
CREATE TABLE attachments (
    attachment INTEGER PRIMARY KEY,
    run        INTEGER NOT NULL,
    sha256     BLOB NOT NULL,
    name       TEXT NOT NULL,
    mime       TEXT NOT NULL,
    bytes      INTEGER NOT NULL,
    content    BLOB NOT NULL,
    UNIQUE (run, sha256, name)
);

-- Secret inputs, encrypted with a key that is not in the store. Everything else holds their number.
CREATE TABLE sealed (
    run    INTEGER NOT NULL,
    number INTEGER NOT NULL,
    bytes  BLOB NOT NULL,
    PRIMARY KEY (run, number)
) WITHOUT ROWID;

-- The newest run of each session.
CREATE TABLE sessions (
    name     TEXT NOT NULL,
    document TEXT NOT NULL,
    run      INTEGER NOT NULL,
    PRIMARY KEY (document, name)
) WITHOUT ROWID;

-- The scripts that answer the calls of runs. The bytes are in `blobs`. Child runs have the script of their root run.
-- `live_ms` is the time at which somebody continued the run without the script.
CREATE TABLE run_scripts (
    run     INTEGER PRIMARY KEY,
    hash    BLOB NOT NULL,
    packed  INTEGER NOT NULL,
    live_ms INTEGER
);
-- The used entries of the script of a root run, each with the first call that took it: the run, the event that asked, the number of the
-- effect and the attempt. Requests to people have attempt 0.
CREATE TABLE script_used (
    run     INTEGER NOT NULL,
    step    TEXT NOT NULL,
    path    TEXT NOT NULL,
    entry   INTEGER NOT NULL,
    taker   INTEGER NOT NULL,
    seq     INTEGER NOT NULL,
    effect  INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    PRIMARY KEY (run, step, path, entry)
) WITHOUT ROWID;

-- A known text, encrypted with the key of the sealed secrets: it shows whether a key is the key of this store.
CREATE TABLE key_check (
    id    INTEGER PRIMARY KEY CHECK (id = 1),
    bytes BLOB NOT NULL
);

-- Named secrets, encrypted together with their names. `workflows` is a JSON list of patterns.
CREATE TABLE named_secrets (
    name      TEXT PRIMARY KEY,
    bytes     BLOB NOT NULL,
    workflows TEXT NOT NULL,
    set_by    TEXT NOT NULL,
    set_ms    INTEGER NOT NULL
) WITHOUT ROWID;

-- Stored data that belongs to the store and not to a run. `memory_index` and `passage_index` are full-text indexes of the tables that
-- they name; triggers keep them up to date.
CREATE TABLE memories (
    entry      INTEGER PRIMARY KEY,
    collection TEXT NOT NULL,
    key        TEXT NOT NULL,
    content    TEXT NOT NULL,
    metadata   TEXT NOT NULL,
    UNIQUE (collection, key)
);
-- Vectors of an embedding model: numbers of four bytes, the lowest first, of the length 1 together.
CREATE TABLE memory_vectors (
    entry  INTEGER PRIMARY KEY,
    model  TEXT NOT NULL,
    vector BLOB NOT NULL
);
CREATE VIRTUAL TABLE memory_index USING fts5 (
    content, content = 'memories', content_rowid = 'entry', tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE TRIGGER memory_inserted AFTER INSERT ON memories BEGIN
    INSERT INTO memory_index (rowid, content) VALUES (new.entry, new.content);
END;
CREATE TRIGGER memory_deleted AFTER DELETE ON memories BEGIN
    INSERT INTO memory_index (memory_index, rowid, content) VALUES ('delete', old.entry, old.content);
    DELETE FROM memory_vectors WHERE entry = old.entry;
END;

CREATE TABLE chat_turns (
    chat    TEXT NOT NULL,
    turn    INTEGER NOT NULL,
    role    TEXT NOT NULL,
    content TEXT NOT NULL,
    at_ms   INTEGER NOT NULL,
    PRIMARY KEY (chat, turn)
) WITHOUT ROWID;

-- `fingerprint` identifies the content of a document, `model` the embedding model of the vectors of its passages.
CREATE TABLE knowledge_documents (
    document       INTEGER PRIMARY KEY,
    knowledge_base TEXT NOT NULL,
    name           TEXT NOT NULL,
    fingerprint    BLOB NOT NULL,
    metadata       TEXT NOT NULL,
    is_attachment  INTEGER NOT NULL,
    passages       INTEGER NOT NULL,
    model          TEXT,
    added_ms       INTEGER NOT NULL,
    UNIQUE (knowledge_base, name)
);
CREATE TABLE passages (
    passage  INTEGER PRIMARY KEY,
    document INTEGER NOT NULL REFERENCES knowledge_documents (document),
    content  TEXT NOT NULL
);
CREATE INDEX passages_of_document ON passages (document);
CREATE TABLE passage_vectors (
    passage INTEGER PRIMARY KEY,
    vector  BLOB NOT NULL
);
CREATE VIRTUAL TABLE passage_index USING fts5 (
    content, content = 'passages', content_rowid = 'passage', tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE TRIGGER passage_inserted AFTER INSERT ON passages BEGIN
    INSERT INTO passage_index (rowid, content) VALUES (new.passage, new.content);
END;
CREATE TRIGGER passage_deleted AFTER DELETE ON passages BEGIN
    INSERT INTO passage_index (passage_index, rowid, content) VALUES ('delete', old.passage, old.content);
    DELETE FROM passage_vectors WHERE passage = old.passage;
END;

-- The effects of runs that have written stored data: a repeated attempt writes nothing.
CREATE TABLE storage_writes (
    run    INTEGER NOT NULL,
    effect INTEGER NOT NULL,
    PRIMARY KEY (run, effect)
) WITHOUT ROWID;

-- The full-text index of runs. It is derived data, brought up to date by the processes that drive runs while they are idle, and by
-- searches. `lists.sql` has the runs that it lacks.
CREATE VIRTUAL TABLE run_index USING fts5 (
    text, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
);
