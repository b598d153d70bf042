-- Lists, totals and queues of runs. A new store gets these after `schema.sql`, a store of version 16 after `upgrade_16.sql`.

-- Running runs without an owner process.
CREATE INDEX runs_adrift ON runs (run) WHERE owner IS NULL AND status = 'running' AND queued = 0;
-- Lists of runs have the newest start first. Every index ends with the number of the run.
CREATE INDEX runs_by_start ON runs (started_ms) WHERE parent IS NULL;
CREATE INDEX runs_by_name ON runs (workflow_name, started_ms) WHERE parent IS NULL;
CREATE INDEX runs_by_name_and_status ON runs (workflow_name, status, started_ms) WHERE parent IS NULL;

-- The tags of runs, for filters. The row of a run has all its tags.
CREATE TABLE run_tags (
    tag        TEXT NOT NULL,
    started_ms INTEGER NOT NULL,
    run        INTEGER NOT NULL,
    PRIMARY KEY (tag, started_ms, run)
) WITHOUT ROWID;
CREATE INDEX tags_of_run ON run_tags (run);

-- The number of runs by workflow and status, and what happened in each hour. Triggers keep them up to date, except for `decisions`.
CREATE TABLE run_totals (
    name     TEXT NOT NULL,
    is_child INTEGER NOT NULL,
    status   TEXT NOT NULL,
    runs     INTEGER NOT NULL,
    PRIMARY KEY (name, is_child, status)
) WITHOUT ROWID;
CREATE TABLE run_hours (
    hour_ms   INTEGER NOT NULL,
    name      TEXT NOT NULL,
    started   INTEGER NOT NULL DEFAULT 0,
    completed INTEGER NOT NULL DEFAULT 0,
    failed    INTEGER NOT NULL DEFAULT 0,
    cancelled INTEGER NOT NULL DEFAULT 0,
    decisions INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (hour_ms, name)
) WITHOUT ROWID;

-- Runs with limits. `state` is 0 while a run waits for people or timers, 1 while it is queued, and 2 while the process `holder` drives it.
-- A run has a group for the limits of its document (`document_group`), and one for those of the operator. `rank` is its priority, negated.
-- `has_begun` says that it was driven before: only its first time counts as a start.
CREATE TABLE queue (
    run                 INTEGER PRIMARY KEY,
    state               INTEGER NOT NULL,
    holder              INTEGER,
    has_begun           INTEGER NOT NULL DEFAULT 0,
    name                TEXT NOT NULL,
    rank                INTEGER NOT NULL,
    started_ms          INTEGER NOT NULL,
    document_group      TEXT NOT NULL,
    document_concurrent INTEGER,
    document_rate       INTEGER,
    document_window_ms  INTEGER,
    operator_group      TEXT NOT NULL,
    operator_concurrent INTEGER,
    operator_rate       INTEGER,
    operator_window_ms  INTEGER
);
CREATE INDEX queue_in_order ON queue (name, rank, document_group, operator_group, started_ms, run) WHERE state = 1;
CREATE INDEX queue_driven_of_document ON queue (name, document_group) WHERE state = 2;
CREATE INDEX queue_driven_of_operator ON queue (name, operator_group) WHERE state = 2;
CREATE INDEX queue_held ON queue (holder) WHERE holder IS NOT NULL;
-- When each group had its last turn, as long as runs of the workflow are queued.
CREATE TABLE queue_turns (
    name           TEXT NOT NULL,
    document_group TEXT NOT NULL,
    operator_group TEXT NOT NULL,
    turn           INTEGER NOT NULL,
    PRIMARY KEY (name, document_group, operator_group)
) WITHOUT ROWID;
-- When runs of groups with a rate were started, within the window. `is_operator` says whose group it is.
CREATE TABLE queue_starts (
    start       INTEGER PRIMARY KEY,
    name        TEXT NOT NULL,
    is_operator INTEGER NOT NULL,
    in_group    TEXT NOT NULL,
    at_ms       INTEGER NOT NULL
);
CREATE INDEX queue_starts_of_group ON queue_starts (name, is_operator, in_group, at_ms);

CREATE TRIGGER run_inserted AFTER INSERT ON runs BEGIN
    INSERT INTO run_totals (name, is_child, status, runs) VALUES (new.workflow_name, new.parent IS NOT NULL, new.status, 1)
        ON CONFLICT DO UPDATE SET runs = runs + 1;
    INSERT INTO run_hours (hour_ms, name, started)
        SELECT new.started_ms - new.started_ms % 3600000, new.workflow_name, 1 WHERE new.parent IS NULL
        ON CONFLICT DO UPDATE SET started = started + 1;
END;
CREATE TRIGGER run_status_changed AFTER UPDATE OF status ON runs WHEN new.status <> old.status BEGIN
    UPDATE run_totals SET runs = runs - 1
        WHERE name = old.workflow_name AND is_child = (old.parent IS NOT NULL) AND status = old.status;
    INSERT INTO run_totals (name, is_child, status, runs) VALUES (new.workflow_name, new.parent IS NOT NULL, new.status, 1)
        ON CONFLICT DO UPDATE SET runs = runs + 1;
    INSERT INTO run_hours (hour_ms, name, completed, failed, cancelled)
        SELECT new.touched_ms - new.touched_ms % 3600000, new.workflow_name,
            new.status = 'completed', new.status = 'failed', new.status = 'cancelled'
        WHERE new.parent IS NULL AND new.status IN ('completed', 'failed', 'cancelled')
        ON CONFLICT DO UPDATE SET completed = completed + excluded.completed, failed = failed + excluded.failed,
            cancelled = cancelled + excluded.cancelled;
END;
CREATE TRIGGER run_deleted AFTER DELETE ON runs BEGIN
    UPDATE run_totals SET runs = runs - 1
        WHERE name = old.workflow_name AND is_child = (old.parent IS NOT NULL) AND status = old.status;
    DELETE FROM run_tags WHERE run = old.run;
    DELETE FROM queue WHERE run = old.run;
END;
