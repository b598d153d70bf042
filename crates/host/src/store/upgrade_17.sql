-- Changes the tables of version 17.
ALTER TABLE notices RENAME TO earlier_notices;
CREATE TABLE notices (
    notice  INTEGER PRIMARY KEY AUTOINCREMENT,
    owner   INTEGER NOT NULL,
    run     INTEGER NOT NULL,
    request INTEGER,
    event   TEXT NOT NULL,
    users   TEXT NOT NULL,
    outcome TEXT
);
INSERT INTO notices SELECT notice, owner, run, request, event, users, outcome FROM earlier_notices;
DROP TABLE earlier_notices;
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
CREATE TABLE named_secrets (
    name      TEXT PRIMARY KEY,
    bytes     BLOB NOT NULL,
    workflows TEXT NOT NULL,
    set_by    TEXT NOT NULL,
    set_ms    INTEGER NOT NULL
) WITHOUT ROWID;
