-- Changes the tables of version 16. `operations.sql` and `fill_16.sql` follow.
DROP INDEX runs_by_status;
DROP INDEX runs_adrift;
ALTER TABLE owners ADD COLUMN drives_all INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN workflow_name TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN tags TEXT NOT NULL DEFAULT '[]';
ALTER TABLE runs ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN queued INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN decision TEXT;
UPDATE runs SET workflow_name = (
    SELECT d.name FROM workflows w JOIN documents d ON d.hash = w.document WHERE w.workflow = runs.workflow
);
