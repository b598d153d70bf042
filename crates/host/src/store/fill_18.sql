-- Finds the runs that the search index of a store of version 18 lacks, and counts the runs of its workflows.
INSERT INTO unindexed_runs (run) SELECT runs.run FROM runs LEFT JOIN indexed_runs ON indexed_runs.run = runs.run
    WHERE has_ended IS NULL OR NOT has_ended AND status IN ('completed', 'failed', 'cancelled');
DROP TABLE indexed_runs;
INSERT INTO workflow_totals (workflow, runs) SELECT workflow, count(*) FROM runs GROUP BY workflow;
