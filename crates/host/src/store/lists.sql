-- More of `operations.sql`: lists of child runs, the runs that the search index lacks, and the number of runs of each workflow. A new store gets
-- these after `operations.sql`, a store of version 18 after `upgrade_18.sql`.

-- Lists of runs leave child runs out unless they are requested. A list with child runs combines a list of each kind.
CREATE INDEX runs_by_status ON runs (status, started_ms) WHERE parent IS NULL;
CREATE INDEX child_runs_by_start ON runs (started_ms) WHERE parent IS NOT NULL;
CREATE INDEX child_runs_by_name ON runs (workflow_name, started_ms) WHERE parent IS NOT NULL;
CREATE INDEX child_runs_by_status ON runs (status, started_ms) WHERE parent IS NOT NULL;

-- Runs that are not in `run_index`, or have ended since they were added.
CREATE TABLE unindexed_runs (run INTEGER PRIMARY KEY);
-- The number of runs of each workflow, child runs included.
CREATE TABLE workflow_totals (
    workflow INTEGER PRIMARY KEY,
    runs     INTEGER NOT NULL
);

CREATE TRIGGER listed_run_inserted AFTER INSERT ON runs BEGIN
    INSERT INTO unindexed_runs (run) VALUES (new.run) ON CONFLICT DO NOTHING;
    INSERT INTO workflow_totals (workflow, runs) VALUES (new.workflow, 1) ON CONFLICT DO UPDATE SET runs = runs + 1;
END;
CREATE TRIGGER listed_run_ended AFTER UPDATE OF status ON runs
    WHEN new.status <> old.status AND new.status IN ('completed', 'failed', 'cancelled')
BEGIN
    INSERT INTO unindexed_runs (run) VALUES (new.run) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER listed_run_moved AFTER UPDATE OF workflow ON runs WHEN new.workflow <> old.workflow BEGIN
    UPDATE workflow_totals SET runs = runs - 1 WHERE workflow = old.workflow;
    INSERT INTO workflow_totals (workflow, runs) VALUES (new.workflow, 1) ON CONFLICT DO UPDATE SET runs = runs + 1;
END;
CREATE TRIGGER listed_run_deleted AFTER DELETE ON runs BEGIN
    DELETE FROM unindexed_runs WHERE run = old.run;
    UPDATE workflow_totals SET runs = runs - 1 WHERE workflow = old.workflow;
END;
