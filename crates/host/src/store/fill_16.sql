-- Counts the runs of a store of version 16.
INSERT INTO run_totals (name, is_child, status, runs)
    SELECT workflow_name, parent IS NOT NULL, status, count(*) FROM runs GROUP BY 1, 2, 3;
INSERT INTO run_hours (hour_ms, name, started)
    SELECT started_ms - started_ms % 3600000, workflow_name, count(*) FROM runs WHERE parent IS NULL GROUP BY 1, 2;
INSERT INTO run_hours (hour_ms, name, completed, failed, cancelled)
    SELECT touched_ms - touched_ms % 3600000, workflow_name, sum(status = 'completed'), sum(status = 'failed'), sum(status = 'cancelled')
    FROM runs WHERE parent IS NULL AND status IN ('completed', 'failed', 'cancelled') GROUP BY 1, 2
    ON CONFLICT DO UPDATE SET completed = excluded.completed, failed = excluded.failed, cancelled = excluded.cancelled;
